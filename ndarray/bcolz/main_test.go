package bcolz_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(appendEnv); path != "" {
		fmt.Fprintln(os.Stderr, appendForEver(path)) // ends with a signal or an error
		os.Exit(1)
	}
	leak.Main(m)
}

var bg = context.Background()

// goldenDir contains trees that bcolz-zipline wrote. Its README.md describes them.
const goldenDir = "../../internal/format/bcolztree/testdata"

// requireT is the common interface of tests and property tests.
type requireT interface {
	require.TestingT
	Helper()
}

// open opens an array, which the caller must close.
func open(t requireT, path string) *ndarray.Array {
	t.Helper()
	b, err := bcolz.Open(path, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	return a
}

func openGolden(t *testing.T, name string) *ndarray.Array {
	t.Helper()
	a := open(t, filepath.Join(goldenDir, name))
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

func readAll(t requireT, a *ndarray.Array) []byte {
	t.Helper()
	data := make([]byte, a.NBytes())
	require.NoError(t, a.Read(bg, data, ndarray.Whole(a.Shape())))
	return data
}

// tree describes a carray that a test writes. The bytes of data are in native order. Chunks are
// stored uncompressed, so that no compressor is needed.
type tree struct {
	dtype    ndarray.DType
	shape    []int64
	chunkLen int64 // rows
	data     []byte
	perFile  int    // Blosc chunks in a chunk file; 0: one
	dflt     string // JSON; "": 0
	attrs    string // JSON; "": no file
}

// write writes the carray to dir, which must not exist.
func (w tree) write(t requireT, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "data"), 0o777))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "meta"), 0o777))
	put := func(name string, b []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), b, 0o666))
	}
	put(bcolztree.SizesFile, bcolztree.Sizes{Shape: w.shape, NBytes: int64(len(w.data))}.Append(nil))
	if w.dflt == "" {
		w.dflt = "0"
		if k := w.dtype.Kind; k == ndarray.Bytes || k == ndarray.Unicode || k == ndarray.Void {
			w.dflt = `""`
		}
	}
	put(bcolztree.StorageFile, fmt.Appendf(nil,
		`{"dtype": %q, "cparams": {"clevel": 0, "shuffle": false}, "chunklen": %d, "expectedlen": 0, "dflt": %s}`,
		w.dtype.String(), w.chunkLen, w.dflt))
	if w.attrs != "" {
		put(bcolztree.AttrsFile, []byte(w.attrs))
	}
	data := append([]byte{}, w.data...)
	w.dtype.ToNative(data) // converts to storage order, because the conversion is symmetric
	if len(data) == 0 {
		return
	}
	row := len(data) / int(w.shape[0])
	for i := 0; len(data) > 0; i++ {
		n := min(len(data), int(w.chunkLen)*row)
		put(fmt.Sprintf("data/__%d.blp", i), chunkFile(data[:n], row, max(w.perFile, 1)))
		data = data[n:]
	}
}

// chunkFile stores data in at most n chunks of whole rows.
func chunkFile(data []byte, row, n int) []byte {
	rows := len(data) / row
	step := max((rows+n-1)/n, 1) * row
	head := bcolztree.FileHeader{Version: bcolztree.FileVersion, NumChunks: 1}
	if n > 1 {
		head.NumChunks = -1
	}
	file := head.Append(nil)
	for len(data) > 0 {
		part := data[:min(step, len(data))]
		data = data[len(part):]
		h := [chunk.MinHeaderSize]byte{2, 1, chunk.FlagStored, 1}
		binary.LittleEndian.PutUint32(h[4:], uint32(len(part)))
		binary.LittleEndian.PutUint32(h[8:], uint32(len(part)))
		binary.LittleEndian.PutUint32(h[12:], uint32(len(part)+len(h)))
		file = append(append(file, h[:]...), part...)
	}
	return file
}
