package opened_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// A defectFile is a file that triggers a defect of libhdf5 if the guard against it is missing.
// Either reading the array d returns an error that wraps err, or its elements are want.
type defectFile struct {
	row  string // of docs/defects.md
	name string
	make func(t *testing.T, path string)
	err  error
	want any
}

// errAny is the error of rows that require any error.
var errAny = errors.New("any error")

// inFile creates a file with fill and closes it.
func inFile(t *testing.T, path string, low h5.LibVer, fill func(r *h5.Group)) {
	t.Helper()
	f, err := h5.Create(path, &h5.CreateOptions{Low: low})
	require.NoError(t, err)
	fill(f.Root())
	require.NoError(t, f.Close())
}

// change edits the bytes of a file.
func change(t *testing.T, path string, edit func(b []byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, edit(b), 0o600))
}

// shortChunk writes a dataset whose last chunk is stored as the given bytes.
func shortChunk(filters []h5.Filter, stored []byte) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		inFile(t, path, h5.Earliest, func(r *h5.Group) {
			d, err := r.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(40), &h5.DatasetOptions{ChunkShape: []int64{20}, Filters: filters})
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, make([]int32, 40), h5.All))
			require.NoError(t, d.WriteChunk(stored, 0, 20))
		})
	}
}

// otherParameter changes one parameter of a filter in the file.
func otherParameter(filter h5.Filter, stored []uint32, at int, to uint32) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		inFile(t, path, h5.Earliest, func(r *h5.Group) {
			d, err := r.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(20), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{filter}})
			require.NoError(t, err)
			require.NoError(t, h5value.Write(d, make([]int32, 20), h5.All))
		})
		change(t, path, func(b []byte) []byte {
			var pattern []byte
			for _, v := range stored {
				pattern = binary.LittleEndian.AppendUint32(pattern, v)
			}
			place := bytes.Index(b, pattern)
			require.Positive(t, place)
			binary.LittleEndian.PutUint32(b[place+4*at:], to)
			return b
		})
	}
}

func numbersTo(n int) []int32 {
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	return v
}

