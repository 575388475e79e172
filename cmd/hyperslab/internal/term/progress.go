// Progress of a long job on standard error: a bar on a terminal, plain lines or JSON lines with
// --progress, no output while the job is short.

package term

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

	"github.com/hyperslab/hyperslab/ndarray"
)

// Values of --progress.
const (
	ProgressAuto  = "auto"
	ProgressNone  = "none"
	ProgressPlain = "plain"
	ProgressJSON  = "json"
	progressBar   = "bar" // the meaning of auto on a terminal; not a value of the flag
)

// ProgressSchema identifies the documents of --progress json.
const ProgressSchema = "hyperslab.progress/1"

const progressInterval = time.Second // time between two lines

// ProgressDelay is the duration up to which a job shows no progress. Only tests change it.
var ProgressDelay = 500 * time.Millisecond

// Meter shows the progress of one job. Its methods may be called concurrently.
type Meter struct {
	mode  string
	w     io.Writer
	label string
	now   func() time.Time
	start time.Time
	made  func() int64                  // bytes of the target so far, nil if the job has no target
	from  func() (bytes, stored int64)  // size of the arrays that the job reads now, nil if unknown; called once
	at    atomic.Pointer[progressState] // state for the bar to draw, because mu is held while the bar is removed

	mu       sync.Mutex
	state    progressState
	read     [2]int64  // sum of all results of from
	last     time.Time // time of the last line; zero without lines
	measured time.Time // time of the last measurement of the target
	parts    Parts     // gets the progress instead of the user; nil: the user
	bars     *mpb.Progress
	bar      *mpb.Bar
	quit     chan struct{} // ends Watch
	ended    chan struct{} // closed when Watch has ended
}

// Parts is a writer of messages about a part of a job. A meter with such a writer is silent. It
// reports the progress of the part to the writer.
type Parts interface{ Part(done, total int64) }

// NewMeter starts the clock. Mode auto is a bar if w is a terminal, otherwise no output.
func NewMeter(mode string, w io.Writer, label string, total int64, now func() time.Time) *Meter {
	parts, _ := w.(Parts)
	if mode == ProgressAuto {
		mode = ProgressNone
		if IsTerminal(w) {
			mode = progressBar
		}
	}
	return &Meter{parts: parts, mode: mode, w: w, label: label, now: now, start: now(), state: progressState{total: total}}
}

// Shown reports whether the meter shows anything if the job is long.
func (m *Meter) Shown() bool { return m.mode != ProgressNone && m.parts == nil }

// SetTarget adds a ratio from the size of the target so far.
func (m *Meter) SetTarget(size func() int64) *Meter {
	m.made = size
	return m
}

// SetSources adds a ratio of the elements of the arrays that the job reads from now on to their
// stored bytes. It is computed once, when there is progress to show.
func (m *Meter) SetSources(ctx context.Context, arrays ...*ndarray.Array) *Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.from = func() (bytes, stored int64) {
		for _, arr := range arrays {
			s, err := arr.Storage(ctx)
			if err != nil || s.StoredBytes == 0 {
				return 0, 0 // there is no ratio
			}
			bytes, stored = bytes+arr.NBytes(), stored+s.StoredBytes
		}
		return bytes, stored
	}
	return m
}

// Watch updates the progress of a job that does not report it. A goroutine calls done periodically
// until Finish, and once more then.
func (m *Meter) Watch(done func() int64) *Meter {
	if m.mode == ProgressNone && m.parts == nil {
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
				m.Update(done())
				return
			case <-tick.C:
				m.Update(done())
			}
		}
	}()
	return m
}

// measure updates the ratio, at most once per interval, because a target can be many files.
func (m *Meter) measure() {
	var bytes, stored int64
	switch now := m.now(); {
	case m.from != nil:
		bytes, stored = m.from()
		m.from = nil
		bytes, stored = bytes+m.read[0], stored+m.read[1]
		m.read = [2]int64{bytes, stored}
	case m.made != nil && m.state.done > 0 && now.Sub(m.measured) >= progressInterval:
		m.measured = now
		bytes, stored = m.state.done, m.made()
	}
	if stored > 0 {
		m.state.ratio = float64(bytes) / float64(stored)
	}
}

// Update reports that done bytes of array data are processed.
func (m *Meter) Update(done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.done = max(m.state.done, done)
	m.show()
}

// UpdateUnits reports that done of total units are processed, for a job that is not counted in
// bytes.
func (m *Meter) UpdateUnits(done, total int64, unit string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.done, m.state.total, m.state.unit = max(m.state.done, done), total, unit
	m.show()
}

