// Progress of a long job, on standard error: a bar on a terminal, plain lines or
// JSON lines when asked for, nothing at all while the job is short.

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
)

// Values of --progress.
const (
	progressAuto  = "auto"
	progressNone  = "none"
	progressPlain = "plain"
	progressJSON  = "json"
	progressBar   = "bar" // what auto means on a terminal; not a value of the flag
)

const (
	progressDelay    = 500 * time.Millisecond // a job done by then shows nothing
	progressInterval = time.Second            // between two lines
)

// meter shows how far one job is. Its methods may be called concurrently.
type meter struct {
	mode  string
	w     io.Writer
	label string
	now   func() time.Time
	start time.Time
	made  func() int64 // bytes of the target so far, nil if the job makes none
	ratio atomic.Int64 // of what is done to what is made, in thousandths; 0: unknown. The bar reads it while mu is held

	mu    sync.Mutex
	unit  string // what is counted, "" for bytes of array data
	done  int64
	total int64
	last  time.Time // when the last line was written; zero: none yet
	asked time.Time // when the target was measured
	bars  *mpb.Progress
	bar   *mpb.Bar
}

// newMeter starts the clock. Mode auto is a bar if w is a terminal, else nothing.
func newMeter(mode string, w io.Writer, label string, total int64, now func() time.Time) *meter {
	if mode == progressAuto {
		mode = progressNone
		if isTerminal(w) {
			mode = progressBar
		}
	}
	return &meter{mode: mode, w: w, label: label, now: now, start: now(), total: total}
}

// making tells that the job makes targets: what they have so far gives a ratio.
func (m *meter) making() *meter {
	m.made = func() (total int64) {
		for _, file := range atomicfile.Unfinished() {
			n, _ := pathBytes(file) // a file that is just being made or moved has none
			total += n
		}
		return total
	}
	return m
}

// measure brings the ratio up to date, at most once in an interval: a target can be
// many files.
func (m *meter) measure() {
	now := m.now()
	if m.made == nil || m.done == 0 || now.Sub(m.asked) < progressInterval {
		return
	}
	m.asked = now
	if made := m.made(); made > 0 {
		m.ratio.Store(int64(math.Round(float64(m.done) / float64(made) * 1000)))
	}
}

// update tells that done bytes of array data are through.
func (m *meter) update(done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done = max(m.done, done)
	if m.mode == progressNone || m.elapsed() < progressDelay {
		return
	}
	m.measure()
	if m.mode == progressBar {
		if m.bar == nil {
			m.startBar()
		}
		m.bar.SetCurrent(m.done)
		return
	}
	if now := m.now(); now.Sub(m.last) >= progressInterval {
		m.last = now
		m.line()
	}
}

// units tells that done of total are through, of a job that is not counted in bytes.
func (m *meter) units(done, total int64, unit string) {
	m.mu.Lock()
	if m.total != total || m.unit != unit { // the bar reads them
		m.total, m.unit = total, unit
	}
	m.mu.Unlock()
	m.update(done)
}

// finish takes the bar away, or writes the last line if there were lines.
func (m *meter) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.bar != nil:
		m.bar.Abort(true)
		m.bars.Wait()
	case !m.last.IsZero():
		m.line()
	}
}

// startBar makes the bar; it is drawn at once and redrawn by a goroutine of mpb.
func (m *meter) startBar() {
	options := []mpb.ContainerOption{mpb.WithOutput(m.w)}
	if terminalWidth(m.w) == 0 { // mpb would fit the bar into no columns and no lines
		options = []mpb.ContainerOption{mpb.WithOutput(struct{ io.Writer }{m.w}), mpb.WithAutoRefresh(), mpb.WithWidth(80)}
	}
	m.bars = mpb.New(options...)
	bar := mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░")
	m.bar = m.bars.New(max(m.total, 1), bar,
		mpb.BarRemoveOnComplete(),
		mpb.BarWidth(30),
		mpb.PrependDecorators(decor.Name(m.label+" "), decor.Percentage()),
		mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
			return " " + progressText(s.Current, m.total, m.ratio.Load(), m.elapsed(), m.unit)
		})),
	)
}

func (m *meter) elapsed() time.Duration { return m.now().Sub(m.start) }

// line writes one line; an error is not worth ending the job for.
func (m *meter) line() {
	elapsed := m.elapsed()
	if m.mode == progressPlain {
		fmt.Fprintf(m.w, "%s: %.0f%%  %s\n", m.label, 100*share(m.done, m.total), progressText(m.done, m.total, m.ratio.Load(), elapsed, m.unit))
		return
	}
	doc := progressDoc{Schema: schemaProgress, Seconds: jsonFloat(math.Round(elapsed.Seconds()*1000) / 1000)}
	done, total := jsonInt(m.done), jsonInt(m.total)
	if m.unit == "" {
		speed := jsonFloat(rate(m.done, elapsed))
		doc.DoneBytes, doc.TotalBytes, doc.MBPerS = &done, &total, &speed
		if r := jsonFloat(m.ratio.Load()) / 1000; r > 0 {
			doc.Ratio = &r
		}
	} else {
		doc.Unit, doc.DoneUnits, doc.TotalUnits = m.unit, &done, &total
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

// progressText is "1.2 GiB / 2.6 GiB  3.97x  310 MB/s  5s left", or "12 / 40 chunks  5s left".
func progressText(done, total int64, thousandths int64, elapsed time.Duration, unit string) string {
	text := fmt.Sprintf("%s / %s", iecBytes(done), iecBytes(total))
	if thousandths > 0 {
		text += fmt.Sprintf("  %.2fx", float64(thousandths)/1000)
	}
	text += "  " + rateText(done, elapsed)
	if unit != "" {
		text = fmt.Sprintf("%d / %d %s", done, total, unit)
	}
	if done > 0 && done < total {
		left := time.Duration(float64(elapsed) * (1/share(done, total) - 1))
		text += fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	return text
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
