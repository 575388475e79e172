// Progress of a long job, on standard error: a bar on a terminal, plain lines or
// JSON lines when asked for, nothing at all while the job is short.

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Values of --progress.
const (
	progressAuto  = "auto"
	progressNone  = "none"
	progressPlain = "plain"
	progressJSON  = "json"
	progressBar   = "bar" // what auto means on a terminal; not a value of the flag
)

const progressInterval = time.Second // between two lines

// progressDelay is how long a job takes that shows nothing. Only tests change it.
var progressDelay = 500 * time.Millisecond

// meter shows how far one job is. Its methods may be called concurrently.
type meter struct {
	mode  string
	w     io.Writer
	label string
	now   func() time.Time
	start time.Time
	made  func() int64                  // bytes of the target so far, nil if the job makes none
	from  func() (bytes, stored int64)  // of what the job reads now, nil if nobody knows; asked once
	at    atomic.Pointer[progressState] // what the bar draws, while mu is held by whoever takes it away

	mu    sync.Mutex
	state progressState
	read  [2]int64  // elements and stored bytes of all that from has told
	last  time.Time // when the last line was written; zero: none yet
	asked time.Time // when the target was measured
	bars  *mpb.Progress
	bar   *mpb.Bar
	quit  chan struct{} // ends watch
	ended chan struct{} // by now it has
}

// newMeter starts the clock. Mode auto is a bar if w is a terminal, else nothing.
func newMeter(mode string, w io.Writer, label string, total int64, now func() time.Time) *meter {
	if mode == progressAuto {
		mode = progressNone
		if isTerminal(w) {
			mode = progressBar
		}
	}
	return &meter{mode: mode, w: w, label: label, now: now, start: now(), state: progressState{total: total}}
}

// making tells that the job writes target: the bytes that it has so far, less those it had before,
// give a ratio.
func (m *meter) making(target string, before int64) *meter {
	m.made = func() int64 {
		n := unfinishedBytes()
		if n == 0 { // target is complete
			n, _ = pathBytes(target)
		}
		return max(n-before, 0)
	}
	return m
}

// unfinishedBytes are what all targets in the making have so far.
func unfinishedBytes() (total int64) {
	for _, file := range atomicfile.Unfinished() {
		n, _ := pathBytes(file) // a file that is just being made or moved has none
		total += n
	}
	return total
}

// reading tells what the job reads from now on: the ratio is that of the elements to what
// they are stored in. It is found out when there is something to show, once.
func (m *meter) reading(ctx context.Context, arrays ...*ndarray.Array) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from = func() (bytes, stored int64) {
		for _, arr := range arrays {
			s, err := arr.Storage(ctx)
			if err != nil || s.StoredBytes == 0 {
				return 0, 0 // there is no such number
			}
			bytes, stored = bytes+arr.NBytes(), stored+s.StoredBytes
		}
		return bytes, stored
	}
	return m
}

// watch looks now and then how far a job is that does not tell: done is asked on a
// goroutine of its own until finish, and once more then.
func (m *meter) watch(done func() int64) *meter {
	if m.mode == progressNone {
		return m
	}
	m.quit, m.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(m.ended)
		tick := time.NewTicker(progressInterval / 5)
		defer tick.Stop()
		for {
			select {
			case <-m.quit:
				m.update(done())
				return
			case <-tick.C:
				m.update(done())
			}
		}
	}()
	return m
}

// measure brings the ratio up to date, at most once in an interval: a target can be
// many files.
func (m *meter) measure() {
	var bytes, stored int64
	switch now := m.now(); {
	case m.from != nil:
		bytes, stored = m.from()
		m.from = nil
		bytes, stored = bytes+m.read[0], stored+m.read[1]
		m.read = [2]int64{bytes, stored}
	case m.made != nil && m.state.done > 0 && now.Sub(m.asked) >= progressInterval:
		m.asked = now
		bytes, stored = m.state.done, m.made()
	}
	if stored > 0 {
		m.state.ratio = float64(bytes) / float64(stored)
	}
}

// update tells that done bytes of array data are through.
func (m *meter) update(done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.done = max(m.state.done, done)
	m.show()
}

