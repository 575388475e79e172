package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// requireSameHDF5 checks with h5diff that two files have the same content.
func requireSameHDF5(t *testing.T, a, b string) {
	t.Helper()
	tool := testenv.Tool(t, "h5diff")
	twin := filepath.Join(t.TempDir(), "twin.h5") // the exact copy shows which objects h5diff cannot compare
	content, err := os.ReadFile(a)
	require.NoError(t, err)
	put(t, twin, content)
	want, err := exec.Command(tool, a, twin).CombinedOutput()
	require.NoError(t, err, "%s", want)
	out, err := exec.Command(tool, a, b).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, string(want), string(out))
}

// oddFile creates a file with links of every kind, two hard links to one object, a cycle of hard
// links, a committed datatype, dimension scales, attributes on a group, unsupported datatypes, and
// free space of a deleted object.
func oddFile(t *testing.T, name string) {
	t.Helper()
	makeTree(t, name)
	f, err := h5.Open(name, h5.ReadWrite)
	require.NoError(t, err)
	root := f.Root()
	require.NoError(t, root.LinkHard("twice", "/time"))
	require.NoError(t, root.LinkHard("run1/circle", "/run1"))
	group, err := root.OpenGroup("run1")
	require.NoError(t, err)
	require.NoError(t, h5value.WriteAttr(group, "level", []float64{1, 2.5}))
	d, err := root.OpenDataset("run1/temperature")
	require.NoError(t, err)
	for axis, n := range []int64{8, 10} {
		scale, err := root.CreateDataset([]string{"y", "x"}[axis], h5.Int(8, h5.LittleEndian), h5.SimpleSpace(n), nil)
		require.NoError(t, err)
		require.NoError(t, d.AttachScale(axis, scale))
		require.NoError(t, scale.Close())
	}
	require.NoError(t, h5value.WriteAttr(d, "units", []int16{7}))
	big, err := root.CreateDataset("gone", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(100000), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(big, make([]int64, 100000), h5.SimpleSpace(100000).All()))
	require.NoError(t, big.Close())
	require.NoError(t, f.Close())
	f, err = h5.Open(name, h5.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, f.Root().Unlink("gone"))
	require.NoError(t, f.Close())
}

func TestRepack_Preserves(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "odd.h5")
	oddFile(t, odd)
	for name, flags := range map[string][]string{
		"as stored": nil, "deflate": {"--codec", "deflate", "--level", "9", "--chunks", "3,7"}, "none": {"--codec", "none", "--shuffle", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "packed.h5")
			_, stderr, code := run(append([]string{"repack", odd, to}, flags...)...)
			require.Zero(t, code, stderr)
			requireSameHDF5(t, odd, to)
			info, err := os.Stat(to)
			require.NoError(t, err)
			require.Less(t, info.Size(), int64(100000), "the hole is gone")

			f, err := h5.Open(to, h5.ReadOnly)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			one, err := f.Root().ObjectInfo("time")
			require.NoError(t, err)
			two, err := f.Root().ObjectInfo("twice")
			require.NoError(t, err)
			require.Equal(t, one.Address, two.Address)
			d, err := f.Root().OpenDataset("run1/temperature")
			require.NoError(t, err)
			for axis, want := range []string{"/y", "/x"} {
				var got []string
				for s, err := range d.Scales(axis) {
					require.NoError(t, err)
					got = append(got, s.Path)
				}
				require.Equal(t, []string{want}, got)
			}
			require.NoError(t, d.Close())
		})
	}
}

// TestRepackRealFile checks repack with a file that other software wrote. h5diff must not find a
// difference.
func TestRepackRealFile(t *testing.T) {
	etopo, err := filepath.Abs("../../../../testdata/etopo120.h5")
	require.NoError(t, err)
	for _, flags := range [][]string{nil, {"--chunks", "45,45", "--level", "9"}} {
		to := filepath.Join(t.TempDir(), "packed.h5")
		_, stderr, code := run(append([]string{"repack", etopo, to}, flags...)...)
		require.Zero(t, code, stderr)
		requireSameHDF5(t, etopo, to)
	}
}