func zipped(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, err := w.Write(b)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func defectFiles(t *testing.T) []defectFile {
	i4 := h5.Int(4, h5.LittleEndian)
	all := []defectFile{
		{"filter parameters", "scale-offset", otherParameter(h5.ScaleOffsetInt(0), []uint32{2, 0, 10, 0, 4, 1}, 4, 8), ndarray.ErrCorrupt, nil},
		{"filter parameters", "szip", otherParameter(h5.Szip(h5.SzipNearest, 4), []uint32{169, 4, 32, 10}, 1, 0), ndarray.ErrCorrupt, nil},
		{"chunks shorter than the input of their decoder", "scale-offset", shortChunk([]h5.Filter{h5.ScaleOffsetInt(0)}, []byte{1, 2, 3}), ndarray.ErrCorrupt, nil},
		{"chunks shorter than the input of their decoder", "szip", shortChunk([]h5.Filter{h5.Szip(h5.SzipNearest, 4)}, []byte{1, 2, 3}), ndarray.ErrCorrupt, nil},
		{"chunks shorter than their checksum", "last filter", shortChunk([]h5.Filter{h5.Fletcher32()}, []byte{1, 2, 3}), ndarray.ErrCorrupt, nil},
		{"chunks shorter than their checksum", "before deflate", shortChunk([]h5.Filter{h5.Fletcher32(), h5.Deflate(1)}, zipped(t, []byte{1, 2, 3})), ndarray.ErrCorrupt, nil},
		{"chunks that decode to too few bytes", "deflate", shortChunk([]h5.Filter{h5.Deflate(1)}, zipped(t, make([]byte, 60))), ndarray.ErrCorrupt, nil},
		{"reclaim after a failed read", "strings", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				d, err := r.CreateDataset("d", h5.VariableString(h5.UTF8), h5.SimpleSpace(2), nil)
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, []string{"some", "words"}, h5.All))
			})
			change(t, path, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("GCOL"), []byte("COLG")) })
		}, ndarray.ErrCorrupt, nil},
		{"fill values of negative size", "version 2", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				_, err := r.CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Fill: []byte{1, 2, 3, 4}})
				require.NoError(t, err)
			})
			hdf5test.Edit(t, path, "/d", h5file.FillValueType, func(m []byte) { binary.LittleEndian.PutUint32(m[4:], 0xFFFFFFFB) })
		}, errAny, nil},
		{"fill values larger in memory than in the file", "standard reference", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				_, err := r.CreateDataset("d", h5.OpaqueOf(18, "of eight"), h5.SimpleSpace(2), &h5.DatasetOptions{Fill: make([]byte, 18)})
				require.NoError(t, err)
			})
			change(t, path, func(b []byte) []byte {
				at := bytes.Index(b, []byte("of eight")) - 8
				require.Positive(t, at)
				clear(b[at : at+16])
				copy(b[at:], "\x47\x12\x00\x00\x12\x00\x00\x00")
				return b
			})
		}, errAny, nil},
		{"addresses longer than a token", "version 0", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				_, err := r.CreateDataset("d", i4, h5.SimpleSpace(10), nil)
				require.NoError(t, err)
			})
			change(t, path, func(b []byte) []byte {
				require.Zero(t, b[8], "version of the superblock")
				b[13] = 32
				return b
			})
		}, errors.ErrUnsupported, nil},
		{"missing sources of virtual datasets", "one file", func(t *testing.T, path string) {
			inFile(t, path, h5.V110, func(r *h5.Group) {
				four, whole := h5.SimpleSpace(4), h5.SimpleSpace(4).All()
				_, err := r.CreateDataset("d", i4, four, &h5.DatasetOptions{Mappings: []h5.Mapping{{Region: whole, File: "missing.h5", Dataset: "d", Source: four, SourceRegion: whole}}})
				require.NoError(t, err)
			})
		}, ndarray.ErrNotFound, nil},
		{"missing filters in the error stack", "unknown filter", func(t *testing.T, path string) {
			own := h5.GoFilter{ID: 41235, Name: "own",
				Encode: func(b []byte, _ []uint32) ([]byte, error) { return bytes.Clone(b), nil },
				Decode: func(b []byte, _ []uint32) ([]byte, error) { return bytes.Clone(b), nil },
			}
			require.NoError(t, h5.RegisterFilter(own))
			defer func() { require.NoError(t, h5.UnregisterFilter(own.ID)) }()
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				d, err := r.CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{10}, Filters: []h5.Filter{{ID: own.ID}}})
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, numbersTo(10), h5.All))
				require.NoError(t, d.Close())
			})
		}, errors.ErrUnsupported, nil},
		{"links of unknown classes", "array", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) { require.NoError(t, r.LinkUser("d", 187, []byte("value"))) })
		}, errAny, nil},
		{"datasets with another CLASS of 16 bytes", "scale", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				d, err := r.CreateDataset("d", i4, h5.SimpleSpace(3), nil)
				require.NoError(t, err)
				s, err := r.CreateDataset("s", i4, h5.SimpleSpace(3), nil)
				require.NoError(t, err)
				require.NoError(t, d.AttachScale(0, s))
				require.NoError(t, s.DeleteAttribute("CLASS"))
				require.NoError(t, s.WriteAttribute(h5.Attribute{Name: "CLASS", Datatype: h5.FixedString(16, h5.NullTerm, h5.ASCII), Space: h5.ScalarSpace(), Data: []byte("A TABLE OF MINE\x00")}))
				require.NoError(t, h5value.Write(d, numbersTo(3), h5.All))
			})
		}, nil, numbersTo(3)},
		{"chunk offsets in extensible arrays", "second dimension", func(t *testing.T, path string) {
			inFile(t, path, h5.V110, func(r *h5.Group) {
				space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{4, 7}, MaxDims: []int64{7, h5.Unlimited}}
				d, err := r.CreateDataset("d", i4, space, &h5.DatasetOptions{ChunkShape: []int64{2, 3}, Filters: []h5.Filter{h5.Shuffle(), h5.Fletcher32()}})
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, numbersTo(28), h5.All))
			})
		}, nil, numbersTo(28)},
		{"stored chunks of 32 dimensions", "deflate", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				dims, chunks := slices.Repeat([]int64{1}, h5.MaxRank), slices.Repeat([]int64{1}, h5.MaxRank)
				dims[0], chunks[0] = 8, 4
				d, err := r.CreateDataset("d", i4, h5.SimpleSpace(dims...), &h5.DatasetOptions{ChunkShape: chunks, Filters: []h5.Filter{h5.Deflate(1)}})
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, numbersTo(8), h5.All))
			})
		}, nil, numbersTo(8)},
		{"raw chunks with another filter mask", "checksum left out", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				d, err := r.CreateDataset("d", i4, h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Filters: []h5.Filter{h5.Deflate(1)}})
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, numbersTo(10), h5.All))
				require.NoError(t, d.WriteChunk(native(numbersTo(5)), 1, 0))
			})
		}, nil, numbersTo(10)},
		{"enumeration values without a name", "big-endian", func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				enum := h5.EnumOf(h5.Int(4, h5.BigEndian), h5.Member{Name: "one", Value: 1})
				d, err := r.CreateDataset("d", enum, h5.SimpleSpace(2), nil)
				require.NoError(t, err)
				require.NoError(t, d.WriteRegion([]byte{0, 0, 0, 1, 0, 0, 0, 7}, enum, h5.SimpleSpace(2).All()))
			})
		}, nil, []int32{1, 7}},
	}
	for _, rank := range []byte{1, 3} {
		all = append(all, defectFile{"chunks whose rank differs from the dataset", fmt.Sprint(rank), func(t *testing.T, path string) {
			inFile(t, path, h5.Earliest, func(r *h5.Group) {
				space := h5.Dataspace{Kind: h5.Simple, Dims: []int64{6, 8}, MaxDims: []int64{9, 8}}
				d, err := r.CreateDataset("d", i4, space, &h5.DatasetOptions{ChunkShape: []int64{3, 4}})
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, numbersTo(48), h5.All))
			})
			hdf5test.Edit(t, path, "/d", h5file.DataspaceType, func(m []byte) { m[1], m[2] = rank, 0 })
		}, errAny, nil})
	}
	return all
}

