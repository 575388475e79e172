package opened_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/ndarray"
)

// defectArray is an array of one dimension with two chunks of 4,000 bytes, and the file that
// contains its first chunk.
type defectArray struct {
	path, file string
	data       []byte
	chunk      []byte // the first chunk
}

// create creates the array with the parameters that set changes. Blocks have 1,000 bytes.
func (d *defectArray) create(t *testing.T, contiguous bool, set func(*cblosc.CParams)) {
	t.Helper()
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 4
	if set != nil {
		set(cp)
	}
	d.data = make([]byte, 8000)
	for i := range d.data {
		d.data[i] = byte(i / 100)
	}
	d.path = filetest.In(t.TempDir(), "a.b2nd")
	n := int64(8000 / cp.TypeSize)
	a, err := cblosc.CreateArrayFrom(&cblosc.ArrayParams{
		Shape: []int64{n}, ChunkShape: []int32{int32(n / 2)}, Blocks: []int32{int32(n / 8)},
		Storage: cblosc.Storage{Path: d.path, Contiguous: contiguous, CParams: cp},
	}, d.data)
	require.NoError(t, err)
	d.chunk, err = a.SChunk().Chunk(0)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.Equal(t, cp.Level > 0, len(d.chunk) < 3000, "a compressed chunk")
	d.file = d.path
	if !contiguous {
		files, err := filepath.Glob(filetest.In(d.path, "*.chunk"))
		require.NoError(t, err)
		for _, f := range files {
			if b, err := os.ReadFile(f); err == nil && bytes.Equal(b, d.chunk) {
				d.file = f
			}
		}
		require.NotEqual(t, d.path, d.file)
	}
}

// edit changes the first chunk in the file.
func (d *defectArray) edit(t *testing.T, f func(chunk []byte)) {
	t.Helper()
	b, err := os.ReadFile(d.file)
	require.NoError(t, err)
	at := bytes.Index(b, d.chunk)
	require.GreaterOrEqual(t, at, 0)
	f(b[at : at+len(d.chunk)])
	require.NoError(t, os.WriteFile(d.file, b, 0o600))
}

