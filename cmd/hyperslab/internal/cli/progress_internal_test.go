package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
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
func meterAt(c *clock, mode string) (*meter, *strings.Builder) {
	var out strings.Builder
	return newMeter(mode, &out, "convert", 40<<20, c.now), &out
}

func TestProgressPlain(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, progressPlain)
	m.update(1 << 20)
	require.Empty(t, out.String(), "a short job shows nothing")
	c.advance(progressDelay)
	m.update(10 << 20)
	c.advance(progressInterval / 2)
	m.update(15 << 20) // too early for a second line
	c.advance(progressInterval / 2)
	m.update(20 << 20)
	m.update(18 << 20) // a late update from a slower worker
	c.advance(500 * time.Millisecond)
	m.update(40 << 20)
	m.finish()
	require.Equal(t, `convert: 25%  10.0 MiB / 40.0 MiB  21 MB/s  2s left
convert: 50%  20.0 MiB / 40.0 MiB  14 MB/s  2s left
convert: 100%  40.0 MiB / 40.0 MiB  21 MB/s
`, out.String())
}

func TestProgressJSON(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, progressJSON)
	c.advance(2 * time.Second)
	m.update(10 << 20)
	c.advance(2 * time.Second)
	m.finish()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Equal(t, []string{
		`{"schema":"hyperslab.progress/1","t":2,"done_bytes":10485760,"total_bytes":41943040,"mb_per_s":5.24}`,
		`{"schema":"hyperslab.progress/1","t":4,"done_bytes":10485760,"total_bytes":41943040,"mb_per_s":2.62}`,
	}, lines)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)))
	}
}

// TestProgressRatio checks that the ratio is the number of bytes done divided by the size of the
// target, which is measured at most once a second.
func TestProgressRatio(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, progressPlain)
	asked := 0
	m.made = func() int64 { asked++; return 4 << 20 }
	c.advance(progressInterval)
	m.update(10 << 20)
	m.update(11 << 20)
	require.Equal(t, 1, asked)
	c.advance(progressInterval)
	m.update(20 << 20)
	require.Equal(t, 2, asked)
	require.Equal(t, `convert: 25%  10.0 MiB / 40.0 MiB  2.50x  10 MB/s  3s left
convert: 50%  20.0 MiB / 40.0 MiB  5.00x  10 MB/s  2s left
`, out.String())
	m, out = meterAt(c, progressJSON)
	m.made = func() int64 { return 4 << 20 }
	c.advance(progressInterval)
	m.update(10 << 20)
	require.Contains(t, out.String(), `"mb_per_s":10.49,"ratio":2.5}`)
}

func TestProgress_Silent(t *testing.T) {
	for _, mode := range []string{progressNone, progressAuto} { // auto: the output is not a terminal
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(time.Minute)
		m.update(1)
		m.finish()
		require.Empty(t, out.String(), mode)
	}
	for _, mode := range []string{progressPlain, progressJSON, progressBar} { // the job finishes before the first report
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(progressDelay / 2)
		m.update(40 << 20)
		m.finish()
		require.Empty(t, out.String(), mode)
	}
}

func TestProgress_Empty(t *testing.T) {
	require.Equal(t, 1.0, share(0, 0))
	require.Equal(t, 0.0, rate(1<<20, 0))
	require.Equal(t, "0 B / 0 B  0 MB/s", (&progressState{elapsed: time.Second}).text())
	require.Equal(t, "1 / 4 chunks  3s left", (&progressState{done: 1, total: 4, elapsed: time.Second, unit: "chunks"}).text())
}

// TestProgress_Decoding checks that the rate and the ratio are also reported if the unit of
// progress is not bytes.
func TestProgress_Decoding(t *testing.T) {
	c := newClock()
	m, out := meterAt(c, progressPlain)
	c.advance(progressInterval)
	m.decoding(10, 40, "chunks", 20<<20, 5<<20)
	require.Equal(t, "convert: 25%  10 / 40 chunks  4.00x  21 MB/s  3s left\n", out.String())
	m, out = meterAt(c, progressJSON)
	c.advance(progressInterval)
	m.decoding(10, 40, "chunks", 20<<20, 5<<20)
	require.Equal(t, `{"schema":"hyperslab.progress/1","t":1,"mb_per_s":20.97,"ratio":4,"unit":"chunks","done_units":10,"total_units":40}`+"\n", out.String())
}

// TestProgress_Reading checks that the progress of a reading job has the compression ratio of the
// whole array. The stored size must not be computed before the first report.
func TestProgress_Reading(t *testing.T) {
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
	m, out := meterAt(c, progressPlain)
	m.reading(ctx, arr)
	m.update(1 << 20)
	require.NotNil(t, m.from, "nobody asks while there is nothing to show")
	c.advance(progressInterval)
	m.update(2 << 20)
	require.Contains(t, out.String(), fmt.Sprintf("  %.2fx  ", float64(1<<19)/float64(s.StoredBytes)))
	require.Nil(t, m.from)
}

// TestProgress_Watching checks that watch polls the progress of a job that does not report it,
// unless the mode is none.
func TestProgress_Watching(t *testing.T) {
	for _, mode := range []string{progressPlain, progressNone} {
		c := newClock()
		m, _ := meterAt(c, mode)
		asked := make(chan bool)
		var once sync.Once
		m.watch(func() int64 { once.Do(func() { close(asked) }); return 7 << 20 })
		if mode == progressPlain {
			<-asked
		}
		m.finish()
		m.finish()
		if mode == progressPlain {
			require.Equal(t, int64(7<<20), m.state.done)
		}
	}
}

// TestProgress_BarWidth checks that the bar fits the width of the terminal. The least important
// parts must be omitted first.
func TestProgress_BarWidth(t *testing.T) {
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

// TestPathBytes checks that the size of a symbolic link is the size of its target.
func TestPathBytes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), make([]byte, 1000), 0o600))
	tree := filepath.Join(dir, "tree")
	require.NoError(t, os.Mkdir(tree, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(tree, "chunk"), make([]byte, 300), 0o600))
	for link, to := range map[string]string{"file": "data", "directory": "tree", "tree/inside": "../data"} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for name, want := range map[string]int64{"data": 1000, "file": 1000, "tree": 1300, "directory": 1300} {
		got, err := pathBytes(filepath.Join(dir, name))
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
}
