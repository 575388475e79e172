// Host side of one worker process.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// fdControl is the descriptor of the control socket in a worker. The window and the files arrive
// over it.
const fdControl = 3

// envWorker marks a process as a worker.
const envWorker = "HYPERSLAB_WORKER"

// settings configure a worker. The host enforces the limits of time.
type settings struct {
	Service string   `json:"service"`
	Open    []byte   `json:"open"`
	Read    []string `json:"read"`
	Memory  int64    `json:"memory"`
	Window  int64    `json:"window"`
	NoFile  int      `json:"nofile"`
	Write   string   `json:"write"`
	File    int64    `json:"file"`
	Names   []string `json:"names"`
}

// hello is the message of a worker that has applied its restrictions.
type hello struct {
	Level Level `json:"level"`
}

type process struct {
	cmd     *exec.Cmd
	control *os.File
	errors  *os.File // the worker's standard error
	host    host     // state of the program when it started the process

	// Set by begin.
	cfg    *config
	window []byte
	level  Level
	stderr head
	read   chan struct{} // closed when stderr contains all of errors; nil before begin

	once sync.Once
	over chan struct{} // closed when the process has been waited for
	cpu  meter
}

// processes counts processes that were started and not yet waited for.
var processes atomic.Int64

// Left ends the idle process and returns the number of worker processes of clients that were not
// closed. The error is always nil. The signature is that of leak.Check.
func Left() (int64, error) {
	closeSpare()
	return processes.Load(), nil
}

// start returns a restricted process: the idle one, or a new one.
func start(ctx context.Context, cfg *config) (*process, error) {
	if p := takeSpare(); p != nil {
		err := p.begin(ctx, cfg)
		if err == nil || !errors.Is(err, ErrCrashed) {
			return p, err
		}
		// The idle process may have died before, so a new one is tried.
	}
	p, err := spawn()
	if err != nil {
		return nil, &Error{Op: "start", Service: cfg.Service, Err: ErrUnavailable, Detail: err.Error()}
	}
	return p, p.begin(ctx, cfg)
}

// A host identifies the state of the program that its workers inherit: the ids that decide their
// access rights, and the number of processors.
type host struct{ user, group, processors int }

func thisHost() host { return host{os.Geteuid(), os.Getegid(), runtime.GOMAXPROCS(0)} }

// spawn executes the binary again. The new process closes the descriptors that it inherited and
// waits for its settings.
func spawn() (_ *process, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "worker")
	defer theirs.Close()
	if err := unix.SetNonblock(pair[0], true); err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	p := &process{control: os.NewFile(uintptr(pair[0]), "control"), host: thisHost(), over: make(chan struct{})} // nonblocking, so that deadlines work
	var stderr *os.File
	if p.errors, stderr, err = os.Pipe(); err != nil {
		p.control.Close()
		return nil, err
	}
	defer stderr.Close()
	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{os.Args[0], "worker"},
		// GOMAXPROCS is the host's, so that the runtime does not look it up. MALLOC_ARENA_MAX is 1
		// because glibc by default reserves 64 MiB of address space for each thread that calls
		// malloc, which counts toward the limit of address space. The number of threads depends on
		// scheduling, so a worker with enough memory would sometimes fail.
		Env:        []string{envWorker + "=1", "MALLOC_ARENA_MAX=1", "GOTRACEBACK=single", fmt.Sprintf("GOMAXPROCS=%d", p.host.processors)},
		Dir:        "/",
		Stderr:     stderr,
		ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{
			// A terminal sends its signals to the foreground process group. The host handles them;
			// a worker ends when its socket closes.
			Setpgid: true,
			// Hostile code in a worker can ignore the end of the socket. The kernel kills it with
			// its host.
			Pdeathsig: unix.SIGKILL,
		},
	}
	started := make(chan error)
	go func() {
		// Pdeathsig refers to the thread that starts the process, so this thread must outlive it.
		// The thread ends with this goroutine, because it has given up its capabilities.
		runtime.LockOSThread()
		err := dropCapabilities()
		if err == nil {
			err = p.cmd.Start()
		}
		started <- err
		if err == nil {
			<-p.over
		}
	}()
	if err := <-started; err != nil {
		p.control.Close()
		p.errors.Close()
		return nil, err
	}
	processes.Add(1)
	return p, nil
}

