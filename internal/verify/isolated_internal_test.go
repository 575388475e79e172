// Tests of crashes of the worker. Each crash affects one task and is reported with its location.

package verify

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// mortal replaces the client of a worker. Some tasks kill its worker.
type mortal struct {
	total  int64
	deadly map[int64]error
	lie    bool
}

func (m *mortal) Ask(_ context.Context, q *request, _ int64, v any) error {
	a := answer{Total: m.total, Report: Report{Format: detect.HDF5}}
	if q.Place {
		a.At = Finding{Object: "/x", What: "chunk", Chunk: q.First, Offset: 8 * q.First}
	} else {
		for i := q.First; i < q.End; i++ {
			if err := m.deadly[i]; err != nil {
				return &worker.Error{Op: "call", Service: string(service), Err: err}
			}
			a.Report.Chunks++
		}
		a.Next = q.End
		if m.lie {
			a.Next++
		}
	}
	*v.(*answer) = a
	return nil
}

func TestIsolated_CrashPlaces(t *testing.T) {
	h := &host{client: &mortal{total: 3000, deadly: map[int64]error{5: worker.ErrCrashed, 7: worker.ErrTimeout, 2999: worker.ErrCrashed}}, o: Options{MaxDamages: 10}}
	require.NoError(t, h.all(t.Context()))
	require.Equal(t, int64(2997), h.r.Chunks)
	require.Equal(t, ExitCorrupt, h.r.ExitCode())
	require.Len(t, h.r.Damages, 2)
	require.Equal(t, []int64{5, 2999}, []int64{h.r.Damages[0].Chunk, h.r.Damages[1].Chunk})
	require.Equal(t, int64(40), h.r.Damages[0].Offset)
	require.ErrorIs(t, h.r.Damages[0].Err, worker.ErrCrashed)
	require.Len(t, h.r.Unchecked, 1)
	require.Equal(t, int64(7), h.r.Unchecked[0].Chunk)
	require.ErrorIs(t, h.r.Unchecked[0].Err, worker.ErrTimeout)
}

func TestTooManyCrashes(t *testing.T) {
	m := &mortal{total: 3000, deadly: map[int64]error{}}
	for i := range m.total {
		m.deadly[i] = worker.ErrCrashed
	}
	h := &host{client: m, o: Options{MaxDamages: 10}}
	require.NoError(t, h.all(t.Context()))
	require.Equal(t, int64(maxCrash+1), h.r.NumDamages)
	require.Len(t, h.r.Damages, 10)
	require.Len(t, h.r.Unchecked, 1)
}

func TestIsolated_FalseAnswers(t *testing.T) {
	h := &host{client: &mortal{total: 30, lie: true}, o: Options{MaxDamages: 10}}
	require.ErrorIs(t, h.all(t.Context()), worker.ErrProtocol)
}

// TestIsolated_progress checks that Progress is called after each batch of chunks, however long a
// chunk takes. A batch has as many chunks as there are goroutines.
func TestIsolated_progress(t *testing.T) {
	defer func(before time.Duration) { watched = before }(watched)
	watched = 0
	path := filepath.Join(t.TempDir(), "x.b2nd")
	b, err := b2nd.Create(path, ndarray.Spec{Shape: []int64{37}, ChunkShape: []int64{1}, DType: ndarray.DTypeOf[int32]()}, nil)
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(t.Context(), make([]byte, 4*37), ndarray.Whole([]int64{37}), 0))
	require.NoError(t, b.Close())
	for _, workers := range []int{1, 3} {
		var reported, want []int64
		r, err := File(t.Context(), path, &Options{Isolated: true, Workers: workers, Progress: func(p Progress) { reported = append(reported, p.Chunks) }})
		require.NoError(t, err)
		require.Equal(t, int64(37), r.Chunks)
		for n := workers; n < 37+workers; n += workers {
			want = append(want, int64(min(n, 37)))
		}
		require.Equal(t, want, reported)
	}
}

// TestIsolated_LongReport checks that findings that make a report too long are omitted and counted.
func TestIsolated_LongReport(t *testing.T) {
	r := Report{NumDamages: 1000}
	for range 1000 {
		r.Damages = append(r.Damages, Finding{Err: worker.ErrCrashed, Object: strings.Repeat("x", 30_000)})
	}
	a := short(answer{Report: r})
	require.Len(t, a.Report.Damages, 500)
	require.Equal(t, int64(1000), a.Report.NumDamages)
}
