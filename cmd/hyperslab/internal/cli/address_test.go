// Tests of addresses with unusual names of files and objects.

package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// TestAddress_unusualNames checks that FILE:/path[selection], FILE /path[selection] and all
// equivalent forms refer to the same elements, for any name of file and object. The selection is
// the last pair of brackets, unless the whole address is the name of a file.
func TestAddress_unusualNames(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("with:/colon", 0o777))
	values := []int32{10, 11, 12, 13, 14, 15}
	spec := ndarray.Spec{Shape: []int64{2, 3}}
	const want = "13\n15\n"
	same := func(args ...string) {
		t.Helper()
		for _, more := range [][]string{nil, {"--untrusted"}} {
			stdout, stderr, code := run(append(append([]string{"dump", "--csv", "--no-header"}, args...), more...)...)
			require.Zero(t, code, "%q: %s", args, stderr)
			require.Equal(t, want, stdout, "%q", args)
		}
	}
	for i, name := range []string{
		"plain", "a b", "ünï çödé 数", "a:b", "a[1]", "[0]", "a[", "a]b", "it's \"quoted\" $HOME", "star*?", "tab\tand\nline", "with:/colon/x", "C:", ".hidden", "-dash",
	} {
		arg := name
		if name[0] == '-' {
			arg = "./" + name
		}
		create(t, "plain.b2nd", spec, values)
		require.NoError(t, os.Rename("plain.b2nd", arg+".b2nd"))
		same(arg + ".b2nd[1, ::2]")
		require.NoError(t, os.Rename(arg+".b2nd", arg)) // without an extension the format follows from the content
		same(arg + "[1, ::2]")
		require.NoError(t, os.Remove(arg))
		for _, object := range []string{"x", "deep/er", "sp ace", "数", "a:b", "a[1]", "[0]", "it's", "x.b2nd", "-dash"} {
			if i > 0 && object != "x" && object != "a[1]" { // test each object once, and each file with two of them
				continue
			}
			file := arg + ".h5"
			create(t, "plain.h5:/"+object, spec, values)
			require.NoError(t, os.Rename("plain.h5", file))
			same(file + ":/" + object + "[1, ::2]")
			same(file, "/"+object+"[1, ::2]")
			if object[0] != '-' {
				same(file, object+"[1, ::2]")
			}
			require.NoError(t, os.Rename(file, arg))
			same(arg + ":/" + object + "[1, ::2]")
			require.NoError(t, os.Remove(arg))
		}
	}
}

// TestAddress_invalidSelections checks that the error for an invalid selection contains the
// position in the selection, or the axis and both lengths. If the path is invalid, the error must
// contain it, and a similar existing path if there is one.
func TestAddress_invalidSelections(t *testing.T) {
	t.Chdir(field(t))
	require.NoError(t, os.Mkdir("dir", 0o777))
	for address, said := range map[string]string{
		"waves.b2nd[20]":                   "waves.b2nd: out of range: axis 0: index 20, axis has 20",
		"waves.b2nd[0, -31]":               "waves.b2nd: out of range: axis 1: index -31, axis has 30",
		"waves.b2nd[0, 0, 0]":              "[0, 0, 0] has 3 indexes, array has 2 axes",
		"waves.b2nd[..., ...]":             "waves.b2nd: invalid parameter: [..., ...]: got 2 ellipses",
		"waves.b2nd[::0]":                  `selection "[::0]", before "::0": step 0`,
		"waves.b2nd[1.5]":                  `before "1.5": "1.5" is not a 64-bit integer`,
		"waves.b2nd[0,]]":                  "check the name of the file",
		"waves.b2nd[99999999999999999999]": "is not a 64-bit integer",
		"tree.h5:/time[8]":                 "tree.h5:/time: out of range: axis 0: index 8, axis has 8",
		"tree.h5:/nope[0]":                 "tree.h5:/nope",
		"tree.h5:/run1[0]":                 "tree.h5:/run1: it is a group, not a dataset",
		"tree.h5:time[0]":                  "did you mean 'tree.h5:/time'?",
		"tree.h5/time[0]":                  "did you mean 'tree.h5:/time'?",
		"tree.h5/run1/temperature":         "did you mean 'tree.h5:/run1/temperature'?",
		"tree.h5:run1/temperature":         "did you mean 'tree.h5:/run1/temperature'?",
		"waves.b2nd:/x[0]":                 "waves.b2nd alone names its array",
		filepath.Join("dir", "a.h5"):       "check the name of the file; an address is FILE or FILE:/path",
		"":                                 "no file name",
		":/x":                              "no file name",
	} {
		stdout, stderr, code := run("dump", address)
		require.Equal(t, 2, code, "%s: %s", address, stderr)
		require.Empty(t, stdout, address)
		require.Contains(t, stderr, said, address)
		require.Regexp(t, `\n  \S.*\n$`, stderr, "%s: what to do", address)
	}
}
