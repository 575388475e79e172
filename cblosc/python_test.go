package cblosc_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// matrixEntry describes one array of the matrix and the offset of its frame.
type matrixEntry struct {
	DType   string  `json:"dtype"`
	Size    int     `json:"size"`
	Shape   []int64 `json:"shape"`
	Chunks  []int32 `json:"chunks"`
	Blocks  []int32 `json:"blocks"`
	Codec   int     `json:"codec"`
	Filters []int   `json:"filters"`
	Offset  int     `json:"offset"`
	Length  int     `json:"length"`
}

// interopMatrix returns every combination of type, shape, codec and filters.
func interopMatrix() []matrixEntry {
	types := []struct {
		dtype string
		size  int
	}{
		{"|b1", 1}, {"|i1", 1}, {">i2", 2}, {"<u4", 4}, {"<i8", 8}, {"<f2", 2}, {"<f4", 4}, {">f8", 8}, {"<c16", 16}, {"<M8[ns]", 8}, {"|S5", 5}, {"<U3", 12},
		{"[('a', '<i4'), ('b', '<f8', (2,)), ('c', 'S3')]", 23},
	}
	shapes := []matrixEntry{
		{Shape: []int64{}, Chunks: []int32{}, Blocks: []int32{}},
		{Shape: []int64{0}, Chunks: []int32{2}, Blocks: []int32{1}},
		{Shape: []int64{3, 0}, Chunks: []int32{2, 2}, Blocks: []int32{1, 2}},
		{Shape: []int64{77}, Chunks: []int32{40}, Blocks: []int32{12}},
		{Shape: []int64{13, 17}, Chunks: []int32{5, 8}, Blocks: []int32{3, 5}},
		{Shape: []int64{2, 1, 3, 1, 2, 2, 1, 3}, Chunks: []int32{2, 1, 2, 1, 2, 1, 1, 2}, Blocks: []int32{1, 1, 2, 1, 2, 1, 1, 2}},
		{
			Shape:  []int64{2, 1, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 3},
			Chunks: []int32{2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2},
			Blocks: []int32{1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1},
		},
	}
	filters := [][]int{{0}, {int(cblosc.Shuffle)}, {int(cblosc.BitShuffle)}, {int(cblosc.Delta), int(cblosc.Shuffle)}}
	var out []matrixEntry
	for _, dt := range types {
		for _, e := range shapes {
			for _, codec := range []cblosc.Codec{cblosc.BloscLZ, cblosc.LZ4, cblosc.LZ4HC, cblosc.Zlib, cblosc.Zstd} {
				for _, f := range filters {
					e.DType, e.Size, e.Codec, e.Filters = dt.dtype, dt.size, int(codec), f
					out = append(out, e)
				}
			}
		}
	}
	return out
}

func (e *matrixEntry) data() []byte {
	b := make([]byte, count(e.Shape)*int64(e.Size))
	for k := range b {
		b[k] = byte((k*31 + k/7) % 251)
		if e.DType == "|b1" {
			b[k] &= 1
		}
	}
	return b
}

// TestPythonMatrix checks that python-blosc2 reads the arrays that this package writes, and the
// other way round.
func TestPythonMatrix(t *testing.T) {
	interpreter := testenv.Python(t, "blosc2")
	dir := t.TempDir()
	entries := interopMatrix()
	var frames []byte
	for i := range entries {
		e := &entries[i]
		p := cparams(e.Size)
		p.Codec, p.Filters = cblosc.Codec(e.Codec), [cblosc.MaxFilters]cblosc.Filter{}
		for j, f := range e.Filters {
			p.Filters[cblosc.MaxFilters-len(e.Filters)+j].ID = cblosc.FilterID(f)
		}
		a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: e.Shape, ChunkShape: e.Chunks, Blocks: e.Blocks, DType: e.DType,
			Storage: cblosc.Storage{Contiguous: true, CParams: p}}, e.data())
		require.NoError(t, err, "%+v", e)
		b, err := a.Bytes()
		require.NoError(t, err)
		require.NoError(t, a.Close())
		e.Offset, e.Length = len(frames), len(b)
		frames = append(frames, b...)
	}
	list, err := json.Marshal(entries)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.json"), list, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.frames"), frames, 0o600))
	out, err := exec.Command(interpreter, "testdata/interop.py", dir).CombinedOutput()
	require.NoError(t, err, "interop.py:\n%s", out)

	theirs := make([]matrixEntry, 0, len(entries))
	list, err = os.ReadFile(filepath.Join(dir, "python.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(list, &theirs))
	frames, err = os.ReadFile(filepath.Join(dir, "python.frames"))
	require.NoError(t, err)
	require.Len(t, theirs, len(entries))
	for _, e := range theirs {
		what := fmt.Sprintf("%+v", e)
		a, err := cblosc.OpenArrayBytes(frames[e.Offset : e.Offset+e.Length])
		require.NoError(t, err, what)
		require.True(t, slices.Equal(e.Shape, a.Shape()), what)
		require.Equal(t, e.Size, a.ItemSize(), what)
		want := e.data()
		got := make([]byte, len(want))
		require.NoError(t, a.ReadAll(got), what)
		require.Equal(t, want, got, what)
		p, err := a.SChunk().CParams()
		require.NoError(t, err)
		require.EqualValues(t, e.Codec, p.Codec, what)
		require.NoError(t, a.Close())
	}
}

// TestPythonSparseDirectories checks sparse directories with fixed and variable-length metalayers,
// in both directions.
func TestPythonSparseDirectories(t *testing.T) {
	interpreter := testenv.Python(t, "blosc2")
	dir := t.TempDir()
	var data []byte
	for i := range uint32(13 * 17) {
		data = binary.LittleEndian.AppendUint32(data, i)
	}
	// python-blosc2 stores values as MessagePack.
	kind, unit := []byte("\xa4note"), []byte("\xa5meter")
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{Shape: []int64{13, 17}, ChunkShape: []int32{5, 8}, Blocks: []int32{3, 5}, DType: "<i4",
		Storage: cblosc.Storage{Path: filepath.Join(dir, "array"), CParams: cparams(4)}}, data)
	require.NoError(t, err)
	require.NoError(t, a.SChunk().VLMeta().Add("unit", unit))
	require.NoError(t, a.Close())
	s, err := cblosc.CreateSChunk(cblosc.Storage{Path: filepath.Join(dir, "schunk"), CParams: cparams(4)})
	require.NoError(t, err)
	require.NoError(t, s.Meta().Add("kind", kind))
	for part := range slices.Chunk(data, 4*17*5) {
		require.NoError(t, s.AppendBuffer(part))
	}
	require.NoError(t, s.VLMeta().Add("unit", unit))
	require.NoError(t, s.Close())
	out, err := exec.Command(interpreter, "testdata/interop_sparse.py", dir).CombinedOutput()
	require.NoError(t, err, "interop_sparse.py:\n%s", out)

	a, err = cblosc.OpenArray(filepath.Join(dir, "array.python"))
	require.NoError(t, err)
	require.Equal(t, []int64{13, 17}, a.Shape())
	require.Equal(t, "<i4", a.DType())
	requireData(t, data, a)
	got, err := a.SChunk().VLMeta().Get("unit")
	require.NoError(t, err)
	require.Equal(t, unit, got)
	require.NoError(t, a.Close())
	s, err = cblosc.OpenSChunk(filepath.Join(dir, "schunk.python"))
	require.NoError(t, err)
	require.Equal(t, data, dataOf(t, s))
	got, err = s.Meta().Get("kind")
	require.NoError(t, err)
	require.Equal(t, kind, got)
	require.NoError(t, s.Close())
}
