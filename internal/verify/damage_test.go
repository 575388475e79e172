// Tests that corruption is found at the correct location in every format, in this process and in a
// worker.

package verify_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// arrays lists one array in every format.
var arrays = []struct {
	name     string
	location string
	opts     *hyperslab.CreateOptions
}{
	{"b2nd", "a.b2nd", nil},
	{"sparse", "s.b2nd", &hyperslab.CreateOptions{Sparse: true}},
	{"caterva", "a.cat", &hyperslab.CreateOptions{Format: hyperslab.Caterva}},
	{"bcolz", "a.bcolz", nil},
	{"hdf5", "a.h5:/g/x", nil},
	{"directory", "d/a.b2nd", nil},
}

// save writes the array and returns the file or directory to verify.
func save(t *testing.T, location string, opts *hyperslab.CreateOptions) string {
	t.Helper()
	dir := t.TempDir()
	l, err := locate.Parse(dir + "/" + location)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(l.File), 0o777))
	spec := ndarray.Spec{Shape: []int64{25, 33}, DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{6, 5}}
	if filepath.Ext(l.File) == ".bcolz" {
		spec.ChunkShape[1] = 33
	}
	d, err := hyperslab.Create(bg, l.String(), spec, opts)
	require.NoError(t, err)
	values := make([]int32, 25*33)
	for i := range values {
		values[i] = int32(i * i)
	}
	require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	if location == "d/a.b2nd" {
		return dir + "/d"
	}
	return l.File
}

func change(t *testing.T, file string, at int64, f func(b []byte)) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	f(b[at:])
	require.NoError(t, os.WriteFile(file, b, 0o600))
}

func TestDamagedChunk(t *testing.T) {
	for _, a := range arrays {
		for _, isolated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s isolated=%v", a.name, isolated), func(t *testing.T) {
				path := save(t, a.location, a.opts)
				o := &verify.Options{Isolated: isolated}
				r, err := verify.File(bg, path, o)
				require.NoError(t, err)
				require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
				require.NoError(t, r.Err())
				require.Equal(t, isolated, r.Isolated)
				require.Equal(t, int64(1), r.Arrays)
				chunks := r.Chunks
				require.Positive(t, chunks)
				require.Positive(t, r.StoredBytes)
				require.GreaterOrEqual(t, r.DecodedBytes, int64(4*25*33))

				// Corrupt the size of the values, or the header of a deflate stream.
				file, at := path, int64(0)
				var want verify.Finding
				switch a.name {
				case "bcolz":
					file, at = filepath.Join(path, "data", "__2.blp"), 16
					want = verify.Finding{File: "data/__2.blp", Chunk: 2, Coords: []int64{12, 0}}
				case "sparse":
					file = filepath.Join(path, "00000002.chunk")
					want = verify.Finding{File: "00000002.chunk", Chunk: 2, Coords: []int64{0, 10}}
				case "directory":
					want = chunkPlaceOfFrame(t, filepath.Join(path, "a.b2nd"))
					want.Object = "a.b2nd"
					file, at = filepath.Join(path, "a.b2nd"), want.Offset
				case "hdf5":
					want = chunkPlaceOfHDF5(t, path)
					at = want.Offset
				default:
					want = chunkPlaceOfFrame(t, path)
					at = want.Offset
				}
				change(t, file, at, func(b []byte) {
					if a.name == "hdf5" {
						copy(b, "no stream at all")
					} else {
						binary.LittleEndian.PutUint32(b[4:], binary.LittleEndian.Uint32(b[4:])+8)
					}
				})
				r, err = verify.File(bg, path, o)
				require.NoError(t, err)
				require.Equal(t, verify.ExitCorrupt, r.ExitCode())
				require.Len(t, r.Damages, 1, "%v", r.Damages)
				got := r.Damages[0]
				require.Error(t, got.Err)
				got.Err = nil
				want.What = "chunk"
				require.Equal(t, want, got)
				require.Equal(t, chunks, r.Chunks, "the others were not looked at")
				require.ErrorIs(t, r.Err(), ndarray.ErrCorrupt)
			})
		}
	}
}

func chunkPlaceOfFrame(t *testing.T, path string) verify.Finding {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	f, err := cframe.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	offsets, err := f.Offsets(nil)
	require.NoError(t, err)
	at := int64(f.HeaderSize) + int64(offsets[2])
	return verify.Finding{Offset: at, Chunk: 2, Coords: []int64{0, 10}}
}

