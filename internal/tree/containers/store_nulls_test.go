package containers_test

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestStores_invalidTable adds an array to containers with a corrupt table. The table hides no
// other object.
func TestStores_invalidTable(t *testing.T) {
	golden, err := os.ReadFile(testenv.Module(t, "testdata/store.b2z"))
	require.NoError(t, err)
	attacks, err := storeattack.All(golden)
	require.NoError(t, err)
	tested := 0
	for _, x := range attacks {
		if !strings.HasPrefix(x.Name, "table: schema") && x.Name != "table: two columns of a name" {
			continue
		}
		tested++
		t.Run(x.Name, func(t *testing.T) {
			dir := t.TempDir()
			array := filepath.Join(dir, "other.b2nd")
			draft, err := hyperslab.Create(bg, array, ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int16]()}, nil)
			require.NoError(t, err)
			require.NoError(t, ndarray.Write(bg, draft.Array, []int16{7, 8}, ndarray.Whole([]int64{2})))
			require.NoError(t, draft.Commit(bg))
			frame, err := os.ReadFile(array)
			require.NoError(t, err)
			file := filepath.Join(dir, "x.b2z")
			require.NoError(t, os.WriteFile(file, withMember(t, x.Files[""], "other.b2nd", frame), 0o644))
			for _, u := range []*hyperslab.Untrusted{nil, {InProcess: true}} {
				a, err := hyperslab.Open(bg, file+":/other", &hyperslab.OpenOptions{Untrusted: u})
				require.NoError(t, err)
				got, err := ndarray.ReadAll[int16](bg, a)
				require.NoError(t, err)
				require.Equal(t, []int16{7, 8}, got)
				require.NoError(t, a.Close())
				_, err = hyperslab.Open(bg, file+":/t/c", &hyperslab.OpenOptions{Untrusted: u})
				require.ErrorIs(t, err, x.Want)
			}
			tree, err := hyperslab.OpenTree(bg, file, nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, tree.Close()) }()
			failed := map[string]bool{}
			for e, err := range tree.Walk(bg, nil) {
				require.NoError(t, err)
				failed[e.Path] = e.Err != nil
			}
			require.Equal(t, map[string]bool{"/": false, "/g": false, "/objects": false, "/other": false, "/small": false, "/t": true}, failed)
			report, err := hyperslab.Verify(bg, file, nil)
			require.NoError(t, err)
			require.NotZero(t, report.NumFindings+report.NumUnchecked)
		})
	}
	require.Equal(t, 3, tested)
}

// withMember returns a ZIP file with one more member.
func withMember(t *testing.T, file []byte, name string, content []byte) []byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range r.File {
		from, err := f.Open()
		require.NoError(t, err)
		to, err := w.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		require.NoError(t, err)
		_, err = io.Copy(to, from)
		require.NoError(t, err)
		require.NoError(t, from.Close())
	}
	to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	require.NoError(t, err)
	_, err = to.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}
