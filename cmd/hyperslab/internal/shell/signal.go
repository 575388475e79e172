// Signals: the work is stopped, unfinished outputs are removed, and the exit code names the signal.

package shell

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
)

// SignalError is the cause of a context that a signal cancelled.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return e.Signal.String() }

// signalDelay is how long a command that lost a worker waits for the signal that may have ended the
// worker.
const signalDelay = 200 * time.Millisecond

// code is the exit code by the shell's convention.
func (e *SignalError) code() int { return exitOnSignal + int(e.Signal) }

// stopWithin is how long work has after a signal to stop by itself.
const stopWithin = 700 * time.Millisecond

// ChangesInPlace counts the changes to files themselves that are in progress. They are completed,
// because an interruption can corrupt the file.
var ChangesInPlace atomic.Int32

// WithSignals returns a context that the first signal cancels, so that work stops between two
// chunks and its temporary files are removed. Work that does not stop within stopWithin, for
// example because one chunk takes long or a file system does not answer, ends with the process:
// report is called and its temporary files are removed first. Only a change in place has no such
// limit.
// A second signal removes the temporary files and ends the process at once.
//
// SIGPIPE is handled because a closed standard error would otherwise end the process during a
// conversion and leave its temporary file. It also arrives when a server closes a connection or a
// worker ends; then the write returns an error, and the work goes on. SIGXFSZ, the limit on file
// sizes, is handled for the same reason. A signal that the parent ignores (nohup) stays ignored.
func WithSignals(parent context.Context, report func(*SignalError)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	tryPidfd()
	received := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, fileTooLarge} {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
	done := make(chan struct{})
	go func() {
		var late <-chan time.Time
		var stopped *SignalError
		for {
			select {
			case <-done:
				return
			case <-late:
				if ChangesInPlace.Load() > 0 {
					late = time.After(stopWithin / 10)
					continue
				}
				report(stopped)
				abortAll()
				os.Exit(stopped.code())
			case s := <-received:
				if s == fileTooLarge || s == syscall.SIGPIPE && !outputClosed() {
					continue
				}
				select {
				case <-done: // the command has ended already
					return
				default:
				}
				cause := &SignalError{s.(syscall.Signal)}
				if ctx.Err() != nil && cause.Signal != syscall.SIGPIPE {
					abortAll()
					os.Exit(cause.code())
				}
				if cancel(cause); late == nil {
					stopped, late = cause, time.After(stopWithin)
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}

// abortAll removes the temporary files directly before the process ends. The work that still runs
// can add files to a directory while it is removed, so several attempts may be necessary. AbortAll
// waits for a Commit.
func abortAll() {
	for range 100 {
		if atomicfile.AbortAll() == nil {
			return
		}
	}
}

// tryPidfd makes package os try clone(CLONE_PIDFD), which it otherwise does when the first worker
// is started. The child of that trial shares memory and signal handlers with this process for some
// microseconds. A signal to the process group, as a terminal sends it, would reach both, and the
// program would receive it twice. The trial must therefore end before the program handles signals.
func tryPidfd() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Release() // releases a descriptor; the process runs on
	}
}