func chunkPlaceOfHDF5(t *testing.T, path string) verify.Finding {
	t.Helper()
	f, err := h5.Open(path, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	d, err := f.Root().OpenDataset("/g/x")
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	i := int64(0)
	for c, err := range d.StoredChunks() {
		require.NoError(t, err)
		if i == 2 {
			return verify.Finding{Object: "/g/x", Offset: int64(c.Address), Chunk: 2, Coords: c.Offset}
		}
		i++
	}
	t.Fatal("too few chunks")
	return verify.Finding{}
}

// TestVerify_groups checks that files with group attributes are verified and not counted as arrays.
func TestVerify_groups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tree")
	tree, err := hyperslab.OpenTree(bg, save(t, "a.h5:/g/x", nil), nil)
	require.NoError(t, err)
	_, err = hyperslab.CopyTree(bg, path, tree, nil)
	require.NoError(t, err)
	require.NoError(t, tree.Close())
	group := filepath.Join(path, "g", detect.GroupFile)
	require.FileExists(t, group)
	for _, isolated := range []bool{false, true} {
		r, err := verify.File(bg, path, &verify.Options{Isolated: isolated})
		require.NoError(t, err)
		require.Equal(t, verify.ExitValid, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
		require.Equal(t, int64(1), r.Arrays)
	}
	require.NoError(t, os.Truncate(group, 50))
	r, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, r.ExitCode())
	require.Equal(t, "g/"+detect.GroupFile, r.Damages[0].Object)
	require.Equal(t, int64(1), r.Arrays)
}

// TestTruncated checks that a file truncated at any offset is corrupt or no longer recognized as
// its format.
func TestTruncated(t *testing.T) {
	for _, name := range []string{"a.b2nd", "a.h5:/g/x"} {
		path := save(t, name, nil)
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		for i := range 40 {
			n := len(b) * i / 40
			require.NoError(t, os.WriteFile(path, b[:n], 0o600))
			r, err := verify.File(bg, path, nil)
			if err != nil {
				require.ErrorIs(t, err, ndarray.ErrFormat, "%d bytes", n)
				continue
			}
			require.Equal(t, verify.ExitCorrupt, r.ExitCode(), "%s: %d of %d bytes", name, n, len(b))
		}
	}
}

