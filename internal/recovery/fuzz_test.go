// Fuzz tests: any bytes as a corrupt file.

package recovery_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// requireSalvaged recovers the file at a path. The result must be an error of package ndarray
// without a new file, or a valid file.
func requireSalvaged(t *testing.T, src string, f hyperslab.Format) {
	t.Helper()
	dir := t.TempDir()
	dst := filepath.Join(dir, "new"+filepath.Ext(src))
	r, err := recovery.Recover(bg, dst, src, &recovery.Options{Format: string(f), MaxChunk: 1 << 20})
	if err != nil {
		var e *ndarray.Error
		require.ErrorAs(t, err, &e)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
		return
	}
	require.GreaterOrEqual(t, r.NumFindings, int64(len(r.Findings)))
	require.Equal(t, r.Chunks, r.Certain+r.Unverified+r.Guessed)
	v, err := verify.File(bg, dst, nil)
	require.NoError(t, err)
	require.Empty(t, v.Damages) // an unknown filter remains unknown
}

// addDamaged adds, for each offset, a file with 16 bytes cleared at this offset.
func addDamaged(f *testing.F, whole []byte, places ...int64) {
	for _, at := range places {
		b := append([]byte{}, whole...)
		clear(b[at:][:16])
		f.Add(b)
	}
}

// FuzzRecoverFrame fuzzes contiguous frames.
func FuzzRecoverFrame(f *testing.F) {
	recovery.SetMaxChunks(f, 1<<12)
	whole, err := os.ReadFile(save(f, "a.b2nd", nil))
	require.NoError(f, err)
	p := partsOf(f, whole)
	f.Add(whole)
	f.Add(whole[p.header:])
	f.Add(whole[:p.index])
	addDamaged(f, whole, 0, p.header, p.index)
	f.Fuzz(func(t *testing.T, b []byte) {
		src := filepath.Join(t.TempDir(), "a.b2nd")
		require.NoError(t, os.WriteFile(src, b, 0o600))
		requireSalvaged(t, src, hyperslab.B2ND)
	})
}

// FuzzRecoverSparse fuzzes the index and a chunk file of a sparse frame.
func FuzzRecoverSparse(f *testing.F) {
	recovery.SetMaxChunks(f, 1<<12)
	dir := save(f, "a.b2nd", &hyperslab.CreateOptions{Sparse: true})
	names := []string{"chunks.b2frame", "00000000.chunk"}
	var whole [2][]byte
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(f, err)
		whole[i] = b
	}
	f.Add(whole[0], whole[1])
	f.Add(whole[0][:40], whole[1])
	f.Add([]byte{}, whole[1])
	f.Fuzz(func(t *testing.T, index, chunk []byte) {
		for i, b := range [][]byte{index, chunk} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, names[i]), b, 0o600))
		}
		requireSalvaged(t, dir, hyperslab.B2ND)
	})
}

// FuzzRecoverHDF5 fuzzes HDF5 files, with objects that are found from the root group or by a
// search.
func FuzzRecoverHDF5(f *testing.F) {
	whole, err := os.ReadFile(save(f, "a.h5:/x", nil))
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	addDamaged(f, whole, 0, 48, 96)
	f.Fuzz(func(t *testing.T, b []byte) {
		src := filepath.Join(t.TempDir(), "a.h5")
		require.NoError(t, os.WriteFile(src, b, 0o600))
		requireSalvaged(t, src, hyperslab.HDF5)
	})
}

// FuzzRecoverTree fuzzes the files of a carray.
func FuzzRecoverTree(f *testing.F) {
	dir := save(f, "a.bcolz", nil)
	names := []string{"meta/sizes", "meta/storage", "__attrs__", "data/__0.blp"}
	var whole [4][]byte
	for i, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(f, err)
		}
		whole[i] = b
	}
	f.Add(whole[0], whole[1], whole[2], whole[3])
	f.Add([]byte{}, whole[1], whole[2], whole[3])
	f.Add(whole[0], []byte("{}"), []byte(`{"a": 1}`), whole[3][:20])
	f.Fuzz(func(t *testing.T, sizes, storage, attrs, data []byte) {
		for i, b := range [][]byte{sizes, storage, attrs, data} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, names[i]), b, 0o600))
		}
		requireSalvaged(t, dir, hyperslab.Bcolz)
	})
}
