// Adapters: programs that read and write files with another implementation, and answer requests on
// standard input. docs/crosscheck-peers.md documents the protocol.

package crosscheck

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// adapterProtocol is the first field of the first line of an adapter.
const adapterProtocol = "hyperslab.crosscheck.adapter/1"

// Limits of an adapter's process.
const (
	adapterMemory = 4 << 30  // default of RunOptions.Memory, in bytes of data
	adapterFile   = 64 << 20 // bytes of a file that the process writes
	adapterLine   = 1 << 16  // bytes of an answer
	adapterStart  = 60 * time.Second
)

// adapter is a running process of an adapter. It serves one case at a time.
type adapter struct {
	o           *RunOptions
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
	diagnostics *diagnostics

	name, version string
	alone         string // command that reproduces a result without the adapter, with {in} and {object}
}

// diagnostics keeps the beginning of the output on standard error since the last request.
type diagnostics struct {
	mu sync.Mutex
	b  []byte
}

func (t *diagnostics) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[:min(len(p), talkSize-len(t.b))]...)
	return len(p), nil
}

func (t *diagnostics) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.b)
	t.b = nil
	return s
}

// cause returns the line of a program's output that contains the cause of its end.
func cause(s string) string {
	for line := range strings.Lines(s) {
		for _, start := range []string{"fatal error: ", "panic: ", "SIG", "thread '"} {
			if strings.HasPrefix(line, start) {
				return strings.TrimSpace(line)
			}
		}
	}
	return lastLine(s)
}

// startAdapter starts the process and reads its first line.
func startAdapter(ctx context.Context, o *RunOptions) (*adapter, error) {
	a := &adapter{o: o}
	if err := a.start(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// start runs the command under limits of memory, file size and core files, and without a network
// where the kernel permits it.
func (a *adapter) start(ctx context.Context) error {
	memory := a.o.Memory
	if memory == 0 {
		memory = adapterMemory
	}
	line := fmt.Sprintf("ulimit -c 0; ulimit -d %d && ulimit -f %d || exit 125\nexec %s", memory>>10, adapterFile/512, a.o.Adapter)
	a.diagnostics = &diagnostics{}
	for _, flags := range []uintptr{isolated, 0} {
		a.cmd = exec.CommandContext(ctx, "/bin/sh", "-c", line)
		a.cmd.Stderr = a.diagnostics
		// libhdf5 in any adapter finds external files in the directory of the vector.
		a.cmd.Env = append(os.Environ(), "HDF5_EXTFILE_PREFIX=${ORIGIN}")
		a.cmd.SysProcAttr = processAttributes(flags)
		a.cmd.Cancel = func() error { return killGroup(a.cmd.Process) }
		a.cmd.WaitDelay = time.Second
		in, err := a.cmd.StdinPipe()
		if err != nil {
			return fmt.Errorf("crosscheck: %w", err)
		}
		out, err := a.cmd.StdoutPipe()
		if err != nil {
			return fmt.Errorf("crosscheck: %w", err)
		}
		a.in, a.out = in, bufio.NewReaderSize(out, adapterLine)
		err = a.cmd.Start()
		if err != nil && flags != 0 && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL)) {
			continue // the kernel does not permit namespaces here
		}
		if err != nil {
			a.cmd = nil
			return fmt.Errorf("crosscheck: adapter %q: %w", a.o.Adapter, err)
		}
		break
	}
	first, err := a.line(adapterStart)
	if err != nil {
		text := a.end()
		return fmt.Errorf("crosscheck: adapter %q: no first line: %w: %s", a.o.Adapter, err, text)
	}
	fields := strings.Split(first, "\t")
	if len(fields) < 3 || fields[0] != adapterProtocol || fields[1] == "" {
		a.end()
		return fmt.Errorf("crosscheck: adapter %q: first line %q: want %q, a name and a version", a.o.Adapter, shortLine(first), adapterProtocol)
	}
	a.name, a.version, a.alone = fields[1], fields[2], ""
	if len(fields) > 3 {
		a.alone = fields[3]
	}
	return nil
}

