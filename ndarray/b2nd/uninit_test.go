package b2nd_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// TestWrite_uninitialised writes a part of a chunk of uninitialised values. The rest of the chunk
// must be zeros, as which it was read before, and not old memory of the process.
func TestWrite_uninitialised(t *testing.T) {
	for _, contiguous := range []bool{true, false} {
		for _, durable := range []bool{false, true} {
			for _, library := range []bool{false, true} {
				t.Run(fmt.Sprintf("contiguous %t, durable %t, library %t", contiguous, durable, library), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "a.b2nd")
					cp := cblosc.DefaultCParams()
					cp.TypeSize = 4
					a, err := cblosc.CreateArrayOf(&cblosc.ArrayParams{
						Shape: []int64{95, 70}, ChunkShape: []int32{50, 40}, Blocks: []int32{20, 10}, DType: "<i4",
						Storage: cblosc.Storage{Path: path, Contiguous: contiguous, CParams: cp},
					}, cblosc.Uninit, nil)
					require.NoError(t, err)
					require.NoError(t, a.Close())
					if durable && library {
						return
					}
					b, err := b2nd.Open(path, &b2nd.OpenOptions{Write: true, Durable: durable, Library: library})
					require.NoError(t, err)
					array, err := ndarray.New(b)
					require.NoError(t, err)
					want := make([]byte, 4*95*70)
					for _, r := range []ndarray.Region{{Start: []int64{3, 5}, Shape: []int64{2, 1}}, {Start: []int64{94, 60}, Shape: []int64{1, 9}}, {Start: []int64{50, 0}, Shape: []int64{45, 40}}} {
						src := bytes.Repeat([]byte{7, 0, 0, 0}, int(r.NumElems()))
						require.NoError(t, array.Write(bg, src, r))
						for row := range r.Shape[0] {
							copy(want[4*((r.Start[0]+row)*70+r.Start[1]):], src[:4*r.Shape[1]])
						}
						got := bytes.Repeat([]byte{0xAA}, len(want))
						require.NoError(t, array.Read(bg, got, ndarray.Whole(array.Shape())))
						require.Equal(t, want, got)
					}
					require.NoError(t, array.Close())
				})
			}
		}
	}
}
