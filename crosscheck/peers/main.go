// Command peers tests other implementations with the vectors of crosscheck, and prints the table of
// docs/crosscheck.md. Each peer reads in a separate process, which is restarted after a case that
// ends it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab/crosscheck"
)

// peer is one implementation, and the cases that its interface can express.
type peer struct {
	name, about string
	asks        func(c crosscheck.Case) bool
	values      bool                                                 // it returns numbers as float64, not stored elements
	read        func(path string, c crosscheck.Case) ([]byte, error) // nil: a Python module, read by peer.py
	version     func() string                                        // "" if the implementation is not available
}

// question is a request to a peer's process, one line of JSON; answer is the reply.
type question struct {
	Path string          `json:"path"`
	Out  string          `json:"out"`
	Case crosscheck.Case `json:"case"`
}

type answer struct {
	Error string `json:"error"` // "": the decoded bytes are in Out
}

const limit = 20 * time.Second // for one case

var errHang = errors.New("hang")

func main() {
	only := flag.String("peer", "", "only this peer")
	caseID := flag.String("case", "", "only this case, explained")
	serve := flag.Bool("serve", false, "be the process of -peer")
	python := flag.String("python", "", "interpreter with the Python peers; \"\": they are left out")
	dir := flag.String("vectors", "", "directory of vectors; \"\": they are emitted")
	out := flag.String("o", "", "file for the table; \"\": standard output")
	flag.Parse()
	if err := run(*only, *caseID, *python, *dir, *out, *serve); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(only, caseID, python, dir, out string, serve bool) error {
	if serve {
		return serveQuestions(peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == only })])
	}
	if only != "" && !slices.ContainsFunc(peers, func(p peer) bool { return p.name == only }) {
		return fmt.Errorf("no peer %q", only)
	}
	if dir == "" {
		tmp, err := os.MkdirTemp("", "peers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = filepath.Join(tmp, "vectors")
		if _, err := crosscheck.Emit(background, dir, nil); err != nil {
			return err
		}
	}
	m, err := crosscheck.Load(dir)
	if err != nil {
		return err
	}
	var all []outcome
	for _, p := range peers {
		if only != "" && p.name != only {
			continue
		}
		o, err := judge(p, m, dir, caseID, python)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		all = append(all, o)
		fmt.Fprintf(os.Stderr, "peers: %s %s: %d cases\n", p.name, o.version, len(o.results))
	}
	if caseID != "" {
		return explain(all, caseID)
	}
	w := io.Writer(os.Stdout)
	if out != "" {
		f, err := os.Create(out)
		if err != nil {
			return err
		}
		defer f.Close()
		w = f
	}
	return table(w, m, all)
}

// outcome contains the results of the cases that a peer supports.
type outcome struct {
	peer    peer
	version string // "" if the implementation is not available
	results []crosscheck.Result
}

func judge(p peer, m *crosscheck.Manifest, dir, caseID, python string) (o outcome, err error) {
	o.peer = p
	if p.read == nil && python == "" {
		return o, nil
	}
	if p.read != nil {
		o.version = p.version()
	} else {
		b, err := exec.Command(python, "peer.py", p.name, "--version").Output()
		if err == nil {
			o.version = strings.TrimSpace(string(b))
		}
	}
	if o.version == "" {
		return o, nil
	}
	scratch, err := os.MkdirTemp("", "peer-")
	if err != nil {
		return o, err
	}
	defer os.RemoveAll(scratch)
	q := &process{peer: p, python: python}
	defer q.stop()
	for _, c := range m.Cases {
		if !p.asks(c) || caseID != "" && c.ID != caseID {
			continue
		}
		path, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(c.Path)))
		if err != nil {
			return o, err
		}
		target := filepath.Join(scratch, "out")
		os.Remove(target)
		a, err := q.ask(question{path, target, c})
		if err != nil && !errors.Is(err, errHang) { // retry, because an earlier case may have corrupted the memory of the process
			a, err = q.ask(question{path, target, c})
		}
		var r crosscheck.Result
		switch {
		case errors.Is(err, errHang):
			r = crosscheck.Result{Case: c.ID, Area: c.Area, Verdict: crosscheck.Hang, Detail: fmt.Sprintf("still running after %v", limit)}
		case err != nil:
			r = crosscheck.Result{Case: c.ID, Area: c.Area, Verdict: crosscheck.Crash, Detail: err.Error()}
		case strings.HasPrefix(a.Error, "panic: "):
			r = crosscheck.Result{Case: c.ID, Area: c.Area, Verdict: crosscheck.Crash, Detail: a.Error}
		case a.Error != "":
			r = crosscheck.Judge(dir, c, nil, errors.New(a.Error))
		default:
			var got []byte
			if c.Must == crosscheck.Accept {
				if got, err = os.ReadFile(target); err != nil {
					return o, err
				}
				if p.values {
					if got, err = storedFrom(dir, c, got); err != nil {
						return o, err
					}
				}
			}
			r = crosscheck.Judge(dir, c, got, nil)
		}
		o.results = append(o.results, r)
	}
	return o, nil
}

