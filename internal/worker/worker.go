// What host and worker agree on: configuration, limits, levels and errors.

package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab/internal/ceil"
)

// The sentinels of an *Error.
var (
	// ErrUnavailable: this program has not called Init, or the system cannot
	// isolate as the Config requires.
	ErrUnavailable = errors.New("isolation unavailable")
	// ErrCrashed: the worker died by a signal or ended by itself.
	ErrCrashed = errors.New("worker crashed")
	// ErrPanic: Go code of the service panicked; the worker lives on.
	ErrPanic = errors.New("panic in the worker")
	// ErrLimit: the worker met a limit of memory or of processor time.
	ErrLimit = errors.New("worker met a limit")
	// ErrTimeout: a call took longer than Limits.Wall; the worker was killed.
	ErrTimeout = errors.New("worker timed out")
	// ErrProtocol: the worker answered what no worker of ours answers.
	ErrProtocol = errors.New("worker broke the protocol")
	// ErrClosed: the client is closed.
	ErrClosed = errors.New("worker client closed")
)

// Error reports what happened to a worker.
type Error struct {
	Op      string // "start", "call", "close"
	Service string
	Err     error  // one of the sentinels
	Detail  string // the signal, the exit status, the limit
	Stderr  string // the end of what the worker wrote to standard error, "" if nothing
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "worker: %s %s: %v", e.Op, e.Service, e.Err)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if line, _, _ := strings.Cut(e.Stderr, "\n"); line != "" {
		fmt.Fprintf(&b, " (%s)", line)
	}
	return b.String()
}

// Unwrap gives the sentinel to errors.Is.
func (e *Error) Unwrap() error { return e.Err }

// RemoteError is an error that a service returned in the worker: its text, and
// those of the registered sentinels that it wrapped there.
type RemoteError struct {
	Text      string
	Sentinels []error
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap gives the sentinels to errors.Is.
func (e *RemoteError) Unwrap() []error { return e.Sentinels }

// Limits bound one worker. A zero field takes the default named with it.
type Limits struct {
	Memory int64         // bytes of address space beyond what the started process has; default 1 GiB
	CPU    time.Duration // processor time from one call or answer to the next, of all threads; default 60 s
	Wall   time.Duration // wall time of one call; default 120 s
	Files  int           // descriptors beyond those the worker is given; default 64
	Window int64         // bytes of shared memory, a multiple of the page size; default 16 MiB
	File   int64         // bytes of the longest file in Config.Write; default 1 GiB; without Write it is 0
}

// The defaults of Limits.
const (
	DefaultMemory = 1 << 30
	DefaultCPU    = 60 * time.Second
	DefaultWall   = 120 * time.Second
	DefaultFiles  = 64
	DefaultWindow = 16 << 20
	DefaultFile   = 1 << 30
)

func (l Limits) filled() Limits {
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	if l.CPU == 0 {
		l.CPU = DefaultCPU
	}
	if l.Wall == 0 {
		l.Wall = DefaultWall
	}
	if l.Files == 0 {
		l.Files = DefaultFiles
	}
	if l.Window == 0 {
		l.Window = DefaultWindow
	}
	if l.File == 0 {
		l.File = DefaultFile
	}
	page := int64(os.Getpagesize())
	l.Window = ceil.Multiple(l.Window, page, math.MaxInt64)
	return l
}

func (l Limits) check() error {
	switch {
	case l.Memory < 0, l.CPU < 0, l.Wall < 0, l.Files < 0, l.Window < 0, l.File < 0:
		return fmt.Errorf("a limit is negative: %+v", l)
	case l.Window > 1<<40:
		return fmt.Errorf("window of %d bytes, at most %d", l.Window, int64(1)<<40)
	}
	return nil
}

// Level reports the isolation of a worker.
type Level struct {
	Landlock int  // version of the kernel's interface that is in use, 0 without Landlock
	Seccomp  bool // the filter of system calls and their arguments is installed
	Rlimits  bool // address space, descriptors, file size
}

// Full reports whether all parts hold. Any version of Landlock suffices, because the filter
// denies what newer versions restrict: truncation (version 3), TCP (4), ioctl on devices (5),
// signals to other processes and abstract sockets (6).
func (l Level) Full() bool { return l.Landlock > 0 && l.Seccomp && l.Rlimits }

// Full is the Level to require where isolation must be complete.
var Full = Level{Landlock: 1, Seccomp: true, Rlimits: true}

func (l Level) String() string {
	var parts []string
	if l.Rlimits {
		parts = append(parts, "rlimits")
	}
	if l.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock (ABI %d)", l.Landlock))
	}
	if l.Seccomp {
		parts = append(parts, "seccomp")
	}
	if len(parts) == 0 {
		return "process only"
	}
	return strings.Join(parts, ", ")
}

// maxFiles bounds the files of a Config: with the window as many descriptors as one
// message carries (Linux: SCM_MAX_FD).
const maxFiles = 252

// Config says what a worker runs and what it may reach.
type Config struct {
	Service string
	Open    []byte     // given to the Service when it starts
	Files   []*os.File // given to the Service as Session.Files, in this order, at most 252; the host keeps its own
	Read    []string   // files and directories the worker may open for reading; absolute paths
	Write   string     // a directory in which it may make, change and remove files; absolute path; "" for none
	Limits  Limits
	Require Level // minimum: with less, starting the worker is ErrUnavailable
}

// A Session is what a Service finds in its worker.
type Session struct {
	Open   []byte     // of the Config
	Files  []*os.File // of the Config; a worker may also open them anew, by FilePath
	Window []byte     // the shared memory
	Level  Level
}

// FilePath is a path that leads to an open file or directory itself, whatever
// became of the name it was opened by. It is good as long as the file is open, and
// on Linux alone: elsewhere it is the file's name.
func FilePath(f *os.File) string {
	if runtime.GOOS != "linux" {
		return f.Name()
	}
	return fmt.Sprintf("/proc/self/fd/%d", f.Fd())
}

// A Handler answers the calls of one worker, one at a time unless it is also a Beside.
type Handler interface {
	// Call answers one request. Data that do not fit into an answer of a few
	// kilobytes go into Session.Window.
	Call(request []byte) (answer []byte, err error)
}

// A Beside is a Handler some of whose calls may run beside each other, which a Stream
// makes use of.
type Beside interface {
	Handler
	// Beside reports whether the call with this request may run beside others for which
	// it said so. It is asked before the call, while such may be running.
	Beside(request []byte) bool
}

// A Service makes the Handler of one worker. An error ends the worker and is the
// error of the host's first call.
type Service func(*Session) (Handler, error)

var registry = struct {
	mu       sync.Mutex
	services map[string]Service
	errors   []error // their indexes cross the border: host and worker are one binary
}{
	services: make(map[string]Service),
	errors:   []error{ErrPanic, ErrProtocol},
}

// Register names a service. It is called in init functions: a worker knows the
// services of its binary when Init runs. It panics if the name is taken.
func Register(name string, s Service) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.services[name] != nil {
		panic("worker: service " + name + " is registered twice")
	}
	registry.services[name] = s
}

// RegisterErrors names sentinels that errors.Is shall find in the host when a
// service's error wraps them. It is called in init functions.
func RegisterErrors(sentinels ...error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, s := range sentinels {
		if !slices.Contains(registry.errors, s) {
			registry.errors = append(registry.errors, s)
		}
	}
}

func service(name string) Service {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.services[name]
}
