// Tests of the commands that change files, for every format that they support.

package cli_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// must runs a command line that must succeed, and returns its standard output.
func must(t *testing.T, line string) (stdout string) {
	t.Helper()
	stdout, stderr, code := run(strings.Fields(line)...)
	require.Zero(t, code, "%s: %s", line, stderr)
	return stdout
}

// everyArray creates an array of 20 rows of 100 integers in every format, and a ctable, and returns
// their addresses.
func everyArray(t *testing.T) []string {
	t.Helper()
	ctx := context.Background()
	spec := ndarray.Spec{Shape: []int64{20, 100}, ChunkShape: []int64{10, 100}, MaxShape: []int64{ndarray.Unlimited, 100}, DType: ndarray.DTypeOf[int32]()}
	names := []string{"a.b2nd", "sparse.b2nd", "c.caterva", "z.bcolz", "h.h5:/g/x"}
	for i, opts := range []*hyperslab.CreateOptions{nil, {Sparse: true}, {Format: hyperslab.Caterva}, nil, nil} {
		s := spec
		if i == 2 {
			s.MaxShape = nil
		}
		d, err := hyperslab.Create(ctx, names[i], s, opts)
		require.NoError(t, err)
		require.NoError(t, ndarray.Write(ctx, d.Array, count(2000), ndarray.Whole(s.Shape)))
		require.NoError(t, d.Commit(ctx))
	}
	b, err := bcolz.CreateRecords("t.bcolz", ndarray.Spec{Shape: []int64{5}, DType: dtype(t, "[('a', '<i4'), ('b', '<f8')]")}, nil)
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	return append(names, "t.bcolz")
}

func TestAttr_formats(t *testing.T) {
	t.Chdir(t.TempDir())
	arrays := everyArray(t)
	_, stderr, code := run("attr", "set", "t.bcolz", "unit", "K")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "attributes of a group of format bcolz are read, not written")
	for _, at := range append(arrays[:5:5], "h.h5:/g", "h.h5:/") {
		for _, how := range []string{"", " --in-place"} {
			must(t, "attr set "+at+" unit K"+how)
			must(t, "attr set "+at+" range [1,2] --dtype <i2"+how)
			require.Equal(t, "K\n", must(t, "attr get "+at+" unit"), at)
			must(t, "attr set "+at+" unit m"+how)
			require.Equal(t, "m\n", must(t, "attr get "+at+" unit"), at)
			list := must(t, "attr list "+at)
			require.Contains(t, list, "unit", at)
			require.Contains(t, list, "<i2", at)
			must(t, "attr rm "+at+" unit range"+how)
			require.NotRegexp(t, "unit|range", must(t, "attr list "+at), at)
			_, stderr, code := run("attr", "get", at, "unit")
			require.Equal(t, 2, code, at)
			require.Contains(t, stderr, "unit", at)
		}
	}
}

// TestCp_formats checks that cp of a whole file or directory copies its bytes.
func TestCp_formats(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, at := range everyArray(t) {
		file, object, inside := strings.Cut(at, ":")
		to := "copy-" + file
		must(t, "cp "+file+" "+to)
		require.Equal(t, bytesBelow(t, file), bytesBelow(t, to), at)
		if inside {
			must(t, "cp "+at+" new.h5:"+object)
			must(t, "diff "+at+" new.h5:"+object+" -q")
		}
	}
}

// TestRecover_formats checks that recover of a valid array results in an equal array.
func TestRecover_formats(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, at := range everyArray(t) {
		file, object, _ := strings.Cut(at, ":")
		to := "saved-" + file
		must(t, "recover "+file+" "+to)
		must(t, "verify "+to+" -q")
		if object != "" {
			to += ":" + object
		}
		must(t, "diff "+at+" "+to+" -q")
	}
}

// elements returns the bytes of all elements.
func elements(t *testing.T, at string) string {
	t.Helper()
	a, err := hyperslab.Open(context.Background(), at, nil)
	require.NoError(t, err)
	b := make([]byte, a.NumElems()*int64(a.DType().Size))
	require.NoError(t, a.Read(context.Background(), b, ndarray.Whole(a.Shape())))
	require.NoError(t, a.Close())
	return string(b)
}

// TestAppend_formats appends the rows of an array to another array, or to itself, in every format.
func TestAppend_formats(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, at := range everyArray(t) {
		file, object, inside := strings.Cut(at, ":")
		to, more := "twice-"+file, at
		must(t, "cp "+file+" "+to)
		if inside {
			to += ":" + object
		}
		must(t, "append "+to+" "+more+" -q")
		must(t, "append "+to+" "+more+" -q --in-place")
		require.Equal(t, strings.Repeat(elements(t, at), 3), elements(t, to), at)
	}
}

// TestRm_reclaimedSpace checks that rm leaves free space in the file, which repack removes.
func TestRm_reclaimedSpace(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := h5.Create("f.h5", nil)
	require.NoError(t, err)
	for _, name := range []string{"keep", "g/gone", "g/too"} {
		d, err := f.Root().CreateDataset(name, h5.Int(8, h5.LittleEndian), h5.SimpleSpace(20000), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, make([]int64, 20000), h5.SimpleSpace(20000).All()))
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	size := func() int64 {
		info, err := os.Stat("f.h5")
		require.NoError(t, err)
		return info.Size()
	}
	must(t, "cp f.h5 was.h5")
	before := size()
	require.Greater(t, before, int64(3*160000))
	for _, line := range []string{"rm f.h5:/g/gone --in-place", "rm -r f.h5:/g --in-place"} {
		must(t, line)
	}
	require.Greater(t, size(), int64(160000))
	must(t, "repack --replace f.h5")
	require.Less(t, size(), before-2*160000)
	must(t, "diff was.h5:/keep f.h5:/keep -q")
	require.NotContains(t, must(t, "ls -r f.h5"), "gone")
}
