// Tests of the verdicts of Recover: certain, unverified, and results that are not valid.

package recovery_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestRecover_certain checks that only chunks with a checksum and a confirmed offset are certain.
func TestRecover_certain(t *testing.T) {
	level := 1
	grows := h5.Dataspace{Kind: h5.Simple, Dims: []int64{40}, MaxDims: []int64{h5.Unlimited}}
	for _, tt := range []struct {
		name    string
		low     h5.LibVer
		space   h5.Dataspace
		o       h5.DatasetOptions
		written int64 // number of elements
		certain bool
	}{
		{"no checksum", h5.V110, grows, h5.DatasetOptions{}, 40, false},
		{"LZF", h5.V110, grows, h5.DatasetOptions{Filters: []h5.Filter{{ID: filter.IDLZF}}}, 40, false},
		{"Fletcher32", h5.V110, grows, h5.DatasetOptions{Fletcher32: true}, 40, true},
		{"Adler-32 of deflate", h5.V110, grows, h5.DatasetOptions{Deflate: &level}, 40, true},
		{"complete index without checksum", h5.Earliest, grows, h5.DatasetOptions{Fletcher32: true}, 40, true},
		{"sparse index without checksum", h5.Earliest, grows, h5.DatasetOptions{Fletcher32: true}, 20, false},
		{"contiguous", h5.V110, h5.SimpleSpace(40), h5.DatasetOptions{}, 40, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, corrupt := range []bool{false, true} {
				src := filepath.Join(t.TempDir(), "a.h5")
				f, err := h5.Create(src, &h5.CreateOptions{Low: tt.low, High: h5.LatestFormat})
				require.NoError(t, err)
				if tt.name != "contiguous" {
					tt.o.ChunkShape = []int64{10}
				}
				d, err := f.Root().CreateDataset("a", h5.Int(8, h5.LittleEndian), tt.space, &tt.o)
				require.NoError(t, err)
				require.NoError(t, h5value.Write(d, squares(int(tt.written)), h5.Region{Start: []int64{0}, Count: []int64{tt.written}}))
				require.NoError(t, d.Close())
				g, err := f.Root().CreateGroup("z")
				require.NoError(t, err)
				require.NoError(t, g.Close())
				require.NoError(t, f.Close())
				if corrupt { // corrupt another object, so that the file is rewritten chunk by chunk
					at := hdf5test.Object(t, src, "/z").Addr
					change(t, src, func(b []byte) []byte { clear(b[at : at+16]); return b })
				}
				_, r := recovered(t, src, nil)
				want := []int64{0, r.Chunks}
				if tt.certain {
					want = []int64{r.Chunks, 0}
				}
				require.Equal(t, want, []int64{r.Certain, r.Unverified}, "corrupt %v: %v", corrupt, r.Findings)
				exit := recovery.ExitWhole
				if corrupt {
					exit = recovery.ExitPartly
				}
				require.Equal(t, exit, r.ExitCode(), "corrupt %v: %v", corrupt, r.Findings)
			}
		})
	}
}

// TestRecover_invalidResult checks that an invalid new file is never returned as the result.
func TestRecover_invalidResult(t *testing.T) {
	damage := func(object string, times int) func(context.Context, string, *verify.Options) (*verify.Report, error) {
		return func(ctx context.Context, path string, o *verify.Options) (*verify.Report, error) {
			r, err := verify.File(ctx, path, o)
			if times--; err == nil && times >= 0 {
				r.NumDamages, r.Damages = 1, []verify.Finding{{Object: object, What: "object", Offset: -1, Chunk: -1, Err: errors.New("simulated")}}
			}
			return r, err
		}
	}
	t.Run("object left out", func(t *testing.T) {
		recovery.SetVerify(t, damage("/compact", 2)) // for the copy, and for the rewritten file
		src := saveHDF5(t, h5.V110)
		dst, r := recovered(t, src, nil)
		require.Equal(t, recovery.ExitPartly, r.ExitCode())
		require.EqualValues(t, 1, r.LostObjects)
		require.Equal(t, squares(600), values(t, dst+":/hard"))
		f, err := h5.Open(dst, h5.ReadOnly)
		require.NoError(t, err)
		_, err = f.Root().OpenDataset("compact")
		require.Error(t, err)
		require.NoError(t, f.Close())
	})
	for name, src := range map[string]string{"HDF5": saveHDF5(t, h5.V110), "frame": save(t, "a.b2nd", nil), "carray": save(t, "a.bcolz", nil)} {
		t.Run(name+" without result", func(t *testing.T) {
			recovery.SetVerify(t, damage("", 1<<30))
			dir := t.TempDir()
			_, err := recovery.Recover(bg, filepath.Join(dir, "new"), src, nil)
			require.ErrorIs(t, err, ndarray.ErrCorrupt)
			require.ErrorContains(t, err, "the new file is not valid")
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestRecover_computed checks that files whose values are computed from other files are rejected,
// because they contain no values.
func TestRecover_computed(t *testing.T) {
	for layer, content := range map[string]string{"b2o": "\x82\xa4kind\xa8lazyexpr\xa7version\x01", "proxy-source": "\x80"} {
		t.Run(layer, func(t *testing.T) {
			src := filepath.Join(t.TempDir(), "a.b2nd")
			a, err := cblosc.CreateArray(&cblosc.ArrayParams{
				Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2}, DType: "<f8",
				Meta:    []cblosc.Metalayer{{Name: layer, Content: []byte(content)}},
				Storage: cblosc.Storage{Path: src, CParams: cblosc.DefaultCParams()},
			})
			require.NoError(t, err)
			require.NoError(t, a.Close())
			_, err = recovery.Recover(bg, src+".new.b2nd", src, nil)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NoFileExists(t, src+".new.b2nd")
		})
	}
}
