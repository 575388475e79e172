// Main: the tests, and what must be gone after them.

package leak

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
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

// Rounds of garbage collection that leftovers get before they count: what a cleanup
// lets go may have cleanups of its own, and a sync.Pool takes two to forget.
const rounds = 20

// patience is how long goroutines that are about to end may take, and in each round the
// cleanups that are due. Nothing comes of it but how late a test binary that leaks says so:
// on a machine that is busy elsewhere a thread may wait for seconds.
const patience = 10 * time.Second

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

// Find waits for goroutines to end, then collects garbage until no counted C memory
// and nothing that the checks count is left, and returns nil; or, after some rounds, one
// error that names everything left. Goroutines come first: what one of them still holds
// is not left behind yet.
func Find(checks ...Check) error {
	running := goroutines()
	var err error
	for range rounds {
		collect()
		if err = count(checks); err == nil {
			break
		}
	}
	return errors.Join(running, err)
}

// goroutines waits until there are none but those of the runtime and the caller's.
func goroutines() (err error) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = goleak.Find(); err == nil {
			break
		}
	}
	return err
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

// collect runs the garbage collector and waits until every cleanup that is due then
// has been run. One that is queued behind others may be run before they are done, so it
// is the runtime that is asked.
func collect() {
	runtime.GC()
	queue := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if metrics.Read(queue); queue[1].Value.Uint64() >= queue[0].Value.Uint64() {
			return
		}
	}
}
