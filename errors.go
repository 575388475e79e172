// Errors of untrusted files.

package hyperslab

import (
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// Errors of untrusted files and workers, for errors.Is.
var (
	// ErrLimit means that a valid file exceeds a bound of Untrusted, or that a worker exceeded its
	// limit of memory or time.
	ErrLimit = format.ErrLimit
	// ErrUnavailable means that the program does not call Init, or that the system does not support
	// the requested isolation.
	ErrUnavailable = worker.ErrUnavailable
	// ErrCrashed means that a worker failed: a signal killed it, it ended by itself, for example by
	// abort, its Go code panicked, or it sent an invalid response. The message contains the end of
	// its standard error output.
	ErrCrashed = worker.ErrCrashed
)

// Init enables worker processes for this program. It must be the first call of main, and of
// TestMain in tests: a worker is the program's own binary, executed again, and in a worker Init
// serves requests and never returns. Workers read untrusted files; see Untrusted and
// VerifyOptions.Isolated.
//
// A worker has limits of memory, processor time and descriptors, and, if the kernel supports them,
// Landlock and a seccomp filter. A crash, an abort or a hang of a library is then an error of one
// call. Each file has its own worker, which ends when the file is closed. If a program opens a
// second file within five seconds of the first, one more worker starts in advance and waits for at
// most five seconds.
//
// The package catches no signals and waits only for its own workers, so the program may use signals
// and child processes freely. If the program ignores SIGCHLD, or waits for any child, a worker that
// exceeds its limit of processor time returns ErrCrashed instead of ErrLimit. Signals from a
// terminal do not reach workers.
//
// On systems other than Linux, Init does nothing.
func Init() { worker.Init() }
