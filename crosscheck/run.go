// Run, which runs a program on the vectors and classifies the results.

package crosscheck

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Verdict is the result of one case.
type Verdict string

// Verdicts of a case.
const (
	Pass            Verdict = "pass"             // the right bytes, or a required refusal
	Wrong           Verdict = "wrong"            // wrong bytes without an error
	Refused         Verdict = "refused"          // an error for a valid vector
	Crash           Verdict = "crash"            // ended by a signal, a panic or an abort
	Hang            Verdict = "hang"             // exceeded the time limit
	WronglyAccepted Verdict = "wrongly accepted" // no error for an invalid vector
	Unreadable      Verdict = "unreadable"       // one of the judges refuses the written file
)

// Verdicts lists all verdicts, from good to bad.
var Verdicts = []Verdict{Pass, Refused, Wrong, WronglyAccepted, Unreadable, Crash, Hang}

// Direction is the direction of a test.
type Direction string

// Directions of a test.
const (
	Reading Direction = "read"  // the reference wrote the file, the program reads it
	Writing Direction = "write" // the program writes the file, the reference reads it
)

// Result is the result of one case.
type Result struct {
	Case        string        `json:"case"`
	Direction   Direction     `json:"direction"`
	Area        string        `json:"area"`
	Verdict     Verdict       `json:"verdict"`
	Detail      string        `json:"detail,omitempty"` // the exit status, the error, the last line of standard error
	Explanation *Explanation  `json:"explanation,omitempty"`
	Stack       string        `json:"stack,omitempty"` // of a panic in a Go function
	Time        time.Duration `json:"nanoseconds"`
}

// Report is the result of one run.
type Report struct {
	Schema  string                     `json:"schema"`
	Subject string                     `json:"subject"`           // the command, the name that an adapter reports, or the name given by a test
	Version string                     `json:"version,omitempty"` // that an adapter reports
	Alone   string                     `json:"alone,omitempty"`   // command that an adapter reports, which reads {in} and {object} without the adapter
	Results []Result                   `json:"results"`
	Counts  map[string]map[Verdict]int `json:"counts"`            // by area; with the prefix "write " for writers
	Skipped map[string]int             `json:"skipped,omitempty"` // cases that the interface of an adapter's library cannot express, in the same way
}

// reportSchema is the version of the report's format.
const reportSchema = "hyperslab.crosscheck.report/1"

// OK reports whether every case passed.
func (r *Report) OK() bool {
	for _, x := range r.Results {
		if x.Verdict != Pass {
			return false
		}
	}
	return true
}

// suite returns the area, with the prefix "write " for writers.
func (x *Result) suite() string {
	if x.Direction == Writing {
		return "write " + x.Area
	}
	return x.Area
}

func (r *Report) add(x Result) {
	r.Results = append(r.Results, x)
	if r.Counts == nil {
		r.Counts = make(map[string]map[Verdict]int)
	}
	key := x.suite()
	if r.Counts[key] == nil {
		r.Counts[key] = make(map[Verdict]int)
	}
	r.Counts[key][x.Verdict]++
}

func (r *Report) skip(x Result) {
	if r.Skipped == nil {
		r.Skipped = make(map[string]int)
	}
	r.Skipped[x.suite()]++
}

// RunOptions are the options of Run. Zero fields mean the defaults in their comments.
type RunOptions struct {
	Adapter string        // shell command of an adapter, which answers requests on standard input; "": Read and Write
	Writes  bool          // the adapter is asked to write, too
	Only    string        // only the case with this ID; "": all
	Read    string        // shell command with {in}, {out} and optionally {object} and {area}; "": no reader
	CLI     string        // shell command with {path} and optionally {object} and {area}, which prints JSON or .npy; "": Read, Write or Adapter
	Write   string        // shell command with {spec}, {out} and optionally {object} and {area}; "": no writer
	Areas   []string      // nil: all areas
	Timeout time.Duration // of one case; default 10 s
	Memory  int64         // bytes of address space of one process; 0: no limit. For an adapter: bytes of data; 0: 4 GiB
	Workers int           // concurrent cases; default GOMAXPROCS
	Begin   func(int)     // called with the number of cases before the first one, if not nil
	Done    func(Result)  // called after each case, in the order of the cases, if not nil
}