// units tells that done of total are through, of a job that is not counted in bytes.
func (m *meter) units(done, total int64, unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.done, m.state.total, m.state.unit = max(m.state.done, done), total, unit
	m.show()
}

// decoding is units of a job that knows the bytes of those that are through as well: as
// they are stored, and decoded.
func (m *meter) decoding(done, total int64, unit string, bytes, stored int64) {
	m.mu.Lock()
	m.state.bytes = max(m.state.bytes, bytes)
	if stored > 0 {
		m.state.ratio = float64(bytes) / float64(stored)
	}
	m.mu.Unlock()
	m.units(done, total, unit)
}

// of tells how many bytes are through, of a job that finds out on its way how many there
// are.
func (m *meter) of(done, total int64) { m.units(done, total, "") }

// show draws what there is to tell, if it is time.
func (m *meter) show() {
	m.state.elapsed = m.now().Sub(m.start)
	if m.mode == progressNone || m.state.elapsed < progressDelay {
		return
	}
	m.measure()
	if m.mode == progressBar {
		s := m.state
		m.at.Store(&s)
		if m.bar == nil {
			m.startBar()
		}
		return
	}
	if now := m.now(); now.Sub(m.last) >= progressInterval {
		m.last = now
		m.line()
	}
}

// finish takes the bar away, or writes the last line if there were lines. A second call
// does nothing.
func (m *meter) finish() {
	if m.quit != nil {
		close(m.quit)
		<-m.ended
		m.quit = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.bar != nil:
		m.bar.Abort(true)
		m.bars.Wait()
		m.bar = nil
	case !m.last.IsZero():
		m.state.elapsed = m.now().Sub(m.start)
		m.asked = time.Time{} // the size of the complete target
		m.measure()
		m.line()
	}
	m.mode, m.last = progressNone, time.Time{}
}

// startBar makes the bar; it is drawn at once and redrawn by a goroutine of mpb.
func (m *meter) startBar() {
	options := []mpb.ContainerOption{mpb.WithOutput(m.w)}
	if terminalWidth(m.w) == 0 { // mpb would fit the bar into no columns and no lines
		options = []mpb.ContainerOption{mpb.WithOutput(struct{ io.Writer }{m.w}), mpb.WithAutoRefresh(), mpb.WithWidth(80)}
	}
	m.bars = mpb.New(options...)
	draw := mpb.BarFillerFunc(func(w io.Writer, at decor.Statistics) error {
		s := *m.at.Load()
		s.elapsed = m.now().Sub(m.start)
		_, err := io.WriteString(w, s.bar(m.label, at.AvailableWidth-1)) // the last column would break the line on some
		return err
	})
	m.bar = m.bars.MustAdd(math.MaxInt64, draw, mpb.BarRemoveOnComplete(), mpb.BarFillerTrim()) // when it is done finish says
}

// line writes one line; an error is not worth ending the job for.
func (m *meter) line() {
	s := &m.state
	if m.mode == progressPlain {
		fmt.Fprintf(m.w, "%s: %.0f%%  %s\n", m.label, 100*share(s.done, s.total), s.text())
		return
	}
	doc := progressDoc{Schema: schemaProgress, Seconds: jsonFloat(math.Round(s.elapsed.Seconds()*1000) / 1000)}
	done, total, speed := jsonInt(s.done), jsonInt(s.total), jsonFloat(rate(s.data(), s.elapsed))
	if s.unit == "" {
		doc.DoneBytes, doc.TotalBytes = &done, &total
	} else {
		doc.Unit, doc.DoneUnits, doc.TotalUnits = s.unit, &done, &total
	}
	if s.unit == "" || s.bytes > 0 {
		doc.MBPerS = &speed
	}
	if r := jsonFloat(math.Round(s.ratio*1000) / 1000); r > 0 {
		doc.Ratio = &r
	}
	b, err := json.Marshal(doc)
	if err == nil {
		fmt.Fprintf(m.w, "%s\n", b)
	}
}

