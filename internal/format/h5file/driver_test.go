// Tests of files with several members, as the family and multi drivers write them. With each member
// at its address, they form one file.

package h5file_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// family returns the concatenated members of a family file.
func family(t testing.TB, pattern string) []byte {
	t.Helper()
	var all []byte
	for i := 0; ; i++ {
		b, err := os.ReadFile(fmt.Sprintf(pattern, i))
		if os.IsNotExist(err) {
			require.Positive(t, i)
			return all
		}
		require.NoError(t, err)
		all = append(all, b...)
	}
}

// names returns the paths of all objects.
func names(t testing.TB, f *h5file.File) []string {
	t.Helper()
	var all []string
	for e, err := range f.Walk() {
		require.NoError(t, err, e.Path)
		all = append(all, e.Path)
	}
	return all
}

// libraryNames returns the paths of all objects as libhdf5 reads them.
func libraryNames(t testing.TB, file string) []string {
	t.Helper()
	f, err := h5.Open(file, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	all := []string{"/"}
	for l, err := range f.Root().VisitLinks() {
		require.NoError(t, err)
		all = append(all, "/"+l.Path)
	}
	return all
}

func TestFamily(t *testing.T) {
	dir := testenv.Directory(t, testenv.HDF5Source)
	for _, x := range []struct {
		pattern string
		info    bool // the driver stored its information
	}{
		{"tools/test/h5dump/testfiles/tfamily%05d.h5", false},
		{"test/testfiles/family_v16-%06d.h5", false},
		{"tools/test/misc/testfiles/family_file%05d.h5", true},
	} {
		pattern := filepath.Join(dir, x.pattern)
		b, first := family(t, pattern), load(t, fmt.Sprintf(pattern, 0))
		f := mustOpen(t, b)
		require.NoError(t, f.Damage(), pattern)
		require.Equal(t, x.info, f.Driver() != nil, pattern)
		found := names(t, f)
		require.Greater(t, len(found), 1, pattern)
		require.Empty(t, complaint(describe(b)), pattern)
		require.ErrorIs(t, mustOpen(t, first).Check(everything()), format.ErrTruncated, "one member is not the file")
		if x.info {
			require.Subset(t, found, libraryNames(t, fmt.Sprintf(pattern, 0)))
			require.Equal(t, "NCSAfami", f.Driver().ID)
			require.EqualValues(t, len(first), f.Driver().MemberSize)
			require.ErrorIs(t, f.Check(everything()), format.ErrUnsupported, "the library would need the driver")
		}
	}
}

// TestMulti checks files of the multi driver. Their members start at addresses that an io.ReaderAt
// cannot reach. The driver information must be readable, and also the metadata if they are in the
// first member.
func TestMulti(t *testing.T) {
	dir := filepath.Join(testenv.Directory(t, testenv.HDF5Source), "tools/test/h5dump/testfiles")
	f := mustOpen(t, load(t, filepath.Join(dir, "tmulti-s.h5")))
	require.NoError(t, f.Damage())
	require.Equal(t, "NCSAmult", f.Driver().ID)
	require.Len(t, f.Driver().Members, 6)
	for i, suffix := range []string{"s", "b", "r", "g", "l", "o"} {
		m := f.Driver().Members[i]
		require.EqualValues(t, i+1, m.Usage)
		require.Equal(t, "%s-"+suffix+".h5", m.Name)
	}
	_, err := f.Root()
	require.ErrorIs(t, err, format.ErrTruncated, "the root group is in another member")
	require.ErrorIs(t, f.Check(everything()), format.ErrUnsupported)

	t.Run("superblock version 2", func(t *testing.T) {
		// The driver information is in the superblock extension, which is in another member.
		path := filepath.Join(t.TempDir(), "set")
		access := h5.DefaultFileAccess()
		access.Driver = h5.Multi{Relax: true}
		f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat, Access: &access})
		require.NoError(t, err)
		require.NoError(t, f.Close())
		first := mustOpen(t, load(t, path+"-s.h5"))
		require.NoError(t, first.Damage())
		require.Equal(t, "NCSAmult", first.Driver().ID)
		require.ErrorIs(t, first.Check(everything()), format.ErrUnsupported)
	})

	split := mustOpen(t, load(t, filepath.Join(dir, "tsplit_file-m.h5")))
	require.Len(t, split.Driver().Members, 2)
	require.Contains(t, names(t, split), "/dset1")
	for e := range split.Walk() {
		if e.Object.Kind() == h5file.DatasetKind {
			l := e.Object.Layout()
			_, err := split.Read(l.Addr, int64(l.Size))
			require.ErrorIs(t, err, format.ErrTruncated, "raw data are in the other member")
		}
	}
}

// complaint returns the first error in a description, or "".
func complaint(tree format.Field) string {
	for path, f := range tree.Complaints() {
		return path + ": " + f.Complaint
	}
	return ""
}
