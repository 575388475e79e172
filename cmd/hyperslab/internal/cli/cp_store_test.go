package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCp_store copies arrays between files and containers of python-blosc2.
func TestCp_store(t *testing.T) {
	golden, err := filepath.Abs("../../../../testdata/store.b2z")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	must(t, "cp "+golden+" x.b2z")
	must(t, "convert -q x.b2z x.b2d")
	must(t, "diff x.b2z x.b2d")
	same := func(a, b string) {
		t.Helper()
		x, err := os.ReadFile(a)
		require.NoError(t, err)
		y, err := os.ReadFile(b)
		require.NoError(t, err)
		require.Equal(t, x, y)
	}
	must(t, "cp x.b2z:/g/b b.b2nd")
	must(t, "diff b.b2nd x.b2d:/g/b")
	must(t, "cp x.b2z:/objects o.b2f")
	same("o.b2f", "x.b2d/objects.b2f")
	require.Contains(t, must(t, "dump o.b2f"), `{"k":[1.5,null]}`)
	must(t, "cp b.b2nd x.b2d:/new/")
	same("b.b2nd", "x.b2d/new/b.b2nd")
	must(t, "cp o.b2f x.b2d:/new/objects")
	same("o.b2f", "x.b2d/new/objects.b2f")
	must(t, "cp x.b2z:/table/n x.b2d:/new/n")
	must(t, "convert -q b.b2nd h.h5:/b")
	must(t, "cp h.h5:/b x.b2d:/new/h")
	must(t, "convert -q h.h5:/b x.b2d:/new/c")
	for _, name := range []string{"h", "c"} {
		must(t, "diff --values-only b.b2nd x.b2d:/new/"+name)
	}
	must(t, "cp x.b2z:/g/b h.h5:/again")
	must(t, "diff --values-only b.b2nd h.h5:/again")
	must(t, "cp -f b.b2nd x.b2d:/new/c")
	same("b.b2nd", "x.b2d/new/c.b2nd")
	must(t, "verify x.b2d")
	before := must(t, "ls -r x.b2d")
	must(t, "cp --dry-run b.b2nd x.b2d:/dry/run")
	require.NoDirExists(t, "x.b2d/dry")
	must(t, "convert -q --exclude-unsupported x.b2z x.b2e")
	require.Contains(t, must(t, "dump x.b2e:/objects"), `{"k":[1.5,null]}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"b.b2nd", "x.b2d:/g/b"}, "exists already: object /g/b"},
		{[]string{"b.b2nd", "x.b2z:/new"}, "adding /new to an existing b2z"},
		{[]string{"b.b2nd", "x.b2e:/new"}, "adding /new to an existing b2e"},
		{[]string{"b.b2nd", "x.b2d:/table/c"}, "adding /table/c to the table /table"},
		{[]string{"b.b2nd", "x.b2d:/small/c"}, "below /small, which is an array"},
		{[]string{"-f", "b.b2nd", "x.b2d:/g"}, "/g is a group"},
		{[]string{"b.b2nd", "x.b2d:/g/__vlmeta__"}, `"__vlmeta__", which has a meaning in a store`},
		{[]string{"b.b2nd", "x.b2d"}, "a path inside the store is missing, for example x.b2d:/b"},
		{[]string{"x.b2z:/g", "g"}, "is a group"},
		{[]string{"x.b2z:/table/n", "n.b2nd"}, "is a column of a table"},
		{[]string{"x.b2z:/small", "small.h5"}, "has another format"},
		{[]string{"x.b2z:/none", "none.b2nd"}, "no object /none"},
	} {
		_, stderr, code := run(append([]string{"cp"}, c.args...)...)
		require.NotZero(t, code, c.args)
		require.Contains(t, stderr, c.want)
	}
	require.Equal(t, before, must(t, "ls -r x.b2d"))
	must(t, "convert -q --format frame h.h5:/b f.b2frame --codec lz4 --chunks 1,3")
	must(t, "diff --values-only b.b2nd f.b2frame")
	require.Contains(t, must(t, "info f.b2frame"), "lz4")
	for _, flag := range []string{"--sparse", "--blocks=1,1"} {
		_, stderr, code := run("convert", "--format", "frame", "b.b2nd", "g.b2frame", flag)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "a plain frame is one file")
	}
	_, stderr, code := run("convert", "x.b2z", "y.b2e")
	require.NotZero(t, code)
	require.Contains(t, stderr, "an EmbedStore has no attributes of groups")
	require.NoFileExists(t, "y.b2e")
	_, stderr, _ = run("convert", "h.h5:/b", "new.b2d:/b")
	require.Contains(t, stderr, "a new container is written from a tree")
	_, stderr, _ = run("convert", "h.h5:/b", "new.b2z")
	require.Contains(t, stderr, "a store holds many arrays")
}