// TestRepackReferences checks that repack keeps references. A reference to a deleted object must be
// refused, or become null with --exclude-references.
func TestRepackReferences(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "refs.h5"), filepath.Join(dir, "out.h5")
	makeTree(t, from)
	f, err := h5.Open(from, h5.ReadWrite)
	require.NoError(t, err)
	gone, err := f.Root().CreateGroup("gone")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	refs, err := f.Root().CreateDataset("refs", h5.ReferenceType(h5.ObjectReference), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	time, err := f.Root().Reference("time", h5.ObjectReference)
	require.NoError(t, err)
	lost, err := f.Root().Reference("gone", h5.ObjectReference)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(refs, []h5.Ref{time, lost}, h5.All))
	require.NoError(t, refs.Close())
	require.NoError(t, f.Root().Unlink("gone"))
	require.NoError(t, f.Close())

	_, stderr, code := run("repack", from, to)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "/refs: values: ")
	require.Contains(t, stderr, "--exclude-references")
	require.NoFileExists(t, to)
	_, stderr, code = run("repack", from, to, "--exclude-references")
	require.Zero(t, code, stderr)
	f, err = h5.Open(to, h5.ReadOnly)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	refs, err = f.Root().OpenDataset("refs")
	require.NoError(t, err)
	got, err := h5value.ReadAll[h5.Ref](refs)
	require.NoError(t, err)
	is, err := f.Resolve(got[0])
	require.NoError(t, err)
	require.Equal(t, "/time", is.Path)
	require.True(t, got[1].IsNull())
	require.NoError(t, refs.Close())
}

// TestRepackVirtualSources checks that a virtual dataset still finds its source files if repack or
// cp writes it to another directory. If a source file is missing, both must fail unless
// --allow-missing is set.
func TestRepackVirtualSources(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o777))
	create[int32](t, filepath.Join(dir, "source.h5")+":/x", ndarray.Spec{Shape: []int64{3}}, []int32{1, 2, 3})
	from := filepath.Join(dir, "virtual.h5")
	f, err := h5.Create(from, nil)
	require.NoError(t, err)
	all := h5.SimpleSpace(3)
	d, err := f.Root().CreateDataset("v", h5.Int(4, h5.LittleEndian), all, &h5.DatasetOptions{Mappings: []h5.Mapping{
		{Region: all.All(), File: "source.h5", Dataset: "/x", Source: all, SourceRegion: all.All()},
	}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	read := func(name string) []int32 {
		f, err := h5.Open(name, h5.ReadOnly)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		d, err := f.Root().OpenDataset("v")
		require.NoError(t, err)
		got, err := h5value.ReadAll[int32](d)
		require.NoError(t, err)
		return got
	}
	for _, args := range [][]string{{"repack", from, filepath.Join(dir, "sub", "repack.h5")}, {"cp", from + ":/v", filepath.Join(dir, "sub", "cp.h5") + ":/v"}} {
		t.Run(args[0], func(t *testing.T) {
			to, _, _ := strings.Cut(args[2], ":")
			_, stderr, code := run(args...)
			require.Zero(t, code, stderr)
			require.Equal(t, []int32{1, 2, 3}, read(to))
			require.NoError(t, os.Remove(to))

			require.NoError(t, os.Rename(filepath.Join(dir, "source.h5"), filepath.Join(dir, "hidden")))
			defer func() { require.NoError(t, os.Rename(filepath.Join(dir, "hidden"), filepath.Join(dir, "source.h5"))) }()
			_, stderr, code = run(args...)
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, "--allow-missing")
			require.NoFileExists(t, to)
			_, stderr, code = run(append(args, "--allow-missing")...)
			require.Zero(t, code, stderr)
		})
	}
}