// progressDoc is one line of --progress json. What is not counted is left out.
type progressDoc struct {
	Schema     string     `json:"schema"`
	Seconds    jsonFloat  `json:"t"`
	DoneBytes  *jsonInt   `json:"done_bytes,omitempty"`
	TotalBytes *jsonInt   `json:"total_bytes,omitempty"`
	MBPerS     *jsonFloat `json:"mb_per_s,omitempty"`
	Ratio      *jsonFloat `json:"ratio,omitempty"`
	Unit       string     `json:"unit,omitempty"`
	DoneUnits  *jsonInt   `json:"done_units,omitempty"`
	TotalUnits *jsonInt   `json:"total_units,omitempty"`
}

// progressState is how far a job is.
type progressState struct {
	unit    string // what is counted, "" for bytes of array data
	done    int64
	total   int64
	bytes   int64   // of array data, where something else is counted
	ratio   float64 // of the elements to what is stored; 0: unknown
	elapsed time.Duration
}

// data are the bytes of array data that are through.
func (s *progressState) data() int64 {
	if s.unit == "" {
		return s.done
	}
	return s.bytes
}

// parts are what there is to tell beside a bar, in this order; "" where there is nothing.
func (s *progressState) parts() (amount, ratio, speed, left string) {
	amount = fmt.Sprintf("%s / %s", iecBytes(s.done), iecBytes(s.total))
	if s.unit != "" {
		amount = fmt.Sprintf("%d / %d %s", s.done, s.total, s.unit)
	}
	if s.ratio > 0 {
		ratio = fmt.Sprintf("%.2fx", s.ratio)
	}
	if s.unit == "" || s.bytes > 0 {
		speed = rateText(s.data(), s.elapsed)
	}
	if s.done > 0 && s.done < s.total {
		t := time.Duration(min(float64(s.elapsed)*(1/share(s.done, s.total)-1), float64(time.Hour)*1e5))
		left = fmt.Sprintf("%s left", t.Round(time.Second))
	}
	return amount, ratio, speed, left
}

// text is "1.2 GiB / 2.6 GiB  3.97x  310 MB/s  5s left", or "12 / 40 chunks  5s left".
func (s *progressState) text() string {
	amount, ratio, speed, left := s.parts()
	return strings.Join(slices.DeleteFunc([]string{amount, ratio, speed, left}, func(part string) bool { return part == "" }), "  ")
}

// Columns of the bar itself: as many as there is room for.
const (
	mostBar  = 30
	leastBar = 5
)

// bar is a line of at most width columns: label, share, bar and the rest. Where there is
// no room for all of it, what matters least goes first: how much that is, the label, the
// bar, the ratio, the rate, the time left.
func (s *progressState) bar(label string, width int) string {
	amount, ratio, speed, left := s.parts()
	percent := fmt.Sprintf("%3.0f %%", 100*share(s.done, s.total))
	blocks := true
	optional := []func(){func() { amount = "" }, func() { label = "" }, func() { blocks = false }, func() { ratio = "" }, func() { speed = "" }, func() { left = "" }}
	for {
		head := strings.TrimPrefix(label+" ", " ") + percent
		tail := ""
		for _, part := range []string{amount, ratio, speed, left} {
			if part != "" {
				tail += "  " + part
			}
		}
		room := min(width-len(head)-len(tail)-1, mostBar)
		switch {
		case blocks && room >= leastBar:
			full := int(math.Round(share(s.done, s.total) * float64(room)))
			return head + " " + strings.Repeat("█", full) + strings.Repeat("░", room-full) + tail
		case !blocks && room >= -1 || len(optional) == 0:
			return head + tail
		}
		optional[0]()
		optional = optional[1:]
	}
}

func share(done, total int64) float64 {
	if total <= 0 {
		return 1
	}
	return float64(done) / float64(total)
}

// rate is in MB/s, 10^6 bytes of array data a second; 0 if no time has passed.
func rate(n int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return math.Round(float64(n)/elapsed.Seconds()/1e4) / 100
}

func rateText(n int64, elapsed time.Duration) string {
	switch r := rate(n, elapsed); {
	case r >= 10:
		return fmt.Sprintf("%.0f MB/s", r)
	case r >= 1:
		return fmt.Sprintf("%.1f MB/s", r)
	default:
		return fmt.Sprintf("%.2g MB/s", r)
	}
}
