package verify

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// meeting is a unit whose tasks wait for each other: no task ends before a number of tasks has
// started.
type meeting struct {
	n, guests int64
	bytes     int64 // of a task
	mu        sync.Mutex
	begun     map[int64]int
	all       chan struct{}
}

func (m *meeting) tasks() int64          { return m.n }
func (m *meeting) need() int64           { return m.bytes }
func (m *meeting) place(i int64) Finding { return Finding{Chunk: i, Offset: -1} }
func (m *meeting) close() error          { return nil }

func (m *meeting) check(ctx context.Context, i int64, s *scratch) (result, error) {
	m.mu.Lock()
	if m.begun[i]++; int64(len(m.begun)) == m.guests {
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return result{decoded: 10, stored: 1, checksums: 1}, nil
	case <-ctx.Done():
		return result{}, ctx.Err()
	}
}

// TestParallel checks that each chunk is decoded once, by as many concurrent goroutines as allowed.
// With fewer goroutines the test would never end.
func TestParallel(t *testing.T) {
	m := &meeting{n: 50, guests: 8, begun: map[int64]int{}, all: make(chan struct{})}
	j := &job{opts: Options{Workers: 8}}
	j.append(m)
	require.NoError(t, j.run(t.Context(), 0, j.total, nil))
	require.Len(t, m.begun, 50)
	for i, n := range m.begun {
		require.Equal(t, 1, n, i)
	}
	require.Equal(t, []int64{50, 500, 50, 50, 0}, []int64{j.report.Chunks, j.report.DecodedBytes, j.report.StoredBytes, j.report.Checksums, j.report.NumDamages})
}

// TestJob_workers checks that chunks of all goroutines fit into the memory of reads.
func TestJob_workers(t *testing.T) {
	previous := budget.SetLimit(100)
	defer budget.SetLimit(previous)
	for bytes, want := range map[int64]int{0: 8, 10: 8, 13: 7, 50: 2, 51: 1, 1000: 1} {
		j := &job{opts: Options{Workers: 8}}
		j.append(&meeting{n: 1, bytes: 1})
		j.append(&meeting{n: 1, bytes: bytes})
		require.Equal(t, want, j.workers(), "%d bytes", bytes)
	}
}
