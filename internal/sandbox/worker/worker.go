// Configuration, limits, levels and errors that host and worker share.

package worker

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// Sentinels of an *Error.
var (
	// ErrUnavailable: this program has not called Init, or the system cannot isolate as the Config
	// requires.
	ErrUnavailable = errs.New("isolation unavailable")
	// ErrCrashed: the worker died by a signal or exited.
	ErrCrashed = errs.New("worker crashed")
	// ErrPanic: Go code of the service panicked; the worker continues. It matches ErrCrashed.
	ErrPanic = errs.New("panic in the worker", ErrCrashed)
	// ErrLimit: the worker exceeded a limit of memory or of processor time. It matches
	// format.ErrLimit.
	ErrLimit = errs.New("worker exceeded a limit", format.ErrLimit)
	// ErrTimeout: a call took longer than Limits.Wall; the worker was killed. It matches
	// format.ErrLimit.
	ErrTimeout = errs.New("worker timed out", format.ErrLimit)
	// ErrProtocol: the worker sent an invalid answer. It matches ErrCrashed.
	ErrProtocol = errs.New("worker broke the protocol", ErrCrashed)
	// ErrClosed: the client is closed.
	ErrClosed = errs.New("worker client closed")
)

// Error reports what happened to a worker.
type Error struct {
	Op      string // "start", "call", "close"
	Service string
	Err     error  // one of the sentinels
	Detail  string // the signal, the exit status, the limit
	Stderr  string // the beginning of the worker's output on standard error (at most 8 KiB)
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "worker: %s %s: %v", e.Op, e.Service, e.Err)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	if line, _, _ := strings.Cut(e.Stderr, "\n"); line != "" && line != e.Detail { // a failed start writes its reason there too
		fmt.Fprintf(&b, " (%s)", line)
	}
	return b.String()
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

// Limits are the limits of one worker. A zero field means the default in its comment.
type Limits struct {
	Memory int64         // bytes of address space beyond the size of the started process; default 1 GiB
	CPU    time.Duration // processor time of all threads from one call or answer to the next; default 60 s
	Wall   time.Duration // wall time of one call; default 120 s
	Files  int           // descriptors beyond those that the worker receives; default 64
	Window int64         // bytes of shared memory, a multiple of the page size; default 16 MiB
	File   int64         // maximum length in bytes of a file in Config.Write; default 1 GiB; 0 without Write
}

// Defaults of Limits.
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
	l.Window = grid.RoundUp(l.Window, page, math.MaxInt64)
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
	Seccomp  bool // a filter of system calls and their arguments is installed
	Rlimits  bool // address space, descriptors, file size
}

// Full reports whether all parts are active. Any version of Landlock suffices, because the filter
// denies operations that only newer versions restrict: truncation (version 3), TCP (4), ioctl on
// devices (5), signals to other processes and abstract sockets (6).
func (l Level) Full() bool { return l.Landlock > 0 && l.Seccomp && l.Rlimits }

// Full is the Level to require if isolation must be complete.
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

// maxFiles is the maximum number of files of a Config. Together with the window they are as many
// descriptors as one message can carry (Linux: SCM_MAX_FD).
const maxFiles = 252

// Config configures a worker: its files and its limits.
type Config struct {
	Files    []*os.File              // passed to the service as Session.Files, in this order, at most 252; the host keeps its descriptors
	Names    []string                // of the Files; errors of the worker contain them instead of the paths of descriptors; may be shorter
	Read     []string                // files and directories that the worker may open for reading; absolute paths
	Write    string                  // directory in which the worker may create, change and remove files; absolute path; "": no directory
	Limits   Limits                  // limits of memory, time and descriptors
	Require  Level                   // minimum: if less is available, starting the worker is ErrUnavailable
	Progress func(done, total int64) // receives the calls of Session.Progress during a call; it must not use the Client; may be nil
}

// config is a Config with the service and its first message.
type config struct {
	Config
	Service string
	Open    []byte
}

// A Session is the input of a service in its worker.
type Session struct {
	Files  []*os.File        // Config.Files; a worker may also reopen them by FilePath
	Names  *strings.Replacer // replaces the paths of the Files by their names
	Window []byte            // shared memory
	Level  Level

	// Progress reports the progress of the current call to Config.Progress, at most about 256 times
	// for each total.
	Progress func(done, total int64)

	open []byte
}

// FilePath returns a path that leads to an open file or directory even if its name was removed or
// replaced. It is valid as long as the file is open, and on Linux only: elsewhere it is the file's
// name.
func FilePath(f *os.File) string {
	if runtime.GOOS != "linux" {
		return f.Name()
	}
	return fmt.Sprintf("/proc/self/fd/%d", f.Fd())
}

// Replacer returns a replacer of paths of descriptors by names. A path with further digits is that
// of another descriptor and stays.
func Replacer(names map[string]string) *strings.Replacer {
	// The first match counts, so that longer paths are first.
	longest := func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }
	var pairs []string
	for _, path := range slices.SortedFunc(maps.Keys(names), longest) {
		for digit := range 10 {
			other := path + strconv.Itoa(digit)
			pairs = append(pairs, other, other)
		}
		pairs = append(pairs, path, names[path])
	}
	return strings.NewReplacer(pairs...)
}

// A rawHandler answers the calls of one worker, one at a time unless it is also a besideHandler.
type rawHandler interface {
	// Call answers one request. Data that do not fit into an answer of a few kilobytes should go
	// into Session.Window.
	Call(request []byte) (answer []byte, err error)
}

// A besideHandler is a rawHandler that can run some of its calls concurrently, for a Stream.
type besideHandler interface {
	rawHandler
	// Beside reports whether the call with this request may run concurrently with other such calls.
	// It is called before the call, while other calls may be running.
	Beside(request []byte) bool
}

// A rawService creates the handler of one worker. An error ends the worker and is the error of the
// host's first call.
type rawService func(*Session) (rawHandler, error)

var registry = struct {
	mu       sync.Mutex
	services map[string]rawService
	// Types of errors are identified by index in messages, because host and worker are the same
	// binary.
	types []reflect.Type
}{
	services: make(map[string]rawService),
}

func register(name string, s rawService) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if registry.services[name] != nil {
		panic("worker: service " + name + " is registered twice")
	}
	registry.services[name] = s
}

func service(name string) rawService {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.services[name]
}
