package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCp_store copies arrays between files and containers of python-blosc2.
func TestCp_store(t *testing.T) {
	containers(t)
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
	require.Contains(t, must(t, "dump x.b2e:/objects"), `{"k":[1.5,null]}`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"b.b2nd", "x.b2d:/g/b"}, "already exists: object /g/b"},
		{[]string{"b.b2nd", "x.b2z:/new"}, "adding /new to an existing b2z"},
		{[]string{"b.b2nd", "x.b2e:/new"}, "adding /new to an existing b2e"},
		{[]string{"b.b2nd", "x.b2d:/table/c"}, "adding /table/c to the table /table"},
		{[]string{"b.b2nd", "x.b2d:/small/c"}, "below /small, which is an array"},
		{[]string{"-f", "b.b2nd", "x.b2d:/g"}, "/g is a group"},
		{[]string{"b.b2nd", "x.b2d:/g/__vlmeta__"}, `"__vlmeta__", which has a meaning in a store`},
		{[]string{"b.b2nd", "x.b2d"}, "a path inside the store is missing, for example x.b2d:/b"},
		{[]string{"x.b2z:/g", "g"}, "is a group"},
		{[]string{"x.b2z:/g", "h.h5:/g"}, "is a group"},
		{[]string{"x.b2z:/g", "x.b2d:/g"}, "already exists: group /g"},
		{[]string{"-f", "x.b2z:/g", "x.b2d:/small"}, "/small is an array"},
		{[]string{"x.b2z:/g", "x.b2d:/table/g"}, "to the table /table"},
		{[]string{"x.b2z:/g", "x.b2z:/small/g"}, "below /small, which is an array"},
		{[]string{"x.b2z:/g", "new.b2e:/g"}, "an EmbedStore has no attributes of groups"},
		{[]string{"x.b2z:/objects", "new.b2d:/o"}, "cannot be the first object"},
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
	_, stderr, _ = run("convert", "h.h5:/b", "new.b2z:/b")
	require.Contains(t, stderr, "is written from a tree")
	must(t, "convert -q h.h5:/b new.b2d:/g/b")
	must(t, "diff --values-only b.b2nd new.b2d:/g/b")
	must(t, "cp b.b2nd first.b2d:/b")
	must(t, "diff b.b2nd first.b2d:/b")
	must(t, "verify new.b2d first.b2d")
	_, stderr, _ = run("convert", "h.h5:/b", "new.b2z")
	require.Contains(t, stderr, "a store holds many arrays")
}

// TestCp_group copies groups between containers of all kinds, new and existing ones.
func TestCp_group(t *testing.T) {
	containers(t)
	must(t, "convert -q x.b2z:/g g.h5")
	for _, source := range []string{"x.b2z", "x.b2d", "x.b2e"} {
		for _, kind := range []string{"b2z", "b2d", "b2e"} {
			for name, old := range map[string]string{"new": "", "existing": "x." + kind} {
				target, flags := source[2:]+"-"+name+"."+kind, ""
				if old != "" {
					must(t, "cp "+old+" "+target)
				}
				if kind == "b2e" && source != "x.b2e" {
					flags = " --exclude-unsupported" // attributes of the group
				}
				before := ""
				if old != "" {
					before = must(t, "dump "+target+":/small") + must(t, "dump "+target+":/objects") + must(t, "dump "+target+":/table/n")
				}
				must(t, "cp"+flags+" "+source+":/g "+target+":/new/g")
				if flags == "" {
					must(t, "diff "+source+":/g "+target+":/new/g")
				} else {
					must(t, "diff "+source+":/g/b "+target+":/new/g/b")
				}
				must(t, "verify "+target)
				if old != "" {
					require.Equal(t, before, must(t, "dump "+target+":/small")+must(t, "dump "+target+":/objects")+must(t, "dump "+target+":/table/n"))
					_, stderr, code := run("cp", source+":/g", target+":/new/g")
					require.NotZero(t, code)
					require.Contains(t, stderr, "already exists: group /new/g")
					must(t, "cp -f"+flags+" "+source+":/g "+target+":/new/g")
					must(t, "diff "+old+":/g "+target+":/g")
				}
			}
		}
	}
	must(t, "cp x.b2z:/table x.b2d:/again")
	must(t, "diff x.b2z:/table x.b2d:/again")
	must(t, "cp g.h5 x.b2d:/hdf5") // a whole file
	must(t, "diff --values-only g.h5:/b x.b2d:/hdf5/b")
	must(t, "cp x.b2z x.b2z:/inside")
	must(t, "diff x.b2z:/g x.b2z:/inside/g")
	before := must(t, "ls -r x.b2z")
	must(t, "cp --dry-run x.b2z:/g x.b2z:/dry")
	require.Equal(t, before, must(t, "ls -r x.b2z"))
}

// TestRepack_store rewrites containers with other compression, and byte for byte.
func TestRepack_store(t *testing.T) {
	containers(t)
	for _, kind := range []string{"b2z", "b2d", "b2e"} {
		source, target := "x."+kind, "y."+kind
		must(t, "repack -q "+source+" same."+kind)
		if kind != "b2d" {
			x, err := os.ReadFile(source)
			require.NoError(t, err)
			y, err := os.ReadFile("same." + kind)
			require.NoError(t, err)
			require.Equal(t, x, y)
		}
		must(t, "repack --dry-run --codec lz4 "+source+" "+target)
		require.NoFileExists(t, target)
		must(t, "repack -q --codec lz4 --level 3 "+source+" "+target)
		must(t, "diff --values-only "+source+" "+target)
		must(t, "verify "+target)
		require.Contains(t, must(t, "info "+target+":/g/b"), "lz4")
		must(t, "repack -q --replace --codec zlib "+target)
		require.Contains(t, must(t, "info "+target+":/g/b"), "zlib")
		must(t, "diff --values-only "+source+" "+target)
		require.Equal(t, must(t, "dump "+source+":/objects"), must(t, "dump "+target+":/objects"))
		_, stderr, code := run("repack", source, target)
		require.Equal(t, 4, code)
		require.Contains(t, stderr, "exists")
		_, stderr, code = run("repack", source, "z.h5", "--codec", "lz4")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "hyperslab convert changes formats")
		_, stderr, code = run("repack", source, "z."+kind, "--codec", "lz4", "--untrusted")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "passes Python objects as text")
		require.NoFileExists(t, "z."+kind)
		must(t, "repack -q "+source+" z."+kind+" --checksum")
		require.Contains(t, must(t, "info z."+kind+":/g/b"), "crc32c")
		must(t, "diff --values-only "+source+" z."+kind)
	}
}

// containers changes to a new directory with the same container as x.b2z, x.b2d and x.b2e.
func containers(t *testing.T) {
	t.Helper()
	golden, err := filepath.Abs("../../../../testdata/store.b2z")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	must(t, "cp "+golden+" x.b2z")
	must(t, "convert -q x.b2z x.b2d")
	must(t, "convert -q --exclude-unsupported x.b2z x.b2e")
}
