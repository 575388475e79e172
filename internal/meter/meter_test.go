package meter_test

import (
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/meter"
)

func TestSum(t *testing.T) {
	require.EqualValues(t, 128, unsafe.Sizeof(meter.Shard{}), "two lines of the cache")
	before := meter.Sum()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			s := meter.Next()
			s.Reads.Add(1)
			s.BytesRead.Add(3)
			s.Writes.Add(2)
			s.BytesWritten.Add(5)
			s.Chunks.Add(7)
		})
	}
	all.Wait()
	now := meter.Sum()
	require.Equal(t, [5]int64{100, 200, 300, 500, 700}, [5]int64{
		now.Reads - before.Reads, now.Writes - before.Writes, now.BytesRead - before.BytesRead,
		now.BytesWritten - before.BytesWritten, now.Chunks - before.Chunks,
	})
}

func TestWaits_Begin(t *testing.T) {
	var w meter.Waits
	end := w.Begin(t.Context())
	time.Sleep(time.Millisecond)
	require.EqualValues(t, 1, w.Count.Load())
	require.Zero(t, w.Nanos.Load())
	end()
	require.GreaterOrEqual(t, w.Nanos.Load(), int64(time.Millisecond))
}
