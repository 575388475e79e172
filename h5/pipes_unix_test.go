//go:build unix

package h5_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestStorage_pipes checks that a file opened with OpenReaderAt does not block if the name of
// another file is a named pipe.
func TestStorage_pipes(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := h5.Open(pipe, h5.ReadOnly) // without a check it waits for a writer
	require.ErrorIs(t, err, h5.ErrNotHDF5)
	f, err := h5.Create(filepath.Join(dir, "a.h5"), &h5.CreateOptions{Low: h5.V110, High: h5.LatestFormat})
	require.NoError(t, err)
	r := f.Root()
	four, whole := h5.SimpleSpace(4), region([]int64{0}, []int64{4})
	d, err := r.CreateDataset("external", i4, four, &h5.DatasetOptions{External: []h5.ExternalFile{{Name: pipe, Size: 16}}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	d, err = r.CreateDataset("virtual", i4, four, &h5.DatasetOptions{Mappings: []h5.Mapping{{Region: whole, File: pipe, Dataset: "d", Source: four, SourceRegion: whole}}})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, r.LinkExternal("link", pipe, "/d"))
	require.NoError(t, f.Close())

	b, err := os.ReadFile(filepath.Join(dir, "a.h5"))
	require.NoError(t, err)
	f, err = h5.OpenReaderAt(bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	defer f.Close()
	for _, name := range []string{"external", "virtual", "link"} {
		d, err := f.Root().OpenDataset(name)
		if err == nil {
			_, err = h5value.ReadAll[int32](d)
			require.NoError(t, d.Close())
		}
		var o *h5.OutsideError
		require.ErrorAs(t, err, &o, name)
		require.Equal(t, "pipe", filepath.Base(o.File))
	}
}
