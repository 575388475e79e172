// What a signal does: stop the work, remove what is half done, tell the shell.

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
)

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return e.signal.String() }

// sameSignal is how long after a signal another is taken for the same: shorter than
// anybody's second thought.
const sameSignal = 200 * time.Millisecond

// code is the exit code by the shell's convention.
func (e *signalError) code() int { return exitOnSignal + int(e.signal) }

// withSignals returns a context that the first signal cancels, so that work
// stops between two chunks and its temporary files go. A second signal does not
// wait: it removes the temporaries and ends the process. What comes right behind the
// first is no second one: an interrupt of the whole process group, as a terminal sends it,
// has been seen to come twice where it met the start of a worker.
//
// SIGPIPE is among them because a closed standard error would otherwise end the
// process in the middle of a conversion, leaving its temporary file. SIGXFSZ, the
// limit on the size of files, would do the same; caught, it is an error of the
// write. A signal that the parent chose to ignore (nohup) stays ignored.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	received := make(chan os.Signal, 2)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGXFSZ} {
		if !signal.Ignored(s) {
			signal.Notify(received, s)
		}
	}
	done := make(chan struct{})
	go func() {
		var first time.Time
		for {
			select {
			case <-done:
				return
			case s := <-received:
				if s == syscall.SIGXFSZ {
					continue
				}
				select {
				case <-done: // both came at once, and the command has ended as it has
					return
				default:
				}
				cause := &signalError{s.(syscall.Signal)}
				if first.IsZero() {
					first = time.Now()
				} else if time.Since(first) < sameSignal {
					continue
				}
				if ctx.Err() != nil && cause.signal != syscall.SIGPIPE {
					_ = atomicfile.AbortAll() // leaving in any case; nobody is left to tell
					os.Exit(cause.code())
				}
				cancel(cause)
			}
		}
	}()
	return ctx, func() {
		signal.Stop(received)
		close(done)
		cancel(nil)
	}
}
