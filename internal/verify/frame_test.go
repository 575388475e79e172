package verify_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// writeZeros writes an array of zeros, whose chunks are special entries of the index.
const writeZeros = `import blosc2, sys
blosc2.zeros((20, 20), dtype="<i2", urlpath=sys.argv[1], chunks=(10, 10), blocks=(5, 5))`

// readAll prints whether python-blosc2 reads an array.
const readAll = `import blosc2, sys
try:
    blosc2.open(sys.argv[1])[()]
    print("reads")
except (RuntimeError, SyntaxError, TypeError, ValueError):
    print("fails")`

// TestFile_arrayMetadata checks arrays whose metadata python-blosc2 does not read, although each
// chunk decodes.
func TestFile_arrayMetadata(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	testutil.Python(t, []string{"blosc2"}, "-c", writeZeros, path)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	const blockSize = 56 // last byte of the field in the header
	require.EqualValues(t, 50, whole[blockSize])
	dtype := bytes.Index(whole, []byte("<i2"))
	require.Positive(t, dtype)
	for _, c := range []struct {
		name  string
		at    int
		bytes string
		code  int
		want  error
	}{
		{"as written", dtype, "<i2", verify.ExitValid, nil},
		{"other blocks", blockSize, "\x64", verify.ExitCorrupt, format.ErrCorrupt},
		{"automatic blocks", blockSize, "\x00", verify.ExitCorrupt, format.ErrCorrupt},
		{"shorter elements", dtype, "|i1", verify.ExitCorrupt, format.ErrCorrupt},
		{"default of C-Blosc2", dtype, "|u1", verify.ExitPartly, ndarray.ErrType},
		{"other format of types", dtype - 6, "\x01", verify.ExitPartly, format.ErrUnsupported},
		{"unknown type", dtype, "<\x052", verify.ExitPartly, ndarray.ErrType},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(whole)
			copy(b[c.at:], c.bytes)
			require.NoError(t, os.WriteFile(path, b, 0o600))
			r, err := verify.File(bg, path, nil)
			require.NoError(t, err)
			require.Equal(t, c.code, r.ExitCode(), "%v %v", r.Damages, r.Unchecked)
			want := "reads"
			if c.want != nil {
				require.ErrorIs(t, append(r.Damages, r.Unchecked...)[0].Err, c.want)
				want = "fails"
			}
			require.Equal(t, want, testutil.Python(t, []string{"blosc2"}, "-c", readAll, path))
		})
	}
}

// TestFile_embeddedMap checks that a store whose map does not decode is corrupt.
func TestFile_embeddedMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2e")
	testutil.Python(t, []string{"blosc2"}, "-c", `import blosc2, numpy as np, sys
s = blosc2.EmbedStore(urlpath=sys.argv[1], mode="w")
for i in range(40): s[f"/array{i}"] = np.arange(3)`, path)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.LastIndex(b, []byte("estore_metadata"))
	require.Positive(t, at)
	at += bytes.Index(b[at:], []byte{5, 1}) // the chunk with the map
	copy(b[at+40:], bytes.Repeat([]byte{0xFF}, 60))
	require.NoError(t, os.WriteFile(path, b, 0o600))
	for _, isolated := range []bool{false, true} {
		r, err := verify.File(bg, path, &verify.Options{Isolated: isolated})
		require.NoError(t, err)
		require.Equal(t, verify.ExitCorrupt, r.ExitCode())
	}
}

// TestFile_baseAddress checks a wrong base address, which moves the end of the file for libhdf5.
func TestFile_baseAddress(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	testutil.Python(t, []string{"h5py"}, "-c", `import h5py, sys
with h5py.File(sys.argv[1], "w", libver="earliest") as f: f["x"] = [1, 2, 3]`, path)
	const base = 24 // in a superblock of version 0
	change(t, path, base, func(b []byte) { require.Zero(t, b[0]); b[0] = 8 })
	require.Equal(t, "fails", testutil.Python(t, []string{"h5py"}, "-c", `import h5py, sys
try:
    with h5py.File(sys.argv[1]) as f: f["x"][:]
    print("reads")
except (KeyError, OSError):
    print("fails")`, path))
	r, err := verify.File(bg, path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, r.ExitCode())
	require.True(t, slices.ContainsFunc(r.Damages, func(p verify.Finding) bool { return errors.Is(p.Err, format.ErrTruncated) }), "%v", r.Damages)
}

// TestFile_checksums flips a bit that C-Blosc2 decodes, in an array with and without checksums.
func TestFile_checksums(t *testing.T) {
	spec := ndarray.Spec{Shape: []int64{4000}, ChunkShape: []int64{1000}, DType: ndarray.DTypeOf[uint16](),
		Compression: &ndarray.Compression{Codec: "none", Filters: []string{"crc32c"}}}
	path := filepath.Join(t.TempDir(), "a.b2nd")
	b, err := b2nd.Create(path, spec, nil)
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(t.Context(), testutil.Noise(6000, 1), ndarray.Region{Start: []int64{0}, Shape: []int64{3000}}, 1))
	require.NoError(t, b.Close())
	r, err := verify.File(t.Context(), path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitValid, r.ExitCode())
	require.Equal(t, []int64{4, 4}, []int64{r.Chunks, r.Checksums})
	require.True(t, r.ValuesVerified())

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	at := bytes.Index(content, testutil.Noise(6000, 1)[2000:2032])
	content[at] ^= 1
	require.NoError(t, os.WriteFile(path, content, 0o600))
	r, err = verify.File(t.Context(), path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitCorrupt, r.ExitCode())
	require.Len(t, r.Damages, 1)
	require.Equal(t, int64(1), r.Damages[0].Chunk)
	require.ErrorContains(t, r.Damages[0].Err, "checksum")

	a, err := cblosc.OpenArray(path) // a change by another program: the checksums are stale
	require.NoError(t, err)
	require.NoError(t, a.WriteRegion(testutil.Noise(2, 2), []int64{3999}, []int64{1}))
	require.NoError(t, a.Close())
	r, err = verify.File(t.Context(), path, nil)
	require.NoError(t, err)
	require.Equal(t, verify.ExitValid, r.ExitCode())
	require.Zero(t, r.Checksums)
}