// TestDefects_trusted runs rows of docs/defects.md that a Blosc2 file can cause through Open
// without the option Untrusted, with the readers in Go and with C-Blosc2. A read of the first chunk
// must return the error of the row or the right values, and a later read of the second chunk the
// right values.
func TestDefects_trusted(t *testing.T) {
	le := binary.LittleEndian
	mark := filetest.In(t.TempDir(), "was started")
	dir := t.TempDir()
	for _, name := range []string{"python", "python3"} {
		require.NoError(t, os.WriteFile(filetest.In(dir, name), []byte("#!/bin/sh\n: > '"+mark+"'\n"), 0o700))
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	stored := func(p *cblosc.CParams) { p.Level = 0 }
	for _, row := range []struct {
		defect string
		set    func(*cblosc.CParams)
		edit   func(chunk []byte)
		want   error // nil: the right values
	}{
		{"plug-in codecs and filters", nil, func(b []byte) { b[2], b[0x16] = b[2]&0x1F|6<<5, 36 }, errors.ErrUnsupported},
		{"plug-in codecs and filters", nil, func(b []byte) { b[0x10] = 37 }, errors.ErrUnsupported},
		{"lazy chunks in the input", nil, func(b []byte) { b[0x1F] |= 0x08 }, ndarray.ErrCorrupt},
		{"block lengths of stored chunks", nil, func(b []byte) { le.PutUint32(b[36:], 1<<31) }, ndarray.ErrCorrupt},
		{"block lengths of stored chunks", nil, func(b []byte) { le.PutUint32(b[36:], 0) }, ndarray.ErrCorrupt},
		{"length of the first stored chunk", stored, func(b []byte) { le.PutUint32(b[4:], 0x60000000) }, ndarray.ErrCorrupt},
		{"dictionaries of wrong length", nil, func(b []byte) { b[0x1F] |= 1; le.PutUint32(b[32+4*4:], 1<<20) }, ndarray.ErrCorrupt},
		{"Blosc1 chunks in frames", nil, func(b []byte) { b[2] &^= 4 }, ndarray.ErrCorrupt},
		{"repeated values longer than elements", nil, func(b []byte) { b[0x1F] |= 3 << 4 }, ndarray.ErrCorrupt},
		{"parts of chunks with Delta", func(p *cblosc.CParams) {
			p.Filters = [cblosc.MaxFilters]cblosc.Filter{{ID: cblosc.Delta}, {ID: cblosc.Shuffle}}
		}, nil, nil},
		{"items above 255 bytes", func(p *cblosc.CParams) { p.TypeSize = 500 }, nil, nil},
	} {
		t.Run(row.defect, func(t *testing.T) {
			for kind, contiguous := range map[string]bool{"file": true, "directory": false} {
				var d defectArray
				d.create(t, contiguous, row.set)
				if row.edit != nil {
					d.edit(t, row.edit)
				}
				for reader, library := range map[string]bool{"Go": false, "C-Blosc2": true} {
					name := kind + " read by " + reader
					first, second := make([]byte, 4000), make([]byte, 4000)
					a, err := hyperslab.Open(bg, d.path, &hyperslab.OpenOptions{Library: library})
					if err == nil {
						part := a.Shape()[0] / 2
						err = a.Read(bg, first, ndarray.Region{Start: []int64{0}, Shape: []int64{part}})
						inside := make([]byte, len(first)/4)
						ierr := a.Read(bg, inside, ndarray.Region{Start: []int64{part / 2}, Shape: []int64{part / 4}})
						if ierr == nil {
							require.Equal(t, d.data[2000:3000], inside, name)
						}
						require.NoError(t, a.Read(bg, second, ndarray.Region{Start: []int64{part}, Shape: []int64{part}}), name)
						require.Equal(t, d.data[4000:], second, name)
						require.NoError(t, a.Close())
					}
					if row.want != nil {
						require.ErrorIs(t, err, row.want, name)
						continue
					}
					require.NoError(t, err, name)
					require.Equal(t, d.data[:4000], first, name)
				}
			}
		})
	}
	_, err := os.Stat(mark)
	require.ErrorIs(t, err, fs.ErrNotExist, "C-Blosc2 started a program")
}

// TestDefects_trustedFrames is like TestDefects_trusted, for changes of a file outside its chunks.
func TestDefects_trustedFrames(t *testing.T) {
	frame := func(d *defectArray) string {
		if info, err := os.Stat(d.path); err == nil && info.IsDir() {
			return filetest.In(d.path, "chunks.b2frame")
		}
		return d.path
	}
	change := func(t *testing.T, file string, f func(b []byte) []byte) {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, f(b), 0o600))
	}
	for _, row := range []struct {
		defect string
		edit   func(t *testing.T, d *defectArray)
		want   error // of opening or reading the second chunk; nil: the right values
	}{
		{"invalid frame headers", func(t *testing.T, d *defectArray) {
			change(t, frame(d), func(b []byte) []byte { binary.BigEndian.PutUint32(b[12:], 1<<30); return b })
		}, ndarray.ErrCorrupt},
		{"index with a wrong type size", func(t *testing.T, d *defectArray) {
			b, err := os.ReadFile(frame(d))
			require.NoError(t, err)
			f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
			require.NoError(t, err)
			b[f.Index.Offset+3] = 5
			require.NoError(t, os.WriteFile(frame(d), b, 0o600))
		}, ndarray.ErrCorrupt},
		{"extra bytes in a chunk file", func(t *testing.T, d *defectArray) {
			if d.file != d.path {
				change(t, d.file, func(b []byte) []byte { return append(b, make([]byte, 100)...) })
			}
		}, nil},
		{"failed slice reads", func(t *testing.T, d *defectArray) {
			if d.file != d.path {
				require.NoError(t, os.Remove(filetest.In(d.path, "00000001.chunk")))
			}
		}, fs.ErrNotExist},
	} {
		t.Run(row.defect, func(t *testing.T) {
			for kind, contiguous := range map[string]bool{"file": true, "directory": false} {
				want := row.want
				if contiguous && errors.Is(want, fs.ErrNotExist) {
					want = nil // the chunk is part of the file
				}
				var d defectArray
				d.create(t, contiguous, nil)
				row.edit(t, &d)
				for reader, library := range map[string]bool{"Go": false, "C-Blosc2": true} {
					name := kind + " read by " + reader
					a, err := hyperslab.Open(bg, d.path, &hyperslab.OpenOptions{Library: library})
					if err == nil {
						first, second := make([]byte, 4000), make([]byte, 4000)
						err = a.Read(bg, second, ndarray.Region{Start: []int64{1000}, Shape: []int64{1000}})
						if err == nil {
							require.Equal(t, d.data[4000:], second, name)
						}
						if !errors.Is(want, ndarray.ErrCorrupt) {
							require.NoError(t, a.Read(bg, first, ndarray.Region{Start: []int64{0}, Shape: []int64{1000}}), name)
							require.Equal(t, d.data[:4000], first, name)
						}
						require.NoError(t, a.Close())
					}
					if want == nil {
						require.NoError(t, err, name)
					} else {
						require.Error(t, err, name)
					}
					if errors.Is(want, ndarray.ErrCorrupt) {
						require.ErrorIs(t, err, want, name)
					}
				}
			}
		})
	}
}
