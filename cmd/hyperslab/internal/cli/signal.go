// What a signal does: stop the work, remove what is half done, tell the shell.

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/hyperslab/hyperslab/internal/atomicfile"
)

// signalError is the cause of a context that a signal cancelled.
type signalError struct{ signal syscall.Signal }

func (e *signalError) Error() string { return e.signal.String() }

// code is the exit code by the shell's convention.
func (e *signalError) code() int { return exitOnSignal + int(e.signal) }

// withSignals returns a context that the first signal cancels, so that work
// stops between two chunks and its temporary files go. A second signal does not
// wait: it removes the temporaries and ends the process.
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
