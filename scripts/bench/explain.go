// Explanation of rows below their bar: profiles, and the speedup of independent processes on this
// machine.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// profileVariable is the environment variable that names the file of a CPU profile, also for the
// command hyperslab.
const profileVariable = "HYPERSLAB_CPUPROFILE"

// explain profiles the tasks of this module that missed a bar, in separate runs.
func (b *bench) explain(ctx context.Context, r *result) error {
	if !b.profile || b.quick {
		return nil
	}
	for _, x := range r.ratios() {
		t := r.timing(x.Ours)
		i := slices.IndexFunc(r.Tasks, func(c task) bool { return c.Name == x.Ours })
		if x.Met() || t.Profiled != "" || i < 0 {
			continue
		}
		var err error
		if t.Profiled, err = b.profiled(ctx, r.Tasks[i]); err != nil {
			return err
		}
		if one := r.alone(x.Ours); one != nil {
			if t.Copies, err = copies(ctx, *one, max(2, r.cores(x.Ours, b.all))); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone returns the task that does the work of the named one with one worker, or nil if there is
// none.
func (r *row) alone(name string) *task {
	for i := range r.Tasks {
		one := &r.Tasks[i]
		if one.Name != name && !one.Once && (one.Name == named(1) || one.Name == oneGoroutine) && strings.HasPrefix(name, "ours") {
			return one
		}
	}
	return nil
}

// cores returns the number of cores that a task uses. all is the number of cores.
func (r *row) cores(name string, all int) int {
	for _, t := range r.Tasks {
		if t.Name == name && t.Once {
			return all
		}
	}
	n := 1
	if _, err := fmt.Sscanf(name, "ours, %d", &n); err != nil {
		return 1
	}
	return n
}

// copyRuns is the number of runs of one process, and of all copies.
const copyRuns = 5

// copies returns how much work n concurrent processes of the task do in the time in which one
// process does 1. It is at most n on equal cores.
func copies(ctx context.Context, c task, n int) (float64, error) {
	many := c
	many.Copies = n
	var times []*timing
	var children []*process
	defer func() {
		for _, p := range children {
			p.kill()
		}
	}()
	for _, c := range []task{c, many} {
		t := &timing{Facts: map[string]string{}}
		p, err := start(ctx, &c, t)
		if err != nil {
			return 0, err
		}
		times, children = append(times, t), append(children, p)
	}
	for k := -1; k < copyRuns; k++ {
		for _, p := range children {
			if err := p.run(ctx, k >= 0); err != nil {
				return 0, err
			}
		}
	}
	for _, p := range children {
		if err := p.end(); err != nil {
			return 0, err
		}
	}
	return float64(n) * median(times[0].Wall) / median(times[1].Wall), nil
}

// profiled runs a task under perf, which also covers C and the kernel, and returns the functions
// that took most time. Without perf it uses Go's profile, which shows all C code as one function.
func (b *bench) profiled(ctx context.Context, c task) (string, error) {
	file := filepath.Join(b.scratch, "profile")
	if c.Once { // without peer-run, which would count the time of its child
		c.Command = c.Command[1:]
	}
	program := c.Command[0]
	if perf, err := exec.LookPath("perf"); err == nil {
		under := c
		under.Command = append([]string{perf, "record", "-q", "-F", "997", "-e", "cpu-clock", "-o", file, "--"}, c.Command...)
		if err := b.rerun(ctx, &under); err == nil {
			out, err := exec.CommandContext(ctx, perf, "report", "-i", file, "--stdio", "--no-children", "-g", "none", "--percent-limit", "0.5").Output()
			if top := topOfPerf(string(out), profiledFunctions); err == nil && top != "" {
				return "perf record -e cpu-clock, all threads:\n" + top, nil
			}
		} else if ctx.Err() != nil {
			return "", err
		}
	}
	c.Env = append(slices.Clone(c.Env), profileVariable+"="+file)
	if err := b.rerun(ctx, &c); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", fmt.Sprintf("-nodecount=%d", profiledFunctions), program, file).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("pprof: %w: %s", err, out)
	}
	return "Go's profile, because perf is not available; all of C is runtime.cgocall:\n" + string(out), nil
}

// profiledFunctions is the number of functions of a profile that are printed.
const profiledFunctions = 10

// topOfPerf returns the first n functions of a report of perf, one per line: share, file, function.
// [k] is the kernel.
func topOfPerf(report string, n int) string {
	var top strings.Builder
	for line := range strings.Lines(report) {
		w := strings.Fields(line)
		if len(w) < 5 || !strings.HasSuffix(w[0], "%") || n == 0 {
			continue
		}
		fmt.Fprintf(&top, "%7s  %-18s %s\n", w[0], w[2], strings.Join(w[3:], " "))
		n--
	}
	return top.String()
}

// rerun runs a task once more, or 10 times if that needs no new process.
func (b *bench) rerun(ctx context.Context, c *task) error {
	p := &process{task: c, t: &timing{Facts: map[string]string{}}}
	if c.Once {
		if err := os.RemoveAll(c.Out); err != nil {
			return err
		}
		if err := p.command(ctx).Run(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		return nil
	}
	p, err := start(ctx, c, p.t)
	if err != nil {
		return err
	}
	for range 10 { // so that the preparation is a small part of the profile
		if err := p.run(ctx, false); err != nil {
			p.kill()
			return err
		}
	}
	return p.end()
}