// begin sends the settings to the process and waits until it is restricted. After an error the
// process has ended.
func (p *process) begin(ctx context.Context, cfg *config) (err error) {
	p.cfg = cfg
	p.read = make(chan struct{})
	go func() {
		io.Copy(&p.stderr, p.errors) // until the pipe ends or wait sets its deadline
		close(p.read)
	}()
	defer func() {
		if err != nil {
			p.kill()
		}
	}()
	fail := func(sentinel, cause error) error {
		return &Error{Op: "start", Service: cfg.Service, Err: sentinel, Detail: cause.Error(), Stderr: p.stderr.String()}
	}
	window, err := newWindow(cfg.Limits.Window)
	if err != nil {
		return fail(ErrUnavailable, err)
	}
	defer window.Close()
	if err := p.cpu.start(p, cfg.Limits.CPU); err != nil {
		return fail(ErrUnavailable, err)
	}
	if p.window, err = unix.Mmap(int(window.Fd()), 0, int(cfg.Limits.Window), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fail(ErrUnavailable, fmt.Errorf("map %d bytes: %w", cfg.Limits.Window, err))
	}
	set, err := json.Marshal(settings{
		Service: cfg.Service, Open: cfg.Open, Read: cfg.Read,
		Memory: cfg.Limits.Memory, Window: cfg.Limits.Window, NoFile: cfg.Limits.Files,
		Write: cfg.Write, File: cfg.Limits.File, Names: cfg.Names,
	})
	if err != nil {
		return fail(ErrProtocol, err)
	}
	var kind byte
	var answer []byte
	files, err := reopened(cfg.Files)
	if err != nil {
		return fail(ErrUnavailable, err)
	}
	defer closeAll(files)
	err = p.transfer(ctx, "start", min(startLimit, cfg.Limits.Wall), func() error {
		if err := sendFiles(p.control, append([]*os.File{window}, files...)); err != nil {
			return err
		}
		if err := writeFrame(p.control, frameConfig, set); err != nil {
			return err
		}
		kind, answer, err = readFrame(p.control)
		return err
	}, len(set))
	if err != nil {
		return err
	}
	var h hello
	if kind == frameError {
		return fail(ErrUnavailable, decodeError(answer))
	}
	if err := json.Unmarshal(answer, &h); kind != frameHello || err != nil {
		return fail(ErrProtocol, fmt.Errorf("the worker's first frame is of kind %d, %d bytes", kind, len(answer)))
	}
	p.level = h.Level
	if need := cfg.Require; need.Landlock > p.level.Landlock || need.Seccomp && !p.level.Seccomp || need.Rlimits && !p.level.Rlimits {
		return fail(ErrUnavailable, fmt.Errorf("held by %s, required %s", p.level, need))
	}
	return nil
}

// newWindow creates the shared memory. It is sealed because the host would die of SIGBUS if a
// worker could truncate it.
func newWindow(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("hyperslab-window", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "window")
	if err := f.Truncate(size); err != nil {
		f.Close()
		if errors.Is(err, unix.EFBIG) {
			err = fmt.Errorf("shared memory of %d bytes is longer than the limit of file sizes (ulimit -f): %w", size, unix.EFBIG)
		}
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		f.Close()
		return nil, fmt.Errorf("seal the window: %w", err)
	}
	return f, nil
}

// answer returns the answer in a received frame, or the service's error.
func (p *process) answer(kind byte, payload []byte) ([]byte, error) {
	switch kind {
	case frameAnswer:
		return payload, nil
	case frameError:
		err := decodeError(payload)
		if errors.Is(err, ErrProtocol) {
			return nil, &Error{Op: "call", Service: p.cfg.Service, Err: ErrProtocol, Detail: err.Error()}
		}
		return nil, err
	}
	return nil, &Error{Op: "call", Service: p.cfg.Service, Err: ErrProtocol, Detail: fmt.Sprintf("a frame of kind %d for an answer", kind)}
}

// send sends a request to the worker. receive returns the answer to the oldest one.
func (p *process) send(ctx context.Context, request []byte) error {
	return p.transfer(ctx, "call", p.cfg.Limits.Wall, func() error { return writeFrame(p.control, frameCall, request) }, len(request))
}

