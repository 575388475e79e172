// Functions and errors for programs: the public part of internal/worker.

package worker

import "github.com/hyperslab/hyperslab/internal/worker"

// Failures of a worker, for errors.Is.
var (
	// ErrUnavailable: the program does not call Init, or the system does not support the requested
	// isolation.
	ErrUnavailable = worker.ErrUnavailable
	// ErrCrashed: a signal killed the worker, or it ended by itself, for example by abort.
	ErrCrashed = worker.ErrCrashed
	// ErrLimit: the worker exceeded its limit of memory or processor time.
	ErrLimit = worker.ErrLimit
	// ErrTimeout: a call took longer than its limit; the worker was killed.
	ErrTimeout = worker.ErrTimeout
	// ErrPanic: Go code in the worker panicked.
	ErrPanic = worker.ErrPanic
	// ErrProtocol: the worker sent an invalid response.
	ErrProtocol = worker.ErrProtocol
)

// Error reports a failure of a worker, with the end of its standard error output.
type Error = worker.Error

// Level describes the isolation of a worker. Level.Full reports whether all supported mechanisms
// are active.
type Level = worker.Level

// Init enables isolation for this program. It must be the first call of main, or of TestMain,
// because in a worker process it serves requests and never returns.
func Init() { worker.Init() }

// Left ends the idle worker. It returns the number of processes of arrays that were not closed, and
// nil. It is for tests that check for leaked processes.
func Left() (int64, error) { return worker.Left() }
