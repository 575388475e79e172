// What a program calls, and what it can meet: the public part of internal/worker.

package worker

import "github.com/hyperslab/hyperslab/internal/worker"

// What can happen to a worker; found by errors.Is.
var (
	// ErrUnavailable: the program does not call Init, or the system cannot isolate
	// as it was asked to.
	ErrUnavailable = worker.ErrUnavailable
	// ErrCrashed: the worker died by a signal, or ended by itself as abort does.
	ErrCrashed = worker.ErrCrashed
	// ErrLimit: the worker met its limit of memory or of processor time.
	ErrLimit = worker.ErrLimit
	// ErrTimeout: a call took longer than its limit; the worker was killed.
	ErrTimeout = worker.ErrTimeout
	// ErrPanic: Go code in the worker panicked.
	ErrPanic = worker.ErrPanic
	// ErrProtocol: the worker answered what no worker of ours answers.
	ErrProtocol = worker.ErrProtocol
)

// Error reports what happened to a worker, with the end of what it wrote to standard
// error.
type Error = worker.Error

// Level says what holds a worker; Level.Full reports whether all does that there is.
type Level = worker.Level

// Init makes isolation available to this program. It must be the first call of main,
// or of TestMain: in a process that is a worker, it serves and never returns.
func Init() { worker.Init() }

// Left ends the process that is kept ready, and returns how many processes there are of
// arrays that were not closed, and nil: for a test that looks what is left behind.
func Left() (int64, error) { return worker.Left() }
