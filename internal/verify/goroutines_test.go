// Test of concurrent verifications of the same file, which must have equal results.

package verify_test

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/verify"
)

func TestManyGoroutines(t *testing.T) {
	verified := func(path string, damages int64) {
		errs := make([]error, 64)
		reports := make([]*verify.Report, len(errs))
		var all sync.WaitGroup
		for g := range errs {
			all.Go(func() { reports[g], errs[g] = verify.File(bg, path, nil) })
		}
		all.Wait()
		alone, err := verify.File(bg, path, nil)
		require.NoError(t, err)
		require.Equal(t, damages, alone.NumDamages, path)
		require.Positive(t, alone.Chunks, path)
		for g, err := range errs {
			require.NoError(t, err, path)
			require.Equal(t, alone, reports[g], path)
		}
	}
	for _, a := range arrays {
		verified(save(t, a.location, a.opts), 0)
	}
	path := save(t, "a.b2nd", nil)
	change(t, path, chunkPlaceOfFrame(t, path).Offset, func(b []byte) {
		binary.LittleEndian.PutUint32(b[4:], binary.LittleEndian.Uint32(b[4:])+8)
	})
	verified(path, 1)
}
