// Main: the tests, and what must be gone after them.

package leak

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hyperslab/hyperslab/internal/cmem"
)

// Check counts one kind of thing that must be gone when the tests are done.
type Check struct {
	Name string                // what is counted, in the plural: "open HDF5 ids"
	Left func() (int64, error) // how many are left; asked several times
}

// Rounds of garbage collection that leftovers get before they count, and the
// longest wait for the cleanups of one round.
const (
	rounds   = 20
	patience = 100 * time.Millisecond
)

// Main runs the tests and then Find, prints what is left and ends the process:
// with the tests' own status if they failed, else with 1 if anything is left.
func Main(m *testing.M, checks ...Check) {
	status := m.Run()
	if status == 0 {
		if err := Find(checks...); err != nil {
			fmt.Fprintf(os.Stderr, "leak: %v\n", err)
			status = 1
		}
	}
	os.Exit(status)
}

// Find collects garbage until no goroutine, no counted C memory and nothing
// that the checks count is left, and returns nil; or, after some rounds, one
// error that names everything left.
func Find(checks ...Check) error {
	var err error
	for range rounds {
		collect()
		if err = count(checks); err == nil {
			break
		}
	}
	return errors.Join(goleak.Find(), err)
}

func count(checks []Check) error {
	var errs []error
	if blocks, bytes := cmem.Live(); blocks != 0 || bytes != 0 {
		errs = append(errs, fmt.Errorf("%d bytes in %d blocks of C memory are not freed", bytes, blocks))
	}
	for _, c := range checks {
		left, err := c.Left()
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
		case left != 0:
			errs = append(errs, fmt.Errorf("%d %s left", left, c.Name))
		}
	}
	return errors.Join(errs...)
}

// collect runs the garbage collector and waits until a cleanup attached to an
// object that has just died was run: those queued before it then had their turn.
func collect() {
	done := make(chan struct{})
	mark := new(*byte) // a pointer, because pointer-free small objects share an allocation and die together
	runtime.AddCleanup(mark, func(c chan struct{}) { close(c) }, done)
	runtime.GC()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