// process is the running process of a peer.
type process struct {
	peer   peer
	python string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	talk   *head
}

// head keeps the beginning of a process's output on standard error since the last question.
type head struct {
	mu sync.Mutex
	b  []byte
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, p[:min(len(p), 4096-len(h.b))]...)
	return len(p), nil
}

func (h *head) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := string(h.b)
	h.b = nil
	return s
}

func (q *process) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	q.cmd = exec.Command(self, "-serve", "-peer", q.peer.name)
	if q.peer.read == nil {
		q.cmd = exec.Command(q.python, "peer.py", q.peer.name)
	}
	q.cmd.Env = append(os.Environ(), "HDF5_EXTFILE_PREFIX=${ORIGIN}") // used by libhdf5 in every peer
	q.talk = &head{}
	q.cmd.Stderr = q.talk
	if q.in, err = q.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := q.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	q.out = bufio.NewReaderSize(out, 1<<20)
	return q.cmd.Start()
}

func (q *process) stop() {
	if q.cmd == nil {
		return
	}
	q.in.Close()
	q.cmd.Process.Kill()
	q.cmd.Wait()
	q.cmd = nil
}

// ask sends one case to the process. An error means that the process ended or hung.
func (q *process) ask(x question) (a answer, err error) {
	if q.cmd == nil {
		if err := q.start(); err != nil {
			return a, err
		}
	}
	q.talk.take()
	text, err := json.Marshal(x)
	if err != nil {
		return a, err
	}
	type reply struct {
		line []byte
		err  error
	}
	ready := make(chan reply, 1)
	go func() {
		if _, err := q.in.Write(append(text, '\n')); err != nil {
			ready <- reply{nil, err}
			return
		}
		line, err := q.out.ReadBytes('\n')
		ready <- reply{line, err}
	}()
	select {
	case r := <-ready:
		if r.err == nil {
			return a, json.Unmarshal(r.line, &a)
		}
		q.in.Close()
		err := q.cmd.Wait()
		q.cmd = nil
		return a, errors.New(strings.TrimSuffix(fmt.Sprintf("%v: %s", err, lastLine(q.talk.take())), ": "))
	case <-time.After(limit):
		q.cmd.Process.Kill()
		<-ready
		q.stop()
		return a, errHang
	}
}

func lastLine(s string) string {
	for _, line := range strings.Split(s, "\n") {
		if strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "SIG") {
			return line
		}
	}
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// serveQuestions runs as the process of a Go peer.
func serveQuestions(p peer) error {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var x question
		if err := json.Unmarshal(line, &x); err != nil {
			return err
		}
		var a answer
		got, err := readOne(p, x)
		if err == nil {
			err = os.WriteFile(x.Out, got, 0o644)
		}
		if err != nil {
			if a.Error = err.Error(); a.Error == "" {
				a.Error = "an error without a text"
			}
		}
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(append(text, '\n')); err != nil {
			return err
		}
	}
}

// readOne converts a panic to an error.
func readOne(p peer, x question) (got []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return p.read(x.Path, x.Case)
}
