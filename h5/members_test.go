package h5_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
)

// firstMembers returns the first members of file sets in both formats.
func firstMembers(t testing.TB) map[string][]byte {
	t.Helper()
	members := map[string][]byte{}
	for name, low := range map[string]h5.LibVer{"old": h5.Earliest, "new": h5.LatestFormat} {
		for kind, d := range map[string]h5.Driver{"family": h5.Family{MemberSize: 4096}, "multi": h5.DefaultMulti()} {
			dir := t.TempDir()
			path, first := filepath.Join(dir, "x%d"), filepath.Join(dir, "x0")
			if kind == "multi" {
				path, first = filepath.Join(dir, "x"), filepath.Join(dir, "x-s.h5")
			}
			f, err := h5.Create(path, &h5.CreateOptions{Low: low, High: h5.LatestFormat, Access: withDriver(d)})
			require.NoError(t, err)
			require.NoError(t, f.Close())
			b, err := os.ReadFile(first)
			require.NoError(t, err)
			members[name+" "+kind] = b
		}
	}
	return members
}

func TestMembers_First(t *testing.T) {
	members := firstMembers(t)
	for name, want := range map[string]string{"old family": "NCSAfami", "new family": "NCSAfami", "old multi": "NCSAmult", "new multi": "NCSAmult"} {
		got, multi, ok := h5.FirstMember(members[name])
		require.Equal(t, want, got, name)
		require.Equal(t, name == "old multi", ok, name) // otherwise the names are in another member
		if ok {
			require.Equal(t, h5.DefaultMulti().Names, multi.Names)
		}
		for n := range len(members[name]) {
			_, _, _ = h5.FirstMember(members[name][:n]) // truncated at any length
		}
	}
}

// FuzzFirstMember checks that arbitrary bytes in a first member do not crash.
func FuzzFirstMember(f *testing.F) {
	for _, b := range firstMembers(f) {
		f.Add(b)
	}
	f.Add([]byte("\x89HDF\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, m, ok := h5.FirstMember(b)
		if !ok {
			return
		}
		for i, to := range m.Map {
			require.True(t, to >= h5.OwnMember && to <= h5.ObjectHeaders, "kind %d in member %d", i, to)
		}
	})
}
