// The report: the machine, the documented ratios, the rows below their bar with explanations, and
// the curves.

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// loadAverage returns the load average of the last minute.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
}

// fromProc returns the value of a line of a file such as /proc/cpuinfo.
func fromProc(path, key string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func (b *bench) report(w io.Writer, results []*result) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("# Results of `make bench`\n\nWritten by `make bench`; not edited by hand. %s.\n\n", time.Now().UTC().Format("2006-01-02 15:04 MST"))
	p("- machine: %s, %d cores in use, %s of memory; files on the disk of the working tree, read from the page cache\n",
		fromProc("/proc/cpuinfo", "model name"), b.all, fromProc("/proc/meminfo", "MemTotal"))
	hdf5, _ := h5.Version()
	p("- %s; C-Blosc2 %v, HDF5 %v, built by `make deps`; %s\n", runtime.Version(), cblosc.Version(), hdf5, b.pythonVersions())
	p("- real values: the field %s of %v, tiled to %d MiB, each tile turned and warmed a little; noise and one constant number: %d MiB\n",
		b.field.name, b.field.shape, b.size>>20, b.bytes(noise)>>20)
	p("- each program is a separate process; their runs alternate; times are medians of %d runs, or as many\n  as the table says. Ratios are the peer's time over ours by the\n"+
		"  medians; in brackets the middle half of the ratios run by run. \"cpu\" is the same ratio of processor time, which others on the machine\n"+
		"  disturb less: it shows how much less work is done, not how it is divided. Peak is the most memory that was resident, with the\n"+
		"  task's own buffers of values. Load is the machine's average before the row: above 0.5 others were at work.\n\n", b.runs)
	b.promises(p, results)
	b.below(p, results)
	b.allAtOnce(p, results)
	for _, group := range []string{byChunk, byNumber, byUsers} {
		curves(p, group, results)
	}
	partsReport(p, results)
}

func (b *bench) pythonVersions() string {
	if b.python == "" {
		return "the Python peers are not installed"
	}
	out, err := exec.Command(b.python, "scripts/bench/peers/peer.py", "versions").Output()
	if err != nil {
		return "the Python peers are not installed"
	}
	return string(bytes.TrimSpace(out))
}

func (b *bench) promises(p func(string, ...any), results []*result) {
	p("## What is promised\n\nA bar in cpu is for processor time. One in wall time needs as many idle cores as ours has workers.\n\n" +
		"| row | against | peer, wall | peer, cpu | ours | ours, wall | ours, cpu | ratio of wall | of cpu | bar | |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.Group != promised {
			continue
		}
		for _, x := range r.ratios() {
			peer, ours := r.timing(x.Peer), r.timing(x.Ours)
			bar, met := "", ""
			if x.Bar > 0 {
				if bar, met = "≥ "+x.bar(), "met"; !x.Met() {
					met = "**below**"
				}
			}
			p("| %s | %s | %s | %s | %s | %s | %s | %.2f× (%.2f–%.2f) | %.2f× | %s | %s |\n", r.Name, peer.title(), duration(median(peer.Wall)), duration(median(peer.CPU)),
				x.Ours, duration(median(ours.Wall)), duration(median(ours.CPU)), x.Median, x.Low, x.High, x.CPU, bar, met)
		}
	}
	p("\n### All ways\n\n| row | way | runs | median | middle half | of values | cpu | peak | found | load |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		if r.Group != promised {
			continue
		}
		for _, t := range r.Timings {
			if t.Skipped != "" {
				p("| %s | %s | %s | | | | | | | |\n", r.Name, t.Name, t.Skipped)
				continue
			}
			low, high := spread(t.Wall)
			m := median(t.Wall)
			facts := t.facts()
			p("| %s | %s | %d | %s | %s–%s | %.0f MB/s | %s | %d MiB | %s | %s |\n", r.Name, t.title(), len(t.Wall), duration(m), duration(low), duration(high),
				float64(r.Bytes)/m*1e3, duration(median(t.CPU)), t.Peak>>20, facts, r.Load)
		}
	}
	p("\nThe rows:\n\n")
	for _, r := range results {
		if r.Group == promised {
			p("- %s: %s, %d MiB", r.Name, r.Work, r.Bytes>>20)
			if len(r.Same) > 0 {
				p("; the files were compared and are the same, byte for byte")
			}
			p("\n")
		}
	}
	p("\n")
}

