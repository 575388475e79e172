package term

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// clock is a clock that only advances when advance is called.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }
func newClock() *clock                   { return &clock{time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }
func meterAt(c *clock, mode string) (*Meter, *strings.Builder) {
	var out strings.Builder
	return NewMeter(mode, &out, "convert", 40<<20, c.now), &out
}

func TestMeter_plain(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, ProgressPlain)
	m.Update(1 << 20)
	require.Empty(t, out.String(), "a short job shows nothing")
	c.advance(ProgressDelay)
	m.Update(10 << 20)
	c.advance(progressInterval / 2)
	m.Update(15 << 20) // too early for a second line
	c.advance(progressInterval / 2)
	m.Update(20 << 20)
	m.Update(18 << 20) // a late update from a slower worker
	c.advance(500 * time.Millisecond)
	m.Update(40 << 20)
	m.Finish()
	require.Equal(t, `convert: 25%  10.0 MiB / 40.0 MiB  21 MB/s  2s left
convert: 50%  20.0 MiB / 40.0 MiB  14 MB/s  2s left
convert: 100%  40.0 MiB / 40.0 MiB  21 MB/s
`, out.String())
}

func TestMeter_json(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, ProgressJSON)
	c.advance(2 * time.Second)
	m.Update(10 << 20)
	c.advance(2 * time.Second)
	m.Finish()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, []string{
		`{"schema":"hyperslab.progress/1","t":2,"done_bytes":10485760,"total_bytes":41943040,"mb_per_s":5.24}`,
		`{"schema":"hyperslab.progress/1","t":4,"done_bytes":10485760,"total_bytes":41943040,"mb_per_s":2.62}`,
	}, lines)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)))
	}
}

// TestMeter_SetTarget checks that the ratio is the number of bytes done divided by the size of the
// target, which is measured at most once a second.
func TestMeter_SetTarget(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, ProgressPlain)
	measured := 0
	m.made = func() int64 { measured++; return 4 << 20 }
	c.advance(progressInterval)
	m.Update(10 << 20)
	m.Update(11 << 20)
	require.Equal(t, 1, measured)
	c.advance(progressInterval)
	m.Update(20 << 20)
	require.Equal(t, 2, measured)
	require.Equal(t, `convert: 25%  10.0 MiB / 40.0 MiB  2.50x  10 MB/s  3s left
convert: 50%  20.0 MiB / 40.0 MiB  5.00x  10 MB/s  2s left
`, out.String())
	m, out = meterAt(c, ProgressJSON)
	m.made = func() int64 { return 4 << 20 }
	c.advance(progressInterval)
	m.Update(10 << 20)
	require.Contains(t, out.String(), `"mb_per_s":10.49,"ratio":2.5}`)
}

func TestMeter_silent(t *testing.T) {
	for _, mode := range []string{ProgressNone, ProgressAuto} { // auto: the output is not a terminal
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(time.Minute)
		m.Update(1)
		m.Finish()
		require.Empty(t, out.String(), mode)
	}
	for _, mode := range []string{ProgressPlain, ProgressJSON, progressBar} { // the job finishes before the first report
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(ProgressDelay / 2)
		m.Update(40 << 20)
		m.Finish()
		require.Empty(t, out.String(), mode)
	}
}

func TestMeter_empty(t *testing.T) {
	require.Equal(t, 1.0, Share(0, 0))
	require.Equal(t, 0.0, Rate(1<<20, 0))
	require.Equal(t, "0 B / 0 B  0 MB/s", (&progressState{elapsed: time.Second}).text())
	require.Equal(t, "1 / 4 chunks  3s left", (&progressState{done: 1, total: 4, elapsed: time.Second, unit: "chunks"}).text())
}

// TestMeter_UpdateDecoded checks that the rate and the ratio are also reported if the unit of
// progress is not bytes.
func TestMeter_UpdateDecoded(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, ProgressPlain)
	c.advance(progressInterval)
	m.UpdateDecoded(10, 40, "chunks", 20<<20, 5<<20)
	require.Equal(t, "convert: 25%  10 / 40 chunks  4.00x  21 MB/s  3s left\n", out.String())
	m, out = meterAt(c, ProgressJSON)
	c.advance(progressInterval)
	m.UpdateDecoded(10, 40, "chunks", 20<<20, 5<<20)
	require.Equal(t, `{"schema":"hyperslab.progress/1","t":1,"mb_per_s":20.97,"ratio":4,"unit":"chunks","done_units":10,"total_units":40}`+"\n", out.String())
}

