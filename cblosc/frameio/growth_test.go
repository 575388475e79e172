package frameio_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/testkit/testutil"
)

// TestAppend_growth appends chunks of 1 KiB durably, one by one, to a frame of many such chunks.
// Each append leaves an index as dead bytes. Append must remove them before they exceed the live
// bytes, so that the file never takes more than twice the data.
func TestAppend_growth(t *testing.T) {
	const size = 1 << 10
	chunks, appends := 4_000, 1_000
	if testenv.All() {
		chunks, appends = 100_000, 1_000
	}
	path := filepath.Join(testenv.Scratch(t), "frame")
	w, err := frameio.Create(path, &frameio.Params{ChunkSize: size})
	require.NoError(t, err)
	for i := range chunks {
		_, err = w.Write(testutil.Noise(size, uint64(i)))
		require.NoError(t, err)
	}
	require.NoError(t, w.Commit())
	require.NoError(t, w.Close())
	before := testutil.FileSize(t, path)

	largest, shrunk := before, 0
	last := before
	for i := range appends {
		w, err := frameio.Append(path, &frameio.AppendOptions{Durable: true})
		require.NoError(t, err)
		_, err = w.Write(testutil.Noise(size, uint64(chunks+i)))
		require.NoError(t, err)
		require.NoError(t, w.Commit())
		require.NoError(t, w.Close())
		now := testutil.FileSize(t, path)
		if now < last {
			shrunk++
		}
		last, largest = now, max(largest, now)
	}
	data := int64(chunks+appends) * size
	t.Logf("%d bytes before, at most %d while appending, %d after; %d bytes of data; compacted %d times", before, largest, last, data, shrunk)
	require.LessOrEqual(t, largest, 2*data+data/10) // headers of chunks and one index
	require.Positive(t, shrunk)

	f, err := frameio.Open(path, nil)
	require.NoError(t, err)
	defer f.Close()
	require.EqualValues(t, chunks+appends, f.NumChunks())
	buf := make([]byte, size)
	for i := range chunks + appends {
		_, err := f.Decompress(buf, int64(i))
		require.NoError(t, err)
		require.Equal(t, testutil.Noise(size, uint64(i)), buf)
	}
}
