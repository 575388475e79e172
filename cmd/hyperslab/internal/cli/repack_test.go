package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/need"
)

// requireSameHDF5 asks h5diff whether two files hold the same.
func requireSameHDF5(t *testing.T, a, b string) {
	t.Helper()
	tool := need.Tool(t, "h5diff")
	twin := filepath.Join(t.TempDir(), "twin.h5") // it cannot compare everything, not even to an exact copy
	content, err := os.ReadFile(a)
	require.NoError(t, err)
	put(t, twin, content)
	want, err := exec.Command(tool, a, twin).CombinedOutput()
	require.NoError(t, err, "%s", want)
	out, err := exec.Command(tool, a, b).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, string(want), string(out))
}

// A file with links of every kind, a hard link twice and in a circle, a named type,
// dimension scales, attributes on a group, types without an element type here, and
// a hole where an object was.
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
	require.NoError(t, h5.WriteAttr(group, "level", []float64{1, 2.5}))
	d, err := root.OpenDataset("run1/temperature")
	require.NoError(t, err)
	for axis, n := range []int64{8, 10} {
		scale, err := root.CreateDataset([]string{"y", "x"}[axis], h5.Int(8, h5.LittleEndian), h5.SimpleSpace(n), nil)
		require.NoError(t, err)
		require.NoError(t, d.AttachScale(axis, scale))
		require.NoError(t, scale.Close())
	}
	require.NoError(t, h5.WriteAttr(d, "units", []int16{7}))
	big, err := root.CreateDataset("gone", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(100000), nil)
	require.NoError(t, err)
	require.NoError(t, h5.Write(big, make([]int64, 100000), h5.SimpleSpace(100000).All()))
	require.NoError(t, big.Close())
	require.NoError(t, f.Close())
	f, err = h5.Open(name, h5.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, f.Root().Unlink("gone"))
	require.NoError(t, f.Close())
}

func TestRepackKeepsEverything(t *testing.T) {
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

// Real files of other software; the values are what h5diff says they are.
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

// What refers to places in the file is named, and left out only if asked for.
func TestRepackReferences(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "refs.h5"), filepath.Join(dir, "out.h5")
	makeTree(t, from)
	f, err := h5.Open(from, h5.ReadWrite)
	require.NoError(t, err)
	refs, err := f.Root().CreateDataset("refs", h5.ReferenceType(h5.ObjectReference), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, refs.Close())
	require.NoError(t, f.Close())
	_, stderr, code := run("repack", from, to)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "/refs: values: they refer to places in the file")
	require.NoFileExists(t, to)
	_, stderr, code = run("repack", from, to, "--exclude-references")
	require.Zero(t, code, stderr)
	stdout, _, _ := run("ls", to)
	require.NotContains(t, stdout, "/refs")
	require.Contains(t, stdout, "/time")
}