// Run tests a reader, a writer or both with the vectors of dir. For each case it runs Read by
// /bin/sh with {in} and {out} replaced by quoted paths. The reader must read {in}, write the
// decoded bytes to {out} and exit with status 0, or refuse the file with another status. A status
// of 128 or more counts as a crash.
//
// Write runs for each valid case with specified elements that no lossy filter changed. It gets the
// path of a Spec and must write a file or directory to {out}, which the reference reads. A status
// other than 0 means that the writer does not support the case.
//
// An Adapter is a program that answers one request after another. Run starts one process per
// worker, without a network where the kernel permits it. docs/crosscheck-peers.md documents the
// protocol. Cases that the adapter skips do not count, and neither does an invalid vector if the
// adapter does not read the valid vector from which it was made.
//
// CLI is any program that prints an object as JSON or as a .npy file. Status 77 skips a case, any
// other status than 0 refuses it. As for Reader, every invalid vector that is not skipped counts.
// JSON is an array of numbers, nested or flat, with strings for NaN and infinities, or {"base64":
// "…"} with the decoded bytes. Output of 64 MiB or more is wrong.
//
// Run returns an error if a vector differs from the manifest, or an adapter does not start.
func Run(ctx context.Context, dir string, o RunOptions) (*Report, error) {
	m, err := Load(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Read == "" && o.Write == "" && o.Adapter == "" && o.CLI == "":
		return nil, errors.New("crosscheck: no command to read or write")
	case o.Adapter != "" && (o.Read != "" || o.Write != ""), o.CLI != "" && (o.Read != "" || o.Write != "" || o.Adapter != ""):
		return nil, errors.New("crosscheck: an adapter and CLI cannot be combined with another command")
	case o.CLI != "" && !strings.Contains(o.CLI, "{path}"):
		return nil, fmt.Errorf("crosscheck: the command %q must contain {path}", o.CLI)
	case o.Read != "" && (!strings.Contains(o.Read, "{in}") || !strings.Contains(o.Read, "{out}")):
		return nil, fmt.Errorf("crosscheck: the command %q must contain {in} and {out}", o.Read)
	case o.Write != "" && (!strings.Contains(o.Write, "{spec}") || !strings.Contains(o.Write, "{out}")):
		return nil, fmt.Errorf("crosscheck: the command %q must contain {spec} and {out}", o.Write)
	}
	o.defaults()
	scratch, err := os.MkdirTemp("", "crosscheck-")
	if err != nil {
		return nil, fmt.Errorf("crosscheck: %w", err)
	}
	defer os.RemoveAll(scratch)
	type job struct {
		c     Case
		write bool
	}
	decoded := make(map[string]*Decoded, len(m.Cases))
	for _, c := range m.Cases {
		decoded[c.ID] = c.Decoded
	}
	var cases []job
	for _, write := range []bool{false, true} {
		for _, c := range m.Cases {
			wanted := !write && (o.Read != "" || o.Adapter != "" || o.CLI != "") || write && (o.Write != "" || o.Writes) && writable(c)
			if wanted && (o.Areas == nil || slices.Contains(o.Areas, c.Area)) && (o.Only == "" || c.ID == o.Only) {
				cases = append(cases, job{c, write})
			}
		}
	}
	if o.Only != "" && len(cases) == 0 {
		return nil, fmt.Errorf("crosscheck: %s: unknown case %q", dir, o.Only)
	}
	r := &Report{Schema: reportSchema, Subject: strings.Join(slices.DeleteFunc([]string{o.Read, o.Write, o.CLI}, func(s string) bool { return s == "" }), "; ")}
	o.Workers = min(o.Workers, max(len(cases), 1))
	adapters := make([]*adapter, o.Workers)
	if o.Adapter != "" {
		first, err := startAdapter(ctx, &o)
		if err != nil {
			return nil, err
		}
		adapters[0], r.Subject, r.Version, r.Alone = first, first.name, first.version, first.alone
		for i := 1; i < len(adapters); i++ {
			adapters[i] = &adapter{o: &o}
		}
		defer func() {
			for _, a := range adapters {
				a.end()
			}
		}()
	}
	if o.Begin != nil {
		o.Begin(len(cases))
	}
	results, failed, asked := make([]Result, len(cases)), make([]error, len(cases)), make([]bool, len(cases))
	ready := make([]chan struct{}, len(cases))
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	next := make(chan int)
	var wg sync.WaitGroup
	for w := range adapters {
		wg.Go(func() {
			for i := range next {
				out := filepath.Join(scratch, fmt.Sprintf("out-%d", i))
				asked[i] = true
				switch a := adapters[w]; {
				case a != nil && cases[i].write:
					results[i], asked[i], failed[i] = a.write(ctx, dir, cases[i].c, out)
				case a != nil:
					results[i], asked[i], failed[i] = a.read(ctx, dir, cases[i].c, decoded[cmp.Or(cases[i].c.Params["base"], cases[i].c.ID)], out)
				case cases[i].write:
					results[i], failed[i] = runWrite(ctx, dir, cases[i].c, out, &o)
				case o.CLI != "":
					if failed[i] = unchanged(dir, cases[i].c); failed[i] == nil {
						results[i], asked[i] = runCLI(ctx, dir, cases[i].c, out, &o)
					}
				default:
					if failed[i] = unchanged(dir, cases[i].c); failed[i] == nil {
						results[i] = runRead(ctx, dir, cases[i].c, out, &o)
					}
				}
				os.RemoveAll(out)
				close(ready[i])
			}
		})
	}
	go func() {
		defer close(next)
		for i := range cases {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	passed := make(map[string]bool)
	for i := range cases {
		select {
		case <-ready[i]:
		case <-ctx.Done():
			wg.Wait()
			return nil, ctx.Err()
		}
		if failed[i] != nil {
			stop()
			wg.Wait()
			return nil, failed[i]
		}
		if base := cases[i].c.Params["base"]; !asked[i] || o.Adapter != "" && o.Only == "" && cases[i].c.Must == Refuse && base != "" && !passed[base] {
			r.skip(results[i])
			continue
		}
		passed[results[i].Case] = results[i].Verdict == Pass
		r.add(results[i])
		if o.Done != nil {
			o.Done(results[i])
		}
	}
	wg.Wait()
	return r, nil
}

// defaults sets the options that are zero.
func (o *RunOptions) defaults() {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
}

// quote quotes s as one word for /bin/sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// runRead runs the Read command for one case.
func runRead(ctx context.Context, dir string, c Case, out string, o *RunOptions) Result {
	res := Result{Case: c.ID, Area: c.Area, Direction: Reading}
	in := filepath.Join(dir, filepath.FromSlash(c.Path))
	if abs, err := filepath.Abs(in); err == nil {
		in = abs
	}
	done := execute(ctx, o, o.Read, map[string]string{"{in}": in, "{out}": out, "{object}": c.Object, "{area}": c.Area}, &res)
	var got []byte
	var err error
	switch {
	case !done && res.Verdict != Refused:
		return res
	case !done:
		err = errors.New(res.Detail)
	case c.Must == Accept:
		if got, err = os.ReadFile(out); err != nil {
			err = fmt.Errorf("the command succeeded without output: %w", err)
		}
	}
	judged := Judge(dir, c, got, err)
	judged.Time = res.Time
	return judged
}

// execute runs a command with quoted values in place of the names in words, under the limits, and
// reports whether it exited with status 0. Otherwise it sets the verdict: Refused, Crash or Hang.
func execute(ctx context.Context, o *RunOptions, line string, words map[string]string, res *Result) bool {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(words)) {
		pairs = append(pairs, name, quote(words[name]))
	}
	line = strings.NewReplacer(pairs...).Replace(line)
	if o.Memory > 0 {
		line = fmt.Sprintf("ulimit -v %d || exit 125\n%s", o.Memory>>10, line)
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, "/bin/sh", "-c", line)
	var diagnostics bytes.Buffer
	cmd.Stderr = &bounded{b: &diagnostics}
	// A process group, so that the shell's children are killed with it.
	cmd.SysProcAttr = processAttributes(0)
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second
	start := time.Now()
	err := cmd.Run()
	res.Time = time.Since(start)
	last := lastLine(diagnostics.String())
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		res.Verdict, res.Detail = Hang, ctx.Err().Error()
	case limited.Err() != nil:
		res.Verdict, res.Detail = Hang, fmt.Sprintf("still running after %v", o.Timeout)
	case errors.As(err, &exit) && (exit.ExitCode() < 0 || exit.ExitCode() >= 128):
		res.Verdict, res.Detail = Crash, join(exit.String(), last)
	case errors.As(err, &exit) && goPanic(diagnostics.String()):
		res.Verdict, res.Detail = Crash, join("a Go panic", last)
	case errors.As(err, &exit):
		res.Verdict, res.Detail = Refused, join(exit.String(), last)
	case err != nil:
		res.Verdict, res.Detail = Crash, err.Error()
	default:
		return true
	}
	return false
}

