package crosscheck

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeWritten_judges checks that each of the three judges of a written file finds errors that
// the others do not find. It changes one byte of a file with several datasets.
func TestJudgeWritten_judges(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	for _, c := range m.Cases {
		if c.ID != "hdf5/file/more/shared-all" {
			continue
		}
		spec, data, err := newSpec(dir, c)
		require.NoError(t, err)
		whole, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.Path)))
		require.NoError(t, err)
		out := filepath.Join(t.TempDir(), "out.h5")
		judge := func(b []byte) (res Result) {
			require.NoError(t, os.WriteFile(out, b, 0o644))
			judgeWritten(t.Context(), &res, spec, data, out)
			return res
		}
		require.Equal(t, Pass, judge(whole).Verdict)
		for name, x := range map[string]struct {
			before string // the byte after this string is changed
			at     int
			detail string
		}{
			"superblock":                 {"\x89HDF", 10, "hdf5: superblock"},
			"free-space manager":         {"FSHD", 8, "the readers in plain Go: "}, // libhdf5 does not read it
			"compressed chunk elsewhere": {"\x78\x9c", 6, "verify: "},              // in another dataset
		} {
			at := bytes.Index(whole, []byte(x.before))
			require.Positive(t, at+1, name)
			whole[at+x.at] ^= 0x55
			res := judge(whole)
			whole[at+x.at] ^= 0x55
			require.Equal(t, Unreadable, res.Verdict, "%s: %s", name, res.Detail)
			require.Contains(t, res.Detail, x.detail, name)
		}
		return
	}
	t.Fatal("the vector is missing")
}