// below lists the rows that missed their bar, with the profile.
func (b *bench) below(p func(string, ...any), results []*result) {
	p("## Below the bar\n\n")
	any := false
	for _, r := range results {
		for _, t := range r.over() {
			any = true
			p("### %s: %s took %d MiB of memory, at most %d are promised\n\n", r.Name, t.Name, t.Peak>>20, r.Peak[t.Name]>>20)
		}
		for _, x := range r.ratios() {
			if x.Met() {
				continue
			}
			any = true
			got, of := x.Median, ""
			if x.Processor {
				got, of = x.CPU, " of processor time"
			}
			p("### %s: %.2f×%s against %s, bar %.3g× (load %s)\n\n", r.Name, got, of, x.Peer, x.Bar, r.Load)
			if r.Note != "" {
				p("%s\n\n", r.Note)
			}
			t := r.timing(x.Ours)
			if n, work := r.cores(x.Ours, b.all), median(t.CPU); n > 1 {
				p("It worked %s on all cores: divided evenly among %d the ratio would be %.2f×.\n\n", duration(work), n, float64(n)*median(r.timing(x.Peer).Wall)/work)
			}
			if t.Copies > 0 {
				one, n := r.alone(x.Ours), max(2, r.cores(x.Ours, b.all))
				p("%d processes of \"%s\" at once, without shared data, did %.2f× the work of one here", n, one.Name, t.Copies)
				if peer, alone := r.timing(x.Peer), r.timing(one.Name); peer != nil && alone != nil {
					p(": %d independent workers would make the ratio %.2f×", n, t.Copies*median(peer.Wall)/median(alone.Wall))
				}
				p(".\n\n")
			}
			if t.Profiled != "" {
				p("```\n%s```\n\n", t.Profiled)
			}
		}
	}
	if !any {
		p("None.\n\n")
	}
}

// allAtOnce lists the speedup of independent C programs, one per core, which is the upper bound for
// as many workers.
func (b *bench) allAtOnce(p func(string, ...any), results []*result) {
	p("## %s\n\n", strings.ToUpper(machine[:1])+machine[1:])
	n := b.processes()
	p("%d processes at once against one; such work cannot reach a higher ratio of %d workers to one.\n\n", n, n)
	p("| work | one process | %d at once, each | work done | load |\n|---|---|---|---|---|\n", n)
	for _, r := range results {
		if r.Group != machine || len(r.Timings) < 2 {
			continue
		}
		one, many := median(r.Timings[0].Wall), median(r.Timings[1].Wall)
		p("| %s | %s | %s | %.2f× | %s |\n", r.Work, duration(one), duration(many), float64(n)*one/many, r.Load)
	}
	p("\n")
}

// curves writes tables with a line for each X and a column for each task.
func curves(p func(string, ...any), group string, results []*result) {
	p("## %s\n\n", strings.ToUpper(group[:1])+group[1:])
	var works []string
	rows := map[string][]*result{}
	for _, r := range results {
		if r.Group == group {
			if rows[r.Work] == nil {
				works = append(works, r.Work)
			}
			rows[r.Work] = append(rows[r.Work], r)
		}
	}
	for _, work := range works {
		var names []string
		seen := map[string]bool{}
		for _, r := range rows[work] {
			for _, t := range r.Timings {
				if !seen[t.Name] {
					seen[t.Name] = true
					names = append(names, t.Name)
				}
			}
		}
		p("%s\n\n| |%s\n|---|%s\n", strings.ToUpper(work[:1])+work[1:], strings.Join(names, " | ")+" |", strings.Repeat("---|", len(names)))
		for _, r := range rows[work] {
			p("| %s |", r.X)
			for _, name := range names {
				t := r.timing(name)
				if t == nil {
					p(" |")
					continue
				}
				m := median(t.Wall)
				if r.Ops > 0 {
					p(" %s, %s each |", duration(m), duration(m/float64(r.Ops)))
				} else {
					p(" %s, %.0f MB/s |", duration(m), float64(r.Bytes)/m*1e3)
				}
			}
			p("\n")
		}
		p("\n")
		words := false
		for _, name := range names {
			if g := growthOf(rows[work], name); g != "" {
				p("- %s\n", g)
				words = true
			}
		}
		if words {
			p("\n")
		}
	}
}