// Judge classifies the result of a reader for a case of the vectors in dir: the decoded bytes got,
// or the error err. It returns every verdict of Run and Reader except Crash and Hang.
func Judge(dir string, c Case, got []byte, err error) Result {
	res := Result{Case: c.ID, Area: c.Area, Direction: Reading}
	switch {
	case err != nil && c.Must == Refuse:
		res.Verdict = Pass
	case err != nil:
		res.Verdict, res.Detail = Refused, err.Error()
	case c.Must == Refuse:
		res.Verdict, res.Detail = WronglyAccepted, c.Rule
	default:
		judge(&res, dir, c, got)
	}
	return res
}

// Decode returns the reference's result for a case of the vectors in dir.
func Decode(dir string, c Case) ([]byte, error) {
	w, err := readWritten(c.Area, filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object, c.Params["name"])
	if err != nil {
		return nil, fmt.Errorf("crosscheck: %s: %w", c.ID, err)
	}
	return w.data, nil
}

// judge compares decoded bytes with the manifest, and explains a difference.
func judge(res *Result, dir string, c Case, got []byte) {
	if int64(len(got)) == c.Decoded.Bytes && (c.Decoded.SHA256 == "" || hexSum(got) == c.Decoded.SHA256) {
		res.Verdict = Pass
		return
	}
	res.Verdict = Wrong
	x, err := Explain(dir, c, got)
	if err != nil {
		res.Detail = fmt.Sprintf("%d bytes, want %d; not explained: %v", len(got), c.Decoded.Bytes, err)
		return
	}
	res.Explanation = x
	res.Detail = firstLine(x.String())
	if x.Rule != "" {
		res.Detail += "; " + x.Rule
	}
}