func TestDamagedStructures(t *testing.T) {
	t.Run("sizes of a carray", func(t *testing.T) {
		path := save(t, "a.bcolz", nil)
		require.NoError(t, os.WriteFile(filepath.Join(path, "meta", "sizes"), []byte(`{"shape": [25, 33], "nbytes": 7, "cbytes": 9}`+"\n"), 0o600))
		requireDamage(t, path, "meta/sizes", format.ErrCorrupt)
	})
	t.Run("chunk file gone", func(t *testing.T) {
		path := save(t, "a.bcolz", nil)
		require.NoError(t, os.Remove(filepath.Join(path, "data", "__1.blp")))
		requireDamage(t, path, "chunk", os.ErrNotExist)
	})
	t.Run("chunk of a sparse frame gone", func(t *testing.T) {
		path := save(t, "s.b2nd", &hyperslab.CreateOptions{Sparse: true})
		require.NoError(t, os.Remove(filepath.Join(path, "00000003.chunk")))
		requireDamage(t, path, "chunk", os.ErrNotExist)
	})
	t.Run("more chunk files than can be", func(t *testing.T) {
		path := save(t, "a.bcolz", nil)
		// The chunk that is not full.
		require.NoError(t, os.Remove(filepath.Join(path, "data", "__4.blp")))
		rows := int64(1) << 40
		text := fmt.Sprintf(`{"shape": [%d, 33], "nbytes": %d, "cbytes": 9}`+"\n", rows, rows*33*4)
		require.NoError(t, os.WriteFile(filepath.Join(path, "meta", "sizes"), []byte(text), 0o600))
		for _, isolated := range []bool{false, true} {
			r, err := verify.File(bg, path, &verify.Options{Isolated: isolated, MaxDamages: 3})
			require.NoError(t, err)
			require.Equal(t, int64(4), r.Chunks, "those that are there")
			require.Equal(t, (rows+5)/6-4, r.NumDamages)
			require.Len(t, r.Damages, 3)
			require.ErrorIs(t, r.Damages[0].Err, os.ErrNotExist)
			require.Equal(t, int64(4), r.Damages[0].Chunk)
			require.Equal(t, "data/__4.blp", r.Damages[0].File)
		}
	})
	t.Run("more objects than can be counted", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "t.bcolz")
		for _, column := range []string{"a", "b", "c"} {
			dir := filepath.Join(path, column)
			require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join("..", "format", "bcolztree", "testdata", "object"))))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "meta", "sizes"), []byte(`{"shape": [9223372036854775807], "nbytes": 1, "cbytes": 9}`+"\n"), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(path, "__rootdirs__"), []byte(`{"names": ["a", "b", "c"]}`+"\n"), 0o600))
		r, err := verify.File(bg, path, nil)
		require.NoError(t, err)
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Greater(t, r.NumDamages, int64(1)<<59)
		require.Len(t, r.Damages, 1000)
	})
	t.Run("elements beyond the end of the file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.h5")
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		d, err := f.Root().CreateDataset("x", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(600), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, make([]int64, 600), h5.SimpleSpace(600).All()))
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
		o := hdf5test.Object(t, path, "/x")
		require.Equal(t, h5file.Contiguous, o.Layout().Class)
		rows := uint64(1) << 50
		require.Equal(t, uint64(600), hdf5test.SetRows(t, path, "/x", rows))
		r, err := verify.File(bg, path, nil)
		require.NoError(t, err)
		require.LessOrEqual(t, r.Chunks, int64(1))
		require.LessOrEqual(t, r.NumDamages, int64(4))
		at := slices.IndexFunc(r.Damages, func(p verify.Finding) bool { return p.Object == "/x" && p.What == "elements" })
		require.GreaterOrEqual(t, at, 0, "%v", r.Damages)
		require.Equal(t, int64(o.Layout().Addr), r.Damages[at].Offset)
		require.ErrorIs(t, r.Damages[at].Err, format.ErrTruncated)
		require.ErrorContains(t, r.Damages[at].Err, fmt.Sprint(rows*8))
	})
	t.Run("trailer", func(t *testing.T) {
		path := save(t, "a.b2nd", nil)
		info, err := os.Stat(path)
		require.NoError(t, err)
		change(t, path, info.Size()-22, func(b []byte) { b[0] ^= 0xFF })
		requireDamage(t, path, "frame", format.ErrCorrupt)
	})
	t.Run("file consistency flags", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.h5")
		f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		change(t, path, 11, func(b []byte) { b[0] |= 1 })
		requireDamage(t, path, "superblock", format.ErrCorrupt)
	})
}

func requireDamage(t *testing.T, path, what string, kind error) {
	t.Helper()
	r, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.NotEmpty(t, r.Damages)
	require.Equal(t, what, r.Damages[0].What)
	require.ErrorIs(t, r.Damages[0].Err, kind)
}