// TestMeter_SetSources checks that the progress of a reading job has the compression ratio of the
// whole array. The stored size must not be computed before the first report.
func TestMeter_SetSources(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "a.b2nd")
	draft, err := hyperslab.Create(ctx, file, ndarray.Spec{Shape: []int64{1 << 16}, DType: ndarray.DTypeOf[int64]()}, nil)
	require.NoError(t, err)
	values := make([]int64, 1<<16)
	for i := range values {
		values[i] = int64(i)
	}
	require.NoError(t, ndarray.Write(ctx, draft.Array, values, ndarray.Whole([]int64{1 << 16})))
	require.NoError(t, draft.Commit(ctx))
	arr, err := hyperslab.Open(ctx, file, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, arr.Close()) }()
	s, err := arr.Storage(ctx)
	require.NoError(t, err)
	c := newClock()
	m, out := meterAt(c, ProgressPlain)
	m.SetSources(ctx, arr)
	m.Update(1 << 20)
	require.NotNil(t, m.from, "nobody asks while there is nothing to show")
	c.advance(progressInterval)
	m.Update(2 << 20)
	require.Contains(t, out.String(), fmt.Sprintf("  %.2fx  ", float64(1<<19)/float64(s.StoredBytes)))
	require.Nil(t, m.from)
}

// TestMeter_Watch checks that Watch polls the progress of a job that does not report it,
// unless the mode is none.
func TestMeter_Watch(t *testing.T) {
	for _, mode := range []string{ProgressPlain, ProgressNone} {
		c := newClock()
		m, _ := meterAt(c, mode)
		measured := make(chan bool)
		var once sync.Once
		m.Watch(func() int64 { once.Do(func() { close(measured) }); return 7 << 20 })
		if mode == ProgressPlain {
			<-measured
		}
		m.Finish()
		m.Finish()
		if mode == ProgressPlain {
			require.Equal(t, int64(7<<20), m.state.done)
		}
	}
}

// TestMeter_barWidth checks that the bar fits the width of the terminal. The least important
// parts must be omitted first.
func TestMeter_barWidth(t *testing.T) {
	s := &progressState{done: 10 << 20, total: 40 << 20, ratio: 3.97, elapsed: time.Second}
	for _, tt := range []struct {
		width int
		want  string
	}{
		{200, "convert  25 % ████████░░░░░░░░░░░░░░░░░░░░░░  10.0 MiB / 40.0 MiB  3.97x  10 MB/s  3s left"},
		{79, "convert  25 % █████░░░░░░░░░░░░░░  10.0 MiB / 40.0 MiB  3.97x  10 MB/s  3s left"},
		{60, "convert  25 % █████░░░░░░░░░░░░░░░░  3.97x  10 MB/s  3s left"},
		{39, " 25 % ██░░░░░░  3.97x  10 MB/s  3s left"},
		{36, " 25 % █░░░░  3.97x  10 MB/s  3s left"},
		{35, " 25 %  3.97x  10 MB/s  3s left"},
		{24, " 25 %  10 MB/s  3s left"},
		{16, " 25 %  3s left"},
		{6, " 25 %"},
		{1, " 25 %"},
	} {
		got := s.bar("convert", tt.width)
		require.Equal(t, tt.want, got, tt.width)
		require.LessOrEqual(t, utf8.RuneCountInString(got), max(tt.width, 5))
	}
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Min(0).Draw(t, "total")
		s := progressState{
			total: total, done: rapid.Int64Range(0, total).Draw(t, "done"), bytes: rapid.Int64Min(0).Draw(t, "bytes"),
			unit: rapid.SampledFrom([]string{"", "chunks"}).Draw(t, "unit"), ratio: rapid.Float64Range(0, 1e6).Draw(t, "ratio"),
			elapsed: time.Duration(rapid.Int64Range(0, int64(100*time.Hour)).Draw(t, "elapsed")),
		}
		width := rapid.IntRange(8, 250).Draw(t, "width")
		require.LessOrEqual(t, utf8.RuneCountInString(s.bar(rapid.SampledFrom([]string{"", "crosscheck"}).Draw(t, "label"), width)), width)
	})
}
