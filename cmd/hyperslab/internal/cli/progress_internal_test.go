package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a time that only moves when told to.
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
	m.update(18 << 20) // late news of a slower worker
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

// The ratio is that of what is done to what there is of the target, which is measured
// once a second.
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

func TestProgressIsSilent(t *testing.T) {
	for _, mode := range []string{progressNone, progressAuto} { // auto: not a terminal
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(time.Minute)
		m.update(1)
		m.finish()
		require.Empty(t, out.String(), mode)
	}
	for _, mode := range []string{progressPlain, progressJSON, progressBar} { // done before it is worth it
		c := newClock()
		m, out := meterAt(c, mode)
		c.advance(progressDelay / 2)
		m.update(40 << 20)
		m.finish()
		require.Empty(t, out.String(), mode)
	}
}

func TestProgressOfNothing(t *testing.T) {
	require.Equal(t, 1.0, share(0, 0))
	require.Equal(t, 0.0, rate(1<<20, 0))
	require.Equal(t, "0 B / 0 B  0 MB/s", progressText(0, 0, 0, time.Second, ""))
	require.Equal(t, "1 / 4 chunks  3s left", progressText(1, 4, 0, time.Second, "chunks"))
}