// Explain compares a reader's result for a case of the vectors in dir with that of the reference.
// It returns an error if the vector does not match the manifest, or is invalid.
func Explain(dir string, c Case, got []byte) (*Explanation, error) {
	if c.Must == Refuse {
		return nil, fmt.Errorf("crosscheck: %s must be refused: it has no values to compare", c.ID)
	}
	if err := unchanged(dir, c); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, filepath.FromSlash(c.Path))
	if c.Decoded.SHA256 == "" { // the content is unspecified: only the number of bytes counts
		x := &Explanation{Offset: -1, GotSize: int64(len(got)), WantSize: c.Decoded.Bytes, Block: -1, Stream: -1}
		if x.GotSize != x.WantSize {
			x.Offset, x.Stage, x.Got, x.Want = min(x.GotSize, x.WantSize), "length", "unspecified", "unspecified"
			x.Element = x.Offset / int64(max(c.Decoded.Item, 1))
			x.complete(c.Section)
		}
		return x, nil
	}
	return explainFile(path, c, got)
}

// explainFile calls the explain function of the case's area.
func explainFile(path string, c Case, got []byte) (*Explanation, error) {
	for _, a := range areas {
		if a.name == c.Area {
			x, err := a.explain(path, c, got)
			if err != nil {
				return nil, err
			}
			x.complete(c.Section)
			return x, nil
		}
	}
	return nil, fmt.Errorf("crosscheck: %s: no area %q", c.ID, c.Area)
}

func goPanic(stderr string) bool {
	return strings.HasPrefix(stderr, "panic: ") || strings.Contains(stderr, "\npanic: ") || strings.Contains(stderr, "fatal error: ")
}

func join(a, b string) string {
	if b == "" {
		return a
	}
	return a + ": " + b
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// bounded keeps the first 16 KiB of a program's output.
type bounded struct{ b *bytes.Buffer }

const talkSize = 16 << 10

func (w *bounded) Write(p []byte) (int, error) {
	w.b.Write(p[:min(len(p), talkSize-w.b.Len())])
	return len(p), nil
}