func (p *process) receive(ctx context.Context) (answer []byte, err error) {
	var kind byte
	last := int64(0)
	err = p.transfer(ctx, "call", p.cfg.Limits.Wall, func() (err error) {
		for {
			if kind, answer, err = readFrame(p.control); err != nil || kind != frameProgress {
				return err
			}
			var x progress
			if err := Decode(answer, &x); err != nil {
				return err
			}
			if p.cfg.Progress != nil && x.Done >= last && x.Done <= x.Total { // the worker is untrusted
				last = x.Done
				p.cfg.Progress(x.Done, x.Total)
			}
		}
	}, 0)
	if err != nil {
		return nil, err
	}
	return p.answer(kind, answer)
}

// startLimit is the maximum time from the settings of a worker to its first message. Only tests
// change it.
var startLimit = 5 * time.Second

// transfer runs move, which sends or receives a frame, until ctx ends or the limit is reached.
func (p *process) transfer(ctx context.Context, op string, most time.Duration, move func() error, size int) error {
	if size > maxFrame {
		return &Error{Op: op, Service: p.cfg.Service, Err: ErrProtocol, Detail: fmt.Sprintf("request of %d bytes, at most %d", size, maxFrame)}
	}
	p.cpu.renew()
	if err := p.control.SetDeadline(time.Now().Add(most)); err != nil {
		return &Error{Op: op, Service: p.cfg.Service, Err: ErrUnavailable, Detail: err.Error()}
	}
	past := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(past)
		p.control.SetDeadline(time.Unix(1, 0))
	})
	defer func() {
		if !stop() {
			<-past // otherwise it could end the next call
		}
	}()
	err := move()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded) && most < p.cfg.Limits.Wall: // the start
		return &Error{Op: op, Service: p.cfg.Service, Err: ErrUnavailable, Detail: fmt.Sprintf("the worker was not ready after %v%s", most, signalQueue().text()), Stderr: p.stderr.String()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Op: op, Service: p.cfg.Service, Err: ErrTimeout, Detail: "after " + most.String()}
	case errors.Is(err, ErrProtocol):
		return &Error{Op: op, Service: p.cfg.Service, Err: ErrProtocol, Detail: err.Error()}
	}
	return p.died(op, err)
}

// died returns the error for a broken socket. It derives the cause from the end of the process.
func (p *process) died(op string, cause error) error {
	p.reap(2 * time.Second)
	e := &Error{Op: op, Service: p.cfg.Service, Err: ErrCrashed, Stderr: p.stderr.String()}
	state := p.cmd.ProcessState
	if state == nil {
		e.Detail = cause.Error()
		return e
	}
	e.Detail = state.String()
	switch {
	case p.cpu.exceeded() != "":
		e.Err, e.Detail = ErrLimit, p.cpu.exceeded()
	case outOfMemory(e.Stderr):
		e.Err, e.Detail = ErrLimit, fmt.Sprintf("memory of %d bytes", p.cfg.Limits.Memory)
	}
	return e
}

// outOfMemory reports whether the Go runtime of a worker, or the race detector in a race build,
// ended for lack of memory.
func outOfMemory(stderr string) bool {
	for _, s := range []string{"out of memory", "cannot allocate memory", "failed to reserve", "pthread_create failed", "failed to allocate", "too many address space collisions"} {
		if strings.Contains(stderr, s) {
			return true
		}
	}
	return false
}

// reap waits for the end of a process whose socket broke, and kills it after patience.
func (p *process) reap(patience time.Duration) {
	t := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	defer t.Stop()
	p.wait()
}

func (p *process) wait() {
	p.once.Do(func() {
		p.cpu.stop()
		p.cmd.Wait() // sets ProcessState
		close(p.over)
		processes.Add(-1)
		p.control.Close()
		if p.read != nil {
			p.errors.SetReadDeadline(time.Now().Add(time.Second)) // another process may still have the other end open
			<-p.read
		}
		p.errors.Close()
		if p.window != nil {
			unix.Munmap(p.window)
			p.window = nil
		}
	})
}

// kill ends the process and frees what the host holds for it.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		p.cmd.Process.Kill() // it may have ended already
	}
	p.wait()
}

// head keeps the first bytes that a worker writes to standard error, which contain the cause of a
// fatal error, and drops the rest.
type head struct {
	mu sync.Mutex
	b  []byte
}

const headSize = 8 << 10

var _ io.Writer = (*head)(nil)

func (t *head) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b[:min(len(b), headSize-len(t.b))]...)
	return len(b), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.b))
}
