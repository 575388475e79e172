// Measurement: child processes that run alternately, and the evaluation of their times.

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// task is one implementation of the work of a row, which runs in a child process.
type task struct {
	Name    string
	Command []string
	Env     []string
	Once    bool     // one process per run, without control lines; the run is the life of the process
	Out     string   // for Once: its output file, removed before each run
	Copies  int      // independent concurrent processes; 0: one; not for Once
	Writes  []string // the arguments that are files it writes
	Runs    int      // maximum number of runs; 0: that of the row
	MayFail bool     // for Once: a failure is reported as skipped
	Version string   // of the program, if it does not report one
}

// row is the description of some work, and the tasks that do it.
type row struct {
	Name, Group string
	Work        string
	Note        string // why a bar may be unreachable, for the report of rows below it
	Bytes       int64  // bytes of values per run
	Ops         int64  // operations per run; 0: only the time of a run matters
	Tasks       []task
	Compare     []compare
	Peak        map[string]int64 // maximum memory of a task in bytes
	Same        []string         // files that must be identical at the end
	Runs        int              // maximum number of runs; 0: the number in the flags
	Processor   bool             // the bars are for processor time; otherwise only those of one worker are
	Waits       bool             // the bars are for wall time, because a task waits
	Start       string           // the task whose processor time is subtracted from that of the others
	X           string           // label in a table of growth
	N           int64            // the same as a number
}

// compare requires that Peer's time divided by Ours is at least Bar. A Bar of 0 is only reported.
// The time of one worker is processor time, and that of more is wall time, which needs idle cores.
type compare struct {
	Peer, Ours string
	Bar        float64
}

// timing is the result of one task.
type timing struct {
	Name     string
	Wall     []float64 // nanoseconds of each run
	CPU      []float64
	Peak     int64             // peak resident memory in bytes
	Facts    map[string]string // results that the task reported
	Skipped  string            // the reason why it could not run
	Profiled string            // the profile, if a bar was missed
	Copies   float64           // work of concurrent processes with one worker, one per core, over the work of one; 0: not measured
}

// result is a measured row.
type result struct {
	row
	Timings []*timing
	Date    time.Time
	Load    string // load average of the machine before the row
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	if n == 0 {
		return 0
	}
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// spread returns the bounds of the middle half of the runs.
func spread(v []float64) (low, high float64) {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return s[n/4], s[n-1-n/4]
}

func (r *result) timing(name string) *timing {
	for _, t := range r.Timings {
		if t.Name == name && t.Skipped == "" {
			return t
		}
	}
	return nil
}

// ratio is the result of a comparison: of the medians, and of the single runs.
type ratio struct {
	compare
	Median, Low, High, CPU float64
	Processor              bool // the bar is for processor time
}

// Met reports whether the bar was reached.
func (r ratio) Met() bool {
	if r.Processor {
		return r.CPU >= r.Bar
	}
	return r.Median >= r.Bar
}

// bar formats the bar.
func (r ratio) bar() string {
	if r.Processor {
		return fmt.Sprintf("%.3g× cpu", r.Bar)
	}
	return fmt.Sprintf("%.3g× wall", r.Bar)
}

// leastProcessor is the shortest processor time in nanoseconds that remains after the subtraction
// of Start. A difference below it is noise.
const leastProcessor = 5e6

// processor returns the median processor time of a task in nanoseconds, without that of Start.
func (r *result) processor(t *timing) float64 {
	if start := r.timing(r.Start); r.Start != "" && start != nil {
		return max(median(t.CPU)-median(start.CPU), leastProcessor)
	}
	return max(median(t.CPU), 1)
}

func (r *result) ratios() []ratio {
	var out []ratio
	for _, c := range r.Compare {
		peer, ours := r.timing(c.Peer), r.timing(c.Ours)
		if peer == nil || ours == nil {
			continue
		}
		var each []float64
		for i := range min(len(peer.Wall), len(ours.Wall)) {
			each = append(each, peer.Wall[i]/ours.Wall[i])
		}
		x := ratio{compare: c, Processor: r.Processor || !r.Waits && r.cores(c.Ours, 2) == 1, Median: median(peer.Wall) / median(ours.Wall), CPU: r.processor(peer) / r.processor(ours)}
		x.Low, x.High = spread(each)
		out = append(out, x)
	}
	return out
}

// line formats the row as one line for the terminal.
func (r *result) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s", r.Name)
	for _, t := range r.Timings {
		if t.Skipped != "" {
			fmt.Fprintf(&b, " | %s: %s", t.Name, t.Skipped)
		} else {
			fmt.Fprintf(&b, " | %s %s, cpu %s", t.Name, duration(median(t.Wall)), duration(median(t.CPU)))
		}
	}
	for _, x := range r.ratios() {
		mark := ""
		if !x.Met() {
			mark = "  BELOW"
		}
		fmt.Fprintf(&b, " | %s: wall %.2f× (%.2f–%.2f), cpu %.2f×", x.Peer, x.Median, x.Low, x.High, x.CPU)
		if x.Bar > 0 {
			fmt.Fprintf(&b, " of %s%s", x.bar(), mark)
		}
	}
	for _, t := range r.over() {
		fmt.Fprintf(&b, " | %s took %d MiB of %d  ABOVE", t.Name, t.Peak>>20, r.Peak[t.Name]>>20)
	}
	return b.String()
}

