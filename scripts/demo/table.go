// Output of the demo: the excluded attributes, the progress bar, the table, the verdict.

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// writeLeftOut lists the attributes that will be excluded, grouped by reason.
func writeLeftOut(w io.Writer, sets []dataset) {
	counts := make(map[string]int)
	var order []string
	for _, d := range sets {
		for _, u := range d.leftOut {
			key := fmt.Sprintf("%s (%s)", u.Name, u.Reason)
			if counts[key] == 0 {
				order = append(order, key)
			}
			counts[key]++
		}
	}
	if len(order) == 0 {
		return
	}
	slices.Sort(order)
	fmt.Fprintln(w, "Attributes that cannot be carried over and are excluded by name:")
	for _, key := range order {
		fmt.Fprintf(w, "  %4d × %s\n", counts[key], key)
	}
	fmt.Fprintln(w)
}

// writeTable writes a line for each dataset and one for the totals.
func writeTable(w io.Writer, rows []row) {
	const head = "dataset"
	total := fmt.Sprintf("%d datasets", len(rows))
	width := max(len(head), len(total))
	for _, r := range rows {
		width = max(width, len(r.label()))
	}
	// Numbers are aligned to the right. Names are padded here, so that they align to the left.
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%-*s\tshape\tdtype\tbytes\tstored\tratio\tMB/s\t\n", width, head)
	line := func(label, shape, dtype string, bytes, stored int64, seconds float64) {
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%d\t%d\t%s\t%s\t\n", width, label, shape, dtype, bytes, stored,
			quotient("%.2fx", float64(bytes), float64(stored)), quotient("%.1f", float64(bytes)/1e6, seconds))
	}
	var bytes, stored int64
	var seconds float64
	for _, r := range rows {
		line(r.label(), shapeText(r.shape), r.dtype, r.bytes, r.stored, r.seconds)
		bytes, stored, seconds = bytes+r.bytes, stored+r.stored, seconds+r.seconds
	}
	line(total, "", "", bytes, stored, seconds)
	t.Flush()
}

func quotient(format string, a, b float64) string {
	if b == 0 {
		return "-"
	}
	return fmt.Sprintf(format, a/b)
}

func shapeText(shape []int64) string {
	if len(shape) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "x")
}

// verdict prints the number of comparisons and returns all errors.
func verdict(w io.Writer, rows []row) error {
	var errs []error
	compared, crossChecked, unstored := 0, 0, 0
	for _, r := range rows {
		if r.unstored {
			unstored++
		}
		compared += r.compared
		crossChecked += r.crossChecked
		if r.err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.label(), r.err))
		}
	}
	fmt.Fprintf(w, "\n%d comparisons by hyperslab diff and %d by h5diff found no difference.\n", compared, crossChecked)
	if unstored > 0 {
		fmt.Fprintf(w, "%d datasets store no elements, because all are the fill value; h5diff compares only their attributes.\n", unstored)
	}
	if len(errs) > 0 {
		return fmt.Errorf("%d of %d datasets failed:\n%w", len(errs), len(rows), errors.Join(errs...))
	}
	return nil
}

// progress is a bar on a terminal, and invisible elsewhere.
type progress struct {
	bars  *mpb.Progress
	bar   *mpb.Bar // nil if the output is not a terminal
	label atomic.Pointer[string]
	begun int64
}

func newProgress(w io.Writer, total int) *progress {
	p := &progress{}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	p.label.Store(new(string))
	p.bars = mpb.New(mpb.WithOutput(w))
	p.bar = p.bars.New(int64(total), mpb.BarStyle().Lbound("").Rbound("").Filler("█").Tip("█").Padding("░"),
		mpb.BarWidth(30),
		mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
		mpb.AppendDecorators(
			decor.AverageETA(decor.ET_STYLE_GO),
			decor.Any(func(decor.Statistics) string { return " left  " + *p.label.Load() }),
		),
	)
	return p
}

// next marks the previous dataset as done and shows the label of the next one.
func (p *progress) next(label string) {
	if p.bar == nil {
		return
	}
	p.label.Store(&label)
	p.bar.SetCurrent(p.begun)
	p.begun++
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.bars.Wait()
	}
}