// native returns the bytes of little-endian numbers.
func native(v []int32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// TestDefects_trustedHDF5 reads files that show defects of libhdf5, in trusted mode: the guards of
// package h5 protect every path through the entry package.
func TestDefects_trustedHDF5(t *testing.T) {
	document, err := os.ReadFile(testenv.Module(t, "docs/defects.md"))
	require.NoError(t, err)
	for _, c := range defectFiles(t) {
		require.Contains(t, string(document), "| HDF5 | "+c.row+" |", "row of docs/defects.md")
		t.Run(strings.ReplaceAll(c.row, " ", "_")+"/"+c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.h5")
			c.make(t, path)
			for _, library := range []bool{false, true} {
				if library && c.row == "chunks that decode to too few bytes" {
					continue // H5Dread has no guard, as docs/defects.md describes
				}
				got, err := readTrusted(path+":/d", &hyperslab.OpenOptions{Library: library})
				switch {
				case c.err == nil:
					require.NoError(t, err)
					require.Equal(t, c.want, got)
				case c.err == errAny:
					require.Error(t, err)
				default:
					require.ErrorIs(t, err, c.err)
				}
			}
		})
	}
}

// readTrusted reads all elements of an array, strings or numbers.
func readTrusted(location string, o *hyperslab.OpenOptions) (_ any, err error) {
	a, err := hyperslab.Open(bg, location, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if a.DType().Kind == ndarray.String {
		strs := make([]string, a.NumElems())
		return strs, a.ReadStrings(bg, strs, ndarray.Whole(a.Shape()))
	}
	return ndarray.ReadAll[int32](bg, a)
}

// TestDefects_trustedWrites writes to files that show defects of libhdf5, in trusted mode.
func TestDefects_trustedWrites(t *testing.T) {
	t.Run("writes over masked chunks", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.h5")
		inFile(t, path, h5.Earliest, func(r *h5.Group) {
			d, err := r.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(10), &h5.DatasetOptions{ChunkShape: []int64{5}, Filters: []h5.Filter{h5.Fletcher32(), h5.Shuffle()}})
			require.NoError(t, err)
			require.NoError(t, d.WriteChunk(native(numbersTo(5)), 3, 0))
			require.NoError(t, d.WriteChunk(native(numbersTo(5)), 3, 5))
		})
		for _, library := range []bool{false, true} {
			want, err := readTrusted(path+":/d", nil)
			require.NoError(t, err)
			a, err := hyperslab.Open(bg, path+":/d", &hyperslab.OpenOptions{Write: true, Library: library})
			require.NoError(t, err)
			err = ndarray.Write(bg, a, []int32{70, 80, 90}, ndarray.Region{Start: []int64{1}, Shape: []int64{3}})
			require.NoError(t, a.Close())
			if err == nil {
				copy(want.([]int32)[1:], []int32{70, 80, 90})
			} else {
				require.ErrorIs(t, err, errors.ErrUnsupported)
			}
			got, err := readTrusted(path+":/d", nil)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	})
	t.Run("files not closed by their writer", func(t *testing.T) {
		b, err := os.ReadFile(testenv.Files(t, testenv.HDF5Source, "tools/test/misc/testfiles/h5clear_fsm_persist_noclose.h5")[0])
		require.NoError(t, err)
		path := filepath.Join(t.TempDir(), "x.h5")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err = hyperslab.Open(bg, path+":/d", &hyperslab.OpenOptions{Write: true})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, b, after, "the file was truncated")
	})
}

// TestDefects_trustedCopies copies trees that show defects of libhdf5, in trusted mode.
func TestDefects_trustedCopies(t *testing.T) {
	t.Run("headers with messages of another class", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.h5")
		inFile(t, path, h5.Earliest, func(r *h5.Group) {
			d, err := r.CreateDataset("d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(0x51), nil)
			require.NoError(t, err)
			require.NoError(t, d.Close())
		})
		change(t, path, func(b []byte) []byte {
			space := bytes.Index(b, []byte{1, 1, 1, 0, 0, 0, 0, 0, 0x51, 0})
			require.Positive(t, space)
			b[space-8] = 0 // the message type
			return b
		})
		_, err := filetest.CopyTree(bg, path+".copy.h5", path, nil)
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
		stats, err := filetest.CopyTree(bg, path+".copy.h5", path, &hyperslab.TreeOptions{SkipUnreadable: true})
		require.NoError(t, err)
		require.Len(t, stats.Unreadable, 1)
		require.Equal(t, []int{0, 0}, []int{stats.Types, stats.Arrays})
	})
}