// measure runs all tasks of a row alternately.
func (b *bench) measure(ctx context.Context, r *row) (*result, error) {
	res := &result{row: *r, Date: time.Now().UTC(), Load: loadAverage()}
	runs := b.runs
	if r.Runs > 0 {
		runs = min(runs, r.Runs)
	}
	var children []*process
	defer func() {
		for _, p := range children {
			p.kill()
		}
	}()
	for i := range r.Tasks {
		t := &timing{Name: r.Tasks[i].Name, Facts: map[string]string{}}
		if v := r.Tasks[i].Version; v != "" {
			t.Facts["version"] = v
		}
		res.Timings = append(res.Timings, t)
		p, err := start(ctx, &r.Tasks[i], t)
		if err != nil {
			return nil, err
		}
		children = append(children, p)
	}
	first := -1 // a warm-up run
	if !slices.ContainsFunc(r.Tasks, func(t task) bool { return !t.Once }) {
		first = 0 // whole programs have no warm-up run
	}
	for k := first; k < runs; k++ {
		for i := range children {
			p := children[(i+k+1)%len(children)]
			if p.t.Skipped != "" || p.task.Runs > 0 && k >= p.task.Runs {
				continue
			}
			if err := p.run(ctx, k >= 0); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range children {
		if err := p.end(); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(res.agree(), sameFiles(r.Same)); err != nil {
		return nil, err
	}
	return res, b.explain(ctx, res)
}

// agree checks that the checksums of all tasks are equal.
func (r *result) agree() error {
	first := map[string]string{}
	for _, t := range r.Timings {
		v, ok := t.Facts["sum"]
		if !ok {
			continue
		}
		if f, ok := first["sum"]; ok && f != v {
			return fmt.Errorf("%s found the checksum %s, others %s", t.Name, v, f)
		}
		first["sum"] = v
	}
	return nil
}

// sameFiles compares files with the first one.
func sameFiles(paths []string) error {
	var first [sha256.Size]byte
	for i, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := f.Close(); err != nil {
			return err
		}
		sum := [sha256.Size]byte(h.Sum(nil))
		if i == 0 {
			first = sum
		} else if sum != first {
			return fmt.Errorf("%s and %s differ", paths[0], path)
		}
	}
	return nil
}

// over returns the tasks that exceeded their maximum memory.
func (r *result) over() []*timing {
	var out []*timing
	for _, t := range r.Timings {
		if most, ok := r.Peak[t.Name]; ok && t.Skipped == "" && t.Peak > most {
			out = append(out, t)
		}
	}
	return out
}

// process is a running task.
type process struct {
	task *task
	t    *timing
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	more []*process // the other copies
}

// missingPeer is the exit status of a child whose library is not installed.
const missingPeer = 42

func start(ctx context.Context, c *task, t *timing) (*process, error) {
	if c.Copies > 1 {
		return startCopies(ctx, c, t)
	}
	p := &process{task: c, t: t}
	if c.Command[0] == "" {
		t.Skipped = "not installed"
		return p, nil
	}
	if c.Once {
		return p, nil
	}
	p.cmd = p.command(ctx)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			werr := p.cmd.Wait()
			var exit *exec.ExitError
			if errors.As(werr, &exit) && exit.ExitCode() == missingPeer {
				t.Skipped = "not installed"
				return p, nil
			}
			return nil, fmt.Errorf("%s: %w", c.Name, errors.Join(werr, err))
		}
		if line == "ready\n" {
			return p, nil
		}
		p.learn(strings.Fields(line))
	}
}

// startCopies starts c.Copies processes. All but the first append their number to the names of
// their output files.
func startCopies(ctx context.Context, c *task, t *timing) (*process, error) {
	one := *c
	one.Copies = 0
	p, err := start(ctx, &one, t)
	if err != nil || t.Skipped != "" {
		return p, err
	}
	for n := 2; n <= c.Copies; n++ {
		next := one
		next.Command = slices.Clone(c.Command)
		for i, w := range next.Command {
			if i > 0 && slices.Contains(c.Writes, w) {
				next.Command[i] = fmt.Sprint(w, ".", n)
			}
		}
		q, err := start(ctx, &next, &timing{Facts: map[string]string{}})
		if err != nil {
			p.kill()
			return nil, err
		}
		p.more = append(p.more, q)
	}
	return p, nil
}

