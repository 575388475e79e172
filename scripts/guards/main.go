// Guards disables each guard of docs/defects.md in turn and runs its tests, which must fail.
//
//	go run ./scripts/guards                     all guards
//	go run ./scripts/guards -run REGEXP         the guards whose names match
//	go run ./scripts/guards -check              run nothing; check that the rows files agree with
//	                                            docs/defects.md and that each edit applies
//	go run ./scripts/guards -sample 10 -seed 1  draw guards by seed and run make test without each:
//	                                            first the package of its tests, then all packages
//
// The files cblosc.rows and h5.rows contain the edits that disable the guards. The edited files are
// overlays of the build; the tree does not change. The command prints a line for each guard: its
// result, the first test that failed or the reason, the time in seconds, and its name.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// limit is the time limit of the tests of one guard. Tests that exceed it have failed, because
// some defects make the library wait forever.
const limit = 3 * time.Minute

func main() {
	run := flag.String("run", "", "run the guards whose names match this `regexp`")
	check := flag.Bool("check", false, "check the rows files and run nothing")
	sample := flag.Int("sample", 0, "draw `N` guards and run make test without each")
	seed := flag.Uint64("seed", 1, "seed of -sample")
	flag.Parse()
	if err := guards(*run, *check, *sample, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func guards(run string, check bool, sample int, seed uint64) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	all, err := readGuards(filepath.Join(root, "scripts", "guards"))
	if err != nil {
		return err
	}
	if run == "" {
		if err := complete(root, all); err != nil {
			return err
		}
	}
	for _, g := range all {
		if _, err := g.replaced(root); err != nil {
			return err
		}
	}
	if check {
		return nil
	}
	name, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(g *guard) bool { return !name.MatchString(g.name) })
	if len(all) == 0 {
		return fmt.Errorf("-run %s: no guard has such a name", run)
	}
	if sample > 0 {
		all = slices.DeleteFunc(all, func(g *guard) bool { return g.skip != "" || g.passes != "" })
		r := rand.New(rand.NewPCG(seed, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:min(sample, len(all))]
	}
	tmp, err := os.MkdirTemp("", "hyperslab-guards-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // temporary files
	bad := 0
	for _, g := range all {
		start := time.Now()
		result, what, err := g.disable(root, tmp, sample > 0)
		if err != nil {
			bad++
			result, what = "broken", err.Error()
		}
		if result == "passes" && g.passes == "" || result == "fails" && g.passes != "" {
			bad++
			what += " (unexpected)"
		}
		fmt.Printf("%s\t%s\t%.1f\t%s | %s\n", result, what, time.Since(start).Seconds(), g.library, g.name)
	}
	fmt.Printf("%d guards, %d with another result than expected\n", len(all), bad)
	if bad > 0 {
		return errors.New("a guard has no test that fails without it")
	}
	return nil
}

// complete compares the guards with the table of docs/defects.md: each row must have one.
func complete(root string, all []*guard) error {
	b, err := os.ReadFile(filepath.Join(root, "docs", "defects.md"))
	if err != nil {
		return err
	}
	want := make(map[string]bool)
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, " | "); len(f) > 3 && (f[0] == "| C-Blosc2" || f[0] == "| HDF5") {
			want[f[0][2:]+" | "+f[1]] = true
		}
	}
	for _, g := range all {
		row := g.library + " | " + g.name
		if !want[row] {
			return fmt.Errorf("%s: docs/defects.md contains no row %q, or the guard is listed twice", g.where, row)
		}
		delete(want, row)
	}
	for row := range want {
		return fmt.Errorf("docs/defects.md contains the row %q, want a guard in scripts/guards", row)
	}
	return nil
}

// disable runs the tests of a guard without it, or all tests if every is set. It returns "fails",
// "passes" or "skipped", and the first test that failed or the reason.
func (g *guard) disable(root, tmp string, every bool) (result, what string, err error) {
	if g.skip != "" {
		return "skipped", g.skip, nil
	}
	overlay, err := g.overlay(root, tmp)
	if err != nil {
		return "", "", err
	}
	// A test that fails because the build fails proves nothing.
	bin := filepath.Join(tmp, "guard.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w -s", "-overlay", overlay, "-o", bin, g.pkg)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("%s: guard %q: build without the guard: %w\n%s", g.where, g.name, err, out)
	}
	if every {
		return g.makeTest(root, overlay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "-test.run", g.tests, "-test.count=1", "-test.v")
	cmd.Dir = filepath.Join(root, g.pkg)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "=== RUN") {
		return "", "", fmt.Errorf("%s: guard %q: %s runs no test of %s", g.where, g.name, g.tests, g.pkg)
	}
	if err == nil {
		return "passes", g.passes, nil
	}
	return "fails", failure(string(out)), nil
}

// makeTest runs the tests of make test: those of the guard's package and, if they pass, all others.
func (g *guard) makeTest(root, overlay string) (result, what string, err error) {
	for _, pkg := range []string{g.pkg, "./..."} {
		cmd := exec.Command("scripts/test.sh", pkg)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "TEST_FLAGS=-count=1 -overlay="+overlay)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "fails", failure(string(out)), nil
		}
	}
	return "passes", "", nil
}

// overlay writes the edited files and returns the overlay file.
func (g *guard) overlay(root, tmp string) (string, error) {
	files, err := g.replaced(root)
	if err != nil {
		return "", err
	}
	replace := make(map[string]string)
	for name, text := range files {
		file := filepath.Join(tmp, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = file
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(tmp, "overlay.json")
	return list, os.WriteFile(list, b, 0o644)
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	crashed = regexp.MustCompile(`(?m)^(panic: .*|fatal error: .*|SIG[A-Z]+: .*|.*Assertion .*)$`)
	started = regexp.MustCompile(`(?m)^=== RUN\s+(\S+)`)
)

// failure returns the first test that failed, or the reason of a crash and the last test.
func failure(log string) string {
	if m := failed.FindStringSubmatch(log); m != nil {
		return m[1]
	}
	last := ""
	if m := started.FindAllStringSubmatch(log, -1); m != nil {
		last = m[len(m)-1][1]
	}
	if m := crashed.FindString(log); m != "" {
		return last + ": " + m
	}
	return last + " does not return or ends the process"
}
