// Main, which runs the tests and then looks for leaks.

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

// Check counts one kind of resource that must be released when the tests are done.
type Check struct {
	Name string                // a plural: "open HDF5 ids"
	Left func() (int64, error) // the number of unreleased resources; called several times
}

// rounds is the maximum number of garbage collections before a leftover counts as a leak. A cleanup
// can release objects with further cleanups, and a sync.Pool needs two collections to release its
// objects.
const rounds = 20

// patience is the maximum time that goroutines may take to end, and that the cleanups of one round
// may take. It only delays the report of a leak. It is long because a thread may wait for seconds
// on a busy machine.
var patience = 10 * time.Second

// Main runs the tests and then Find, prints the leaks and exits. The exit status is that of the
// tests if they failed, 1 if there are leaks, and 0 otherwise.
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

// Find waits for goroutines to end, then collects garbage until all counted C memory is freed and
// all checks return 0. If that does not happen in 20 rounds, it returns one error that lists all
// leaks. It waits for goroutines first, because memory that a running goroutine holds is not leaked
// yet.
func Find(checks ...Check) error {
	_ = count(checks) // ends idle worker processes, whose goroutines would run for seconds
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

// goroutines waits until only the goroutines of the runtime and of the caller are left.
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

// collect runs the garbage collector and waits until the runtime has run every cleanup that was
// due. It compares the counters of the runtime, because a cleanup that is queued last may run
// before the others are done.
func collect() {
	runtime.GC()
	queue := []metrics.Sample{{Name: "/gc/cleanups/queued:cleanups"}, {Name: "/gc/cleanups/executed:cleanups"}}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if metrics.Read(queue); queue[1].Value.Uint64() >= queue[0].Value.Uint64() {
			return
		}
	}
}