// TestChecksum checks that Fletcher-32 detects a change that the codecs accept.
func TestChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	d, err := hyperslab.Create(bg, path+":/x", ndarray.Spec{
		Shape: []int64{1000}, DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{100},
		Compression: &ndarray.Compression{Codec: "none", Filters: []string{"fletcher32"}},
	}, nil)
	require.NoError(t, err)
	require.NoError(t, ndarray.Write(bg, d.Array, make([]int32, 1000), ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	r, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.Equal(t, int64(10), r.Checksums)
	require.Empty(t, r.Damages)
	info, err := os.Stat(path)
	require.NoError(t, err)
	change(t, path, info.Size()-100, func(b []byte) { b[0]++ })
	r, err = verify.File(bg, path, &verify.Options{Isolated: true})
	require.NoError(t, err)
	require.Len(t, r.Damages, 1)
	require.ErrorIs(t, r.Damages[0].Err, filter.ErrChecksum)
}

func TestDigests(t *testing.T) {
	for _, name := range []string{"a.b2nd", "a.bcolz"} {
		path := save(t, name, nil)
		_, err := verify.File(bg, path, &verify.Options{Digests: verify.CheckDigests})
		require.ErrorIs(t, err, ndarray.ErrNotFound)
		r, err := verify.File(bg, path, &verify.Options{Digests: verify.WriteDigests})
		require.NoError(t, err)
		require.Positive(t, r.Digests)
		n := r.Digests
		r, err = verify.File(bg, path, &verify.Options{Digests: verify.CheckDigests})
		require.NoError(t, err)
		require.Equal(t, n, r.Digests)
		require.Equal(t, verify.ExitValid, r.ExitCode())

		// Change one bit of a value, which no structure depends on.
		file := path
		if name == "a.bcolz" {
			file = filepath.Join(path, "data", "__0.blp")
		}
		info, err := os.Stat(file)
		require.NoError(t, err)
		at := info.Size() - 1
		if name == "a.b2nd" {
			at = chunkPlaceOfFrame(t, path).Offset - 1
		}
		change(t, file, at, func(b []byte) { b[0] ^= 1 })
		r, err = verify.File(bg, path, &verify.Options{Digests: verify.CheckDigests})
		require.NoError(t, err)
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
		require.Equal(t, n-1, r.Digests)

		require.NoError(t, os.WriteFile(path+verify.SidecarExt, []byte("no digest\n"), 0o600))
		_, err = verify.File(bg, path, &verify.Options{Digests: verify.CheckDigests})
		require.ErrorIs(t, err, ndarray.ErrCorrupt)
	}
}

// TestDigests_Sha256sum checks that sha256sum can write and check the sidecar files, also for
// names that must be escaped.
func TestDigests_Sha256sum(t *testing.T) {
	tool := testenv.Program(t, "sha256sum")
	for _, name := range []string{"a.b2nd", "a.bcolz", "two\nlines \\ and a slash.h5:/x"} {
		path := save(t, name, nil)
		check := func() ([]byte, error) {
			c := exec.Command(tool, "--check", "--strict", "--status", filepath.Base(path)+verify.SidecarExt)
			c.Dir = filepath.Dir(path)
			return c.CombinedOutput()
		}
		_, err := verify.File(bg, path, &verify.Options{Digests: verify.WriteDigests})
		require.NoError(t, err, name)
		out, err := check()
		require.NoError(t, err, "%s", out)
		file := path
		if name == "a.bcolz" {
			file = filepath.Join(path, "data", "__0.blp")
		}
		change(t, file, 40, func(b []byte) { b[0] ^= 1 })
		_, err = check()
		require.Error(t, err, name)
	}
}

func TestErrors(t *testing.T) {
	_, err := verify.File(bg, filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, ndarray.ErrNotFound)
	for _, isolated := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "text")
		require.NoError(t, os.WriteFile(path, []byte("neither one nor the other"), 0o600))
		_, err = verify.File(bg, path, &verify.Options{Isolated: isolated})
		require.ErrorIs(t, err, ndarray.ErrFormat)
		// With an explicit format, the file is corrupt.
		r, err := verify.File(bg, path, &verify.Options{Format: detect.B2ND, Isolated: isolated})
		require.NoError(t, err)
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
	}
	_, err = verify.File(bg, "x", &verify.Options{MaxChunk: -1})
	require.ErrorIs(t, err, ndarray.ErrParam)
	if _, err = verify.File(bg, save(t, "a.b2nd", nil), &verify.Options{Isolated: true, Time: 1}); err != nil {
		require.True(t, errors.Is(err, worker.ErrTimeout) || errors.Is(err, worker.ErrLimit), "%v", err)
	}
}

func TestVerify_CancelProgress(t *testing.T) {
	path := save(t, "a.b2nd", nil)
	ctx, cancel := context.WithCancel(bg)
	calls := int64(0)
	_, err := verify.File(ctx, path, &verify.Options{Workers: 1, Progress: func(p verify.Progress) {
		calls++
		require.Equal(t, int64(35), p.TotalChunks)
		if p.Chunks == 3 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int64(3), calls)
	for _, isolated := range []bool{false, true} {
		var last verify.Progress
		r, err := verify.File(bg, path, &verify.Options{Isolated: isolated, Progress: func(p verify.Progress) { last = p }})
		require.NoError(t, err)
		require.Equal(t, verify.Progress{Chunks: 35, TotalChunks: 35, StoredBytes: r.StoredBytes, DecodedBytes: r.DecodedBytes}, last)
		require.Positive(t, last.StoredBytes)
		require.Greater(t, last.DecodedBytes, last.StoredBytes)
	}
}
