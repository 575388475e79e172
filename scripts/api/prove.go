// Proof of the tests that API.md names: a build of the test binaries in which each bound C function
// is counted, and can be made to fail.

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// prover runs single tests against an instrumented build of a package.
//
// The build adds two files to the package through an overlay. A header renames each bound function
// in the objects of the package, so that its calls go to a trampoline. The trampoline counts the
// call and continues with the function, or returns at once with a given result. The linked library
// itself is unchanged, and calls within the library are not counted.
type prover struct {
	root  string
	names []string          // bound functions in the order of their counters
	bins  map[string]string // directory of a package → its test binary
	where map[string]string // test → directory of its package
	dir   string            // directory for the build and the counters
}

// limit is the time limit of one test. A test that exceeds it has failed.
const limit = 3 * time.Minute

// variables of the environment that the trampolines read
const (
	countsVar = "HYPERSLAB_CALLS"      // file of the counters
	failVar   = "HYPERSLAB_CALLS_FAIL" // index of the function that fails, and its result
)

// newProver builds the test binaries of a library's packages.
func newProver(lib library, functions []function) (*prover, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("%w: the trampolines of -prove: got %s/%s, want linux/amd64", errors.ErrUnsupported, runtime.GOOS, runtime.GOARCH)
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &prover{root: root, bins: make(map[string]string), where: make(map[string]string)}
	for _, f := range functions {
		if f.how == "bound" {
			p.names = append(p.names, f.name)
		}
	}
	if p.dir, err = os.MkdirTemp("", "hyperslab-api-"); err != nil {
		return nil, err
	}
	if err := p.build(lib); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// close removes the files of the build.
func (p *prover) close() error { return os.RemoveAll(p.dir) }

// build builds the test binaries.
func (p *prover) build(lib library) error {
	overlay, err := p.overlay(lib.dir)
	if err != nil {
		return err
	}
	for _, dir := range append([]string{lib.dir}, lib.above...) {
		bin := filepath.Join(p.dir, strings.ReplaceAll(dir, "/", "_")+".test")
		if err := output(p.root, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bin, "./"+dir); err != nil {
			return err
		}
		list, err := exec.Command(bin, "-test.list", ".").Output()
		if err != nil {
			return fmt.Errorf("list the tests of %s: %w", dir, err)
		}
		p.bins[dir] = bin
		for _, name := range strings.Fields(string(list)) {
			if p.where[name] == "" {
				p.where[name] = dir
			}
		}
	}
	return nil
}

// overlay writes the instrumentation and returns the overlay file.
func (p *prover) overlay(dir string) (string, error) {
	var header strings.Builder
	for _, name := range p.names {
		fmt.Fprintf(&header, "#pragma redefine_extname %s hyperslab_calls_%s\n", name, name)
	}
	// The build cache does not read the header, therefore its name contains its hash.
	h := filepath.Join(p.dir, fmt.Sprintf("calls-%.8x.h", sha256.Sum256([]byte(header.String()))))
	goFile, cFile := filepath.Join(p.dir, "zz_calls.go"), filepath.Join(p.dir, "zz_calls.c")
	list := filepath.Join(p.dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(p.root, dir, "zz_calls.go"): goFile,
		filepath.Join(p.root, dir, "zz_calls.c"):  cFile,
	}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(
		os.WriteFile(h, []byte(header.String()), 0o644),
		os.WriteFile(goFile, fmt.Appendf(nil, "package %s\n\n// #cgo CFLAGS: -include %s\nimport \"C\"\n", filepath.Base(dir), h), 0o644),
		os.WriteFile(cFile, p.trampolines(), 0o644),
		os.WriteFile(list, replace, 0o644))
}

// trampolines returns the C file with the trampolines of all functions. They preserve every
// register that can contain an argument.
func (p *prover) trampolines() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((aligned(4096), visibility("hidden"))) unsigned char hyperslab_calls[%d];
__attribute__((visibility("hidden"))) int hyperslab_calls_fail = -1;
__attribute__((visibility("hidden"))) long hyperslab_calls_result;

/* The counters are shared memory, so that they remain when the process ends in any way, and so that
   processes that a test starts are counted too. */
__attribute__((constructor)) static void hyperslab_calls_map(void) {
    const char *file = getenv(%q), *fail = getenv(%q);
    if (file == NULL) return;
    if (fail != NULL && sscanf(fail, "%%d:%%ld", &hyperslab_calls_fail, &hyperslab_calls_result) != 2) abort();
    int fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0) abort();
    if (mmap(hyperslab_calls, sizeof hyperslab_calls, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) abort();
    close(fd);
}

__asm__(".text\nhyperslab_calls_failed:\n  movq hyperslab_calls_result(%%rip), %%rax\n  ret\n");
`, p.size(), countsVar, failVar)
	for i, name := range p.names {
		fmt.Fprintf(&out, `__asm__(".globl hyperslab_calls_%[1]s\n.type hyperslab_calls_%[1]s, @function\nhyperslab_calls_%[1]s:\n"
        "  lock incq hyperslab_calls+%[2]d(%%rip)\n  cmpl $%[3]d, hyperslab_calls_fail(%%rip)\n"
        "  je hyperslab_calls_failed\n  jmp %[1]s@PLT\n");
`, name, 8*i, i)
	}
	return out.Bytes()
}

// size returns the length of the counters, whole pages.
func (p *prover) size() int { return (8*len(p.names) + 4095) / 4096 * 4096 }

// outcome is the result of a test.
type outcome struct {
	passed bool
	calls  map[string]uint64 // functions that the test called, with the number of calls
	log    string
}

// run runs one test alone. If fail is the name of a function, then each call of it returns result.
func (p *prover) run(test, fail string, result int) (*outcome, error) {
	dir := p.where[test]
	if dir == "" {
		return nil, fmt.Errorf("no test binary contains %s", test)
	}
	counts := filepath.Join(p.dir, "counts")
	if err := os.WriteFile(counts, make([]byte, p.size()), 0o644); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bins[dir], "-test.run", "^"+test+"$", "-test.count=1")
	cmd.Dir = filepath.Join(p.root, dir)
	cmd.Env = append(os.Environ(), countsVar+"="+counts)
	if fail != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d:%d", failVar, slices.Index(p.names, fail), result))
	}
	cmd.WaitDelay = 5 * time.Second
	log, err := cmd.CombinedOutput()
	o := &outcome{passed: err == nil, calls: make(map[string]uint64), log: string(log)}
	b, err := os.ReadFile(counts)
	if err != nil {
		return nil, err
	}
	for i, name := range p.names {
		if n := binary.LittleEndian.Uint64(b[8*i:]); n > 0 {
			o.calls[name] = n
		}
	}
	return o, nil
}

// asserts reports whether a test fails if a function does not do its work: if it returns -1, which
// is the error of most functions, or 0.
func (p *prover) asserts(test, name string) (bool, error) {
	for _, result := range []int{-1, 0} {
		o, err := p.run(test, name, result)
		if err != nil || !o.passed {
			return err == nil, err
		}
	}
	return false, nil
}

// defect is a bound function whose test proves too little.
type defect struct {
	name, test, problem string
}

// check returns the functions whose test does not call them, or passes although they fail.
func (p *prover) check(functions []function) (defects []defect, err error) {
	ran := make(map[string]*outcome)
	for _, f := range functions {
		if f.how != "bound" {
			continue
		}
		problem := ""
		if o := ran[f.test]; o == nil {
			if f.test == "every test" {
				continue // a failure of init ends the process before the first test
			}
			if ran[f.test], err = p.run(f.test, "", 0); err != nil {
				return nil, err
			}
		}
		switch o := ran[f.test]; {
		case !o.passed:
			return nil, fmt.Errorf("%s fails by itself:\n%s", f.test, o.log)
		case o.calls[f.name] == 0:
			problem = "does not call it"
		default:
			ok, err := p.asserts(f.test, f.name)
			if err != nil {
				return nil, err
			}
			if !ok && !f.silent {
				problem = "passes although the function has no effect"
			}
		}
		if problem != "" {
			defects = append(defects, defect{f.name, f.test, problem})
		}
	}
	return defects, nil
}

// tries is the maximum number of tests of one function that repair runs against a failing function.
const tries = 400

// repair finds for each defect a test that calls the function through one of the Go functions that
// bind it, and that fails if the function does. It returns rows for the rows file and the defects
// that remain.
func (p *prover) repair(s *sources, functions []function, defects []defect) (lines []string, rest []defect, err error) {
	called := make(map[string][]string) // function → tests that call it
	for _, test := range slices.Sorted(maps.Keys(p.where)) {
		o, err := p.run(test, "", 0)
		if err != nil {
			return nil, nil, err
		}
		for name := range o.calls {
			if o.passed {
				called[name] = append(called[name], test)
			}
		}
	}
	for _, d := range defects {
		i := slices.IndexFunc(functions, func(f function) bool { return f.name == d.name })
		found := ""
		tests := slices.DeleteFunc(called[d.name], func(t string) bool { return s.calls.reachedBy(t, functions[i].by) == "" })
		closest := func(t string) int { return rank(t, s.calls.reachedBy(t, functions[i].by)) }
		slices.SortStableFunc(tests, func(a, b string) int { return closest(a) - closest(b) })
		for _, t := range tests[:min(tries, len(tests))] {
			ok, err := p.asserts(t, d.name)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				found = t
				break
			}
		}
		if found == "" {
			if len(tests) > 0 && !slices.Contains(called[d.name], d.test) {
				lines = append(lines, d.name+" test "+tests[0]) // it calls the function at least
			}
			d.problem += fmt.Sprintf("; %d other tests call it: %s", len(tests), some(tests))
			rest = append(rest, d)
			continue
		}
		lines = append(lines, d.name+" test "+found)
	}
	return lines, rest, nil
}

// prove checks the tests of a library's rows. With fix it writes rows for those that prove too
// little.
func (s *sources) prove(rowsFile string, fix bool) (err error) {
	rows, err := readRows(rowsFile)
	if err != nil {
		return err
	}
	functions, err := s.account(rows)
	if err != nil {
		return err
	}
	p, err := newProver(s.library, functions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	defects, err := p.check(functions)
	if err != nil {
		return err
	}
	silent := 0
	for _, f := range functions {
		if f.silent {
			silent++
		}
	}
	fmt.Printf("%s: %d functions bound, the tests of %d call them, of which %d fail if the function has no effect\n",
		s.dir, len(p.names), len(p.names)-len(defects), len(p.names)-len(defects)-silent)
	if fix && len(defects) > 0 {
		var lines []string
		if lines, defects, err = p.repair(s, functions, defects); err != nil {
			return err
		}
		if err := replaceRows(rowsFile, lines); err != nil {
			return err
		}
		fmt.Printf("%s: %d rows written\n", s.dir, len(lines))
	}
	var errs []error
	for _, d := range defects {
		errs = append(errs, fmt.Errorf("%s: %s %s", d.name, d.test, d.problem))
	}
	return errors.Join(errs...)
}

// replaceRows adds rows to a file, and removes the earlier rows of the same names and kind.
func replaceRows(file string, lines []string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	keep := slices.DeleteFunc(strings.Split(strings.TrimRight(string(b), "\n"), "\n"), func(have string) bool {
		f := strings.Fields(have)
		return len(f) == 3 && f[1] == "test" && slices.ContainsFunc(lines, func(l string) bool { return strings.Fields(l)[0] == f[0] })
	})
	return os.WriteFile(file, []byte(strings.Join(append(keep, lines...), "\n")+"\n"), 0o644)
}

// output runs a command and returns an error with its output if it fails.
func output(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