// line reads one line of the process.
func (a *adapter) line(limit time.Duration) (string, error) {
	type reply struct {
		line []byte
		err  error
	}
	ready := make(chan reply, 1)
	go func() {
		line, err := a.out.ReadSlice('\n')
		ready <- reply{line, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-ready:
		if r.err != nil {
			return "", r.err
		}
		return strings.TrimRight(string(r.line), "\r\n"), nil
	case <-timer.C:
		a.kill()
		<-ready
		return "", os.ErrDeadlineExceeded
	}
}

func (a *adapter) kill() {
	if a.cmd != nil {
		_ = killGroup(a.cmd.Process) // it may have ended already
	}
}

// end ends the process, and returns its status with the last line of its standard error.
func (a *adapter) end() string {
	if a.cmd == nil {
		return "not running"
	}
	a.in.Close()
	done := make(chan error, 1)
	go func() { done <- a.cmd.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-time.After(time.Second):
		a.kill()
		err = <-done
	}
	a.kill() // children that it left
	a.cmd = nil
	text := "exit status 0"
	if err != nil {
		text = err.Error()
	}
	return join(text, cause(a.diagnostics.take()))
}

// ask sends one request. A verdict means that the process failed: Crash or Hang. Otherwise the
// answer has at least one field.
func (a *adapter) ask(ctx context.Context, request ...string) (answer []string, failed Verdict, detail string) {
	if a.cmd == nil {
		if err := a.start(ctx); err != nil {
			return nil, Crash, err.Error()
		}
	}
	a.diagnostics.take()
	for i, s := range request {
		request[i] = strings.NewReplacer("\t", " ", "\n", " ").Replace(s)
	}
	_, err := io.WriteString(a.in, strings.Join(request, "\t")+"\n")
	line := ""
	if err == nil {
		line, err = a.line(a.o.Timeout)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.end()
		return nil, Hang, fmt.Sprintf("no answer after %v", a.o.Timeout)
	case errors.Is(err, bufio.ErrBufferFull):
		a.kill()
		a.end()
		return nil, Crash, fmt.Sprintf("an answer of more than %d bytes", adapterLine)
	case err != nil:
		return nil, Crash, a.end()
	}
	answer = strings.Split(line, "\t")
	switch answer[0] {
	case "ok", "refused", "skip", "crash":
		return answer, "", ""
	}
	a.kill()
	a.end()
	return nil, Crash, fmt.Sprintf("answer %q: want ok, refused, skip or crash", shortLine(line))
}

func shortLine(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// field returns the i-th field of an answer, or "".
func field(answer []string, i int) string {
	if i < len(answer) {
		return strings.ToValidUTF8(answer[i], "?")
	}
	return ""
}

// unchanged returns an error if the file of a case differs from the manifest.
func unchanged(dir string, c Case) error {
	_, sum, err := digest(filepath.Join(dir, filepath.FromSlash(c.Path)))
	if err != nil {
		return fmt.Errorf("crosscheck: %s: %w", c.ID, err)
	}
	if sum != c.SHA256 {
		return fmt.Errorf("crosscheck: %s: the file has changed: got sha256 %s, want %s", c.ID, sum, c.SHA256)
	}
	return nil
}

// read asks the adapter to read a case with elements like those described. It reports false if the
// adapter skips the case. An error means that the vector is not the one of the manifest.
func (a *adapter) read(ctx context.Context, dir string, c Case, like *Decoded, out string) (Result, bool, error) {
	res := Result{Case: c.ID, Area: c.Area, Direction: Reading}
	if err := unchanged(dir, c); err != nil {
		return res, true, err
	}
	in, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(c.Path)))
	if err != nil {
		return res, true, fmt.Errorf("crosscheck: %w", err)
	}
	dtype, item := "", "0"
	if like != nil {
		dtype, item = like.DType, fmt.Sprint(like.Item)
	}
	start := time.Now()
	object := c.Object
	if c.Area == "metalayer" {
		object = c.Params["name"]
	}
	answer, failed, detail := a.ask(ctx, "read", in, out, c.Area, object, dtype, item)
	if failed == Crash { // once more, because an earlier case may have corrupted the memory of the process
		os.RemoveAll(out)
		answer, failed, detail = a.ask(ctx, "read", in, out, c.Area, object, dtype, item)
	}
	took := time.Since(start)
	defer func() { res.Time = took }()
	switch {
	case failed != "":
		res.Verdict, res.Detail, res.Time = failed, detail, took
		return res, true, nil
	case answer[0] == "skip":
		return res, false, nil
	case answer[0] == "crash":
		res.Verdict, res.Detail, res.Time = Crash, field(answer, 1), took
		return res, true, nil
	case answer[0] == "refused":
		text := field(answer, 1)
		if text == "" {
			text = "no message"
		}
		res = Judge(dir, c, nil, errors.New(text))
	case c.Must == Refuse:
		res = Judge(dir, c, nil, nil)
	default:
		got, err := readBounded(out, 16*c.Decoded.Bytes+1<<20)
		if err == nil {
			got, err = converted(dir, c, got, field(answer, 1))
		}
		if err != nil {
			res = Judge(dir, c, nil, fmt.Errorf("answer ok without a result: %w", err))
		} else {
			res = Judge(dir, c, got, nil)
		}
	}
	res.Time = took
	return res, true, nil
}

// readBounded reads at most limit bytes of a file.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}