// UpdateDecoded is UpdateUnits for a job that also reports the bytes of processed units, as stored
// and as decoded.
func (m *Meter) UpdateDecoded(done, total int64, unit string, bytes, stored int64) {
	m.mu.Lock()
	m.state.bytes = max(m.state.bytes, bytes)
	if stored > 0 {
		m.state.ratio = float64(bytes) / float64(stored)
	}
	m.mu.Unlock()
	m.UpdateUnits(done, total, unit)
}

// UpdateFiles reports that done bytes and files of a number of files are processed.
func (m *Meter) UpdateFiles(done, files, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.done, m.state.files, m.state.totalFiles = max(m.state.done, done), files, total
	m.show()
}

// Above calls write, which writes lines to the terminal of the bar. The next update draws the bar
// again, below the lines.
func (m *Meter) Above(write func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removeBar()
	write()
}

// removeBar removes the bar.
func (m *Meter) removeBar() {
	if m.bar != nil {
		m.bar.Abort(true)
		m.bars.Wait()
		m.bar = nil
	}
}

// UpdateOf reports the processed bytes of a job whose total becomes known as it runs.
func (m *Meter) UpdateOf(done, total int64) { m.UpdateUnits(done, total, "") }

// show shows the state if it is time.
func (m *Meter) show() {
	if m.parts != nil {
		m.parts.Part(m.state.done, m.state.total)
		return
	}
	m.state.elapsed = m.now().Sub(m.start)
	if m.mode == ProgressNone || m.state.elapsed < ProgressDelay {
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

// Finish removes the bar, or writes the last line if there were lines. A second call has no effect.
func (m *Meter) Finish() {
	if m.quit != nil {
		close(m.quit)
		<-m.ended
		m.quit = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.bar != nil:
		m.removeBar()
	case !m.last.IsZero():
		m.state.elapsed = m.now().Sub(m.start)
		m.measured = time.Time{} // the size of the complete target
		m.measure()
		m.line()
	}
	m.mode, m.last = ProgressNone, time.Time{}
}

// startBar creates the bar. It is drawn at once and redrawn by a goroutine of mpb.
func (m *Meter) startBar() {
	options := []mpb.ContainerOption{mpb.WithOutput(m.w)}
	if Width(m.w) == 0 { // otherwise mpb would limit the bar to no columns and lines
		options = []mpb.ContainerOption{mpb.WithOutput(struct{ io.Writer }{m.w}), mpb.WithAutoRefresh(), mpb.WithWidth(80)}
	}
	m.bars = mpb.New(options...)
	draw := mpb.BarFillerFunc(func(w io.Writer, at decor.Statistics) error {
		s := *m.at.Load()
		s.elapsed = m.now().Sub(m.start)
		_, err := io.WriteString(w, s.bar(m.label, at.AvailableWidth-1)) // the last column would break the line on some terminals
		return err
	})
	m.bar = m.bars.MustAdd(math.MaxInt64, draw, mpb.BarRemoveOnComplete(), mpb.BarFillerTrim()) // Finish completes the bar
}

// line writes one line. It ignores errors, because they should not end the job.
func (m *Meter) line() {
	s := &m.state
	if m.mode == ProgressPlain {
		fmt.Fprintf(m.w, "%s: %.0f%%  %s\n", m.label, 100*Share(s.done, s.total), s.text())
		return
	}
	doc := ProgressDoc{Schema: ProgressSchema, Seconds: math.Round(s.elapsed.Seconds()*1000) / 1000}
	done, total, speed := s.done, s.total, Rate(s.data(), s.elapsed)
	if s.unit == "" {
		doc.DoneBytes, doc.TotalBytes = &done, &total
	} else {
		doc.Unit, doc.DoneUnits, doc.TotalUnits = s.unit, &done, &total
	}
	if s.unit == "" || s.bytes > 0 {
		doc.MBPerS = &speed
	}
	if files, all := s.files, s.totalFiles; all > 0 {
		doc.DoneFiles, doc.TotalFiles = &files, &all
	}
	if r := math.Round(s.ratio*1000) / 1000; r > 0 {
		doc.Ratio = &r
	}
	b, err := json.Marshal(doc)
	if err == nil {
		fmt.Fprintf(m.w, "%s\n", b)
	}
}

// ProgressDoc is one line of --progress json. Missing values are omitted.
type ProgressDoc struct {
	Schema     string   `json:"schema"`
	Seconds    float64  `json:"t"`
	DoneBytes  *int64   `json:"done_bytes,omitempty"`
	TotalBytes *int64   `json:"total_bytes,omitempty"`
	MBPerS     *float64 `json:"mb_per_s,omitempty"`
	Ratio      *float64 `json:"ratio,omitempty"`
	Unit       string   `json:"unit,omitempty"`
	DoneUnits  *int64   `json:"done_units,omitempty"`
	TotalUnits *int64   `json:"total_units,omitempty"`
	DoneFiles  *int64   `json:"done_files,omitempty"`
	TotalFiles *int64   `json:"total_files,omitempty"`
}

// progressState is the state of a job.
type progressState struct {
	unit    string // the unit of done and total, "" for bytes of array data
	done    int64
	total   int64
	bytes   int64   // bytes of array data, if another unit is counted
	ratio   float64 // ratio of the elements to the stored bytes; 0: unknown
	elapsed time.Duration

	files, totalFiles int64 // of a job of several files; 0: of one
}

// data returns the processed bytes of array data.
func (s *progressState) data() int64 {
	if s.unit == "" {
		return s.done
	}
	return s.bytes
}

// parts returns the text fragments after a bar, in this order. Unknown ones are "".
func (s *progressState) parts() (amount, ratio, speed, left string) {
	amount = fmt.Sprintf("%s / %s", FormatBytes(s.done), FormatBytes(s.total))
	if s.unit != "" {
		amount = fmt.Sprintf("%d / %d %s", s.done, s.total, s.unit)
	}
	if s.totalFiles > 0 {
		amount = fmt.Sprintf("%d / %d files  %s", s.files, s.totalFiles, amount)
	}
	if s.ratio > 0 {
		ratio = fmt.Sprintf("%.2fx", s.ratio)
	}
	if s.unit == "" || s.bytes > 0 {
		speed = FormatRate(s.data(), s.elapsed)
	}
	if s.done > 0 && s.done < s.total {
		t := time.Duration(min(float64(s.elapsed)*(1/Share(s.done, s.total)-1), float64(time.Hour)*1e5))
		left = fmt.Sprintf("%s left", t.Round(time.Second))
	}
	return amount, ratio, speed, left
}

// text returns, for example, "1.2 GiB / 2.6 GiB  3.97x  310 MB/s  5s left" or "12 / 40 chunks  5s
// left".
func (s *progressState) text() string {
	amount, ratio, speed, left := s.parts()
	return strings.Join(slices.DeleteFunc([]string{amount, ratio, speed, left}, func(part string) bool { return part == "" }), "  ")
}

// Maximum and minimum number of columns of the bar.
const (
	mostBar  = 30
	leastBar = 5
)

// bar returns a line of at most width columns: label, percentage, bar and the other parts. If they
// do not fit, parts are removed in this order: the amount, the label, the bar, the ratio, the rate,
// the time left.
func (s *progressState) bar(label string, width int) string {
	amount, ratio, speed, left := s.parts()
	percent := fmt.Sprintf("%3.0f %%", 100*Share(s.done, s.total))
	blocks := true
	optional := []func(){func() { amount = "" }, func() { label = "" }, func() { blocks = false }, func() { ratio = "" },
		func() { speed = "" }, func() { left = "" }}
	for {
		head := strings.TrimPrefix(label+" ", " ") + percent
		tail := ""
		for _, part := range []string{amount, ratio, speed, left} {
			if part != "" {
				tail += "  " + part
			}
		}
		space := min(width-len(head)-len(tail)-1, mostBar)
		switch {
		case blocks && space >= leastBar:
			full := int(math.Round(Share(s.done, s.total) * float64(space)))
			return head + " " + strings.Repeat("█", full) + strings.Repeat("░", space-full) + tail
		case !blocks && space >= -1 || len(optional) == 0:
			return head + tail
		}
		optional[0]()
		optional = optional[1:]
	}
}

func Share(done, total int64) float64 {
	if total <= 0 {
		return 1
	}
	return float64(done) / float64(total)
}

// Rate returns MB/s, that is 10^6 bytes of array data per second, or 0 if no time has passed.
func Rate(n int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return math.Round(float64(n)/elapsed.Seconds()/1e4) / 100
}

func FormatRate(n int64, elapsed time.Duration) string {
	switch r := Rate(n, elapsed); {
	case r >= 10:
		return fmt.Sprintf("%.0f MB/s", r)
	case r >= 1:
		return fmt.Sprintf("%.1f MB/s", r)
	default:
		return fmt.Sprintf("%.2g MB/s", r)
	}
}
