package h5repack_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestMain(m *testing.M) { leak.Main(m) }

const etopo = "../../../testdata/etopo120.h5"

func TestRun(t *testing.T) {
	ctx := t.Context()
	chunked := func(path string, m ndarray.Meta, spec *ndarray.Spec) error {
		if path != "/ROSE" {
			return errors.ErrUnsupported
		}
		spec.ChunkShape = []int64{7, 11}
		spec.Compression = &ndarray.Compression{Codec: "zstd", Level: 3}
		return nil
	}
	for name, tt := range map[string]struct {
		o    *hyperslab.RepackOptions
		rose []int64 // chunks
	}{
		"as stored": {nil, []int64{90, 180}},
		"adjusted":  {&hyperslab.RepackOptions{Adjust: chunked}, []int64{7, 11}},
		"cloud":     {&hyperslab.RepackOptions{Cloud: true}, []int64{90, 180}},
		"cloud, with chunks": {&hyperslab.RepackOptions{Cloud: true, Access: []int64{1, 0}, Adjust: chunked, Workers: 3, Memory: 1 << 20},
			[]int64{7, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			dst := filepath.Join(t.TempDir(), "new.h5")
			require.NoError(t, hyperslab.Repack(ctx, dst, etopo, tt.o))
			a, err := hyperslab.Open(ctx, dst+":/ROSE", nil)
			require.NoError(t, err)
			require.Equal(t, tt.rose, a.Meta().ChunkShape)
			require.NoError(t, a.Close())
			before, err := hyperslab.OpenTree(ctx, etopo, nil)
			require.NoError(t, err)
			after, err := hyperslab.OpenTree(ctx, dst, nil)
			require.NoError(t, err)
			report, err := hyperslab.Compare(ctx, before, after, nil)
			require.NoError(t, err)
			require.Equal(t, 4, report.Compared, "the group and three arrays")
			require.Empty(t, report.Differences)
			require.NoError(t, errors.Join(before.Close(), after.Close()))
		})
	}
}

func TestRun_errors(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	file := filepath.Join(dir, "a.h5")
	b, err := os.ReadFile(etopo)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b, 0o600))
	failed := errors.New("no")
	for name, tt := range map[string]struct {
		dst, src string
		o        *hyperslab.RepackOptions
		want     error
	}{
		"same file":      {file, file, &hyperslab.RepackOptions{Overwrite: true}, ndarray.ErrParam},
		"existing file":  {file, etopo, nil, ndarray.ErrExists},
		"missing source": {filepath.Join(dir, "b.h5"), filepath.Join(dir, "none.h5"), nil, ndarray.ErrNotFound},
		"Adjust fails": {filepath.Join(dir, "b.h5"), file, &hyperslab.RepackOptions{
			Adjust: func(string, ndarray.Meta, *ndarray.Spec) error { return failed },
		}, failed},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, hyperslab.Repack(ctx, tt.dst, tt.src, tt.o), tt.want)
			list, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, list, 1, "no other file is left")
		})
	}
	t.Run("lost properties", func(t *testing.T) {
		source, dst := filepath.Join(t.TempDir(), "a.h5"), filepath.Join(t.TempDir(), "b.h5")
		external := filepath.Join(t.TempDir(), "values")
		require.NoError(t, os.WriteFile(external, make([]byte, 32), 0o600))
		d, err := hyperslab.Create(ctx, source+":/x", ndarray.Spec{Shape: []int64{8}, DType: ndarray.DTypeOf[float32]()},
			&hyperslab.CreateOptions{External: []h5.ExternalFile{{Name: external, Size: 32}}})
		require.NoError(t, err)
		require.NoError(t, errors.Join(d.Commit(ctx), d.Close(), os.Remove(external)))
		var problems []hyperslab.Problem
		o := &hyperslab.RepackOptions{Accept: func(p hyperslab.Problem) bool { problems = append(problems, p); return false }}
		require.ErrorContains(t, hyperslab.Repack(ctx, dst, source, o), external)
		require.Len(t, problems, 1)
		require.Equal(t, "/x", problems[0].Path)
		require.NoFileExists(t, dst)
		o.AllowMissing = true
		o.Accept = func(hyperslab.Problem) bool { return true }
		require.NoError(t, hyperslab.Repack(ctx, dst, source, o))
	})
}