func (p *process) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.task.Command[0], p.task.Command[1:]...)
	cmd.Env = append(os.Environ(), p.task.Env...)
	cmd.Stderr = os.Stderr
	return cmd
}

func (p *process) learn(words []string) {
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			p.t.Facts[k] = v
		}
	}
}

// run makes the child perform one run. counts is false for a warm-up run.
func (p *process) run(ctx context.Context, counts bool) error {
	if p.task.Once {
		return p.once(ctx, counts)
	}
	all := append([]*process{p}, p.more...)
	for _, p := range all {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			return fmt.Errorf("%s: %w", p.task.Name, err)
		}
	}
	var wall, cpu float64 // of the slowest one, and of all
	for _, p := range all {
		w, c, err := p.answer()
		if err != nil {
			return fmt.Errorf("%s: %w", p.task.Name, err)
		}
		wall, cpu = max(wall, w), cpu+c
	}
	if counts {
		p.t.Wall, p.t.CPU = append(p.t.Wall, wall), append(p.t.CPU, cpu)
	}
	return nil
}

// answer waits for the end of a run, and returns its times in nanoseconds.
func (p *process) answer() (wall, cpu float64, err error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	words := strings.Fields(line)
	if len(words) < 2 {
		return 0, 0, fmt.Errorf("it answers %q", line)
	}
	wall, err1 := strconv.ParseFloat(words[0], 64)
	cpu, err2 := strconv.ParseFloat(words[1], 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, fmt.Errorf("it answers %q: %w", line, err)
	}
	p.learn(words[2:])
	return wall, cpu, nil
}

// mostPatience is the maximum time of a run that may fail.
const mostPatience = time.Minute

func (p *process) once(ctx context.Context, counts bool) error {
	if p.task.Out != "" {
		if err := os.RemoveAll(p.task.Out); err != nil {
			return err
		}
	}
	if p.task.MayFail {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, mostPatience)
		defer cancel()
	}
	cmd := p.command(ctx)
	cmd.WaitDelay = time.Second // the program itself is a child of peer-run, and keeps the pipes open
	var said, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &diagnostics
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		if p.task.MayFail {
			if p.t.Skipped = "failed"; ctx.Err() != nil {
				p.t.Skipped = "longer than " + mostPatience.String()
			}
			return nil
		}
		return fmt.Errorf("%s: %w: %s", p.task.Name, err, diagnostics.Bytes())
	}
	wall := time.Since(begin)
	if counts {
		p.t.Wall = append(p.t.Wall, float64(wall))
		p.t.CPU = append(p.t.CPU, float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	}
	for line := range strings.Lines(said.String()) {
		if kb, ok := strings.CutPrefix(strings.TrimSpace(line), "peak="); ok {
			n, err := strconv.ParseInt(kb, 10, 64)
			if err != nil {
				return err
			}
			p.t.Peak = max(p.t.Peak, n<<10)
		} else {
			p.learn(strings.Fields(line))
		}
	}
	if p.task.Out != "" {
		info, err := os.Stat(p.task.Out)
		if err != nil {
			return err
		}
		p.t.Facts["stored"] = strconv.FormatInt(info.Size(), 10)
	}
	return nil
}

// end ends the child, after it has read its peak memory.
func (p *process) end() error {
	if p.cmd == nil || p.t.Skipped != "" {
		return nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err == nil {
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return err
				}
				p.t.Peak = kb << 10
			}
		}
	}
	err = p.in.Close()
	cmd := p.cmd
	p.cmd = nil
	err = errors.Join(err, cmd.Wait())
	for _, q := range p.more {
		err = errors.Join(err, q.end())
	}
	return err
}

// kill ends a child after an error.
func (p *process) kill() {
	if p.cmd != nil && p.t.Skipped == "" {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	for _, q := range p.more {
		q.kill()
	}
}

// facts formats the facts in the order of their names, without those that are checked or shown
// elsewhere.
func (t *timing) facts() string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(t.Facts)) {
		if k != "sum" && k != "done" && k != "version" {
			s = append(s, k+"="+t.Facts[k])
		}
	}
	return strings.Join(s, " ")
}

// title returns the name of the task with the version that it reported.
func (t *timing) title() string {
	if v := t.Facts["version"]; v != "" {
		return t.Name + " (" + strings.ReplaceAll(v, "_", " ") + ")"
	}
	return t.Name
}

func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return fmt.Sprintf("%.3g s", ns/1e9)
	case ns >= 1e6:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	case ns >= 1e3:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ns", ns)
}
