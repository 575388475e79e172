// Tests of malicious files.

package h5file_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// look calls every operation on a file and returns the result of Check.
func look(t testing.TB, b []byte) error {
	t.Helper()
	tree := describe(b)
	require.NoError(t, tree.WriteText(io.Discard))
	f, err := open(b)
	if err != nil {
		requireError(t, err)
		return err
	}
	if f.Damage() != nil {
		requireError(t, f.Damage())
	}
	for e, err := range f.Walk() {
		if err != nil {
			requireError(t, err)
		}
		o := e.Object
		if o == nil {
			continue
		}
		for _, err := range o.Attributes() {
			if err != nil {
				requireError(t, err)
			}
		}
		// An index may contain any number of chunks that are not stored.
		n := 0
		for _, err := range o.Chunks() {
			if err != nil {
				requireError(t, err)
			}
			if n++; n > 1000 {
				break
			}
		}
		if _, err := o.Mappings(); err != nil {
			requireError(t, err)
		}
		f.DescribeObject(o.Addr)
	}
	_, _ = f.SharedIndexes()
	err = f.Check(everything())
	if err != nil {
		requireError(t, err)
		requireComplaint(t, tree, err)
	}
	return err
}

// requireError checks that an error contains a location and a reason.
func requireError(t testing.TB, err error) {
	t.Helper()
	var e *format.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "hdf5", e.Format)
	require.NotEmpty(t, e.What)
	require.GreaterOrEqual(t, e.Offset, int64(0), "%v", err)
	for _, kind := range []error{format.ErrTruncated, format.ErrMagic, format.ErrVersion, format.ErrCorrupt, format.ErrLimit, format.ErrUnsupported} {
		if errors.Is(err, kind) {
			return
		}
	}
	t.Fatalf("%v wraps no sentinel", err)
}

// requireComplaint checks that Describe reports an error if Check returned one. ErrUnsupported is
// excluded, because descriptions do not depend on a policy.
func requireComplaint(t testing.TB, tree format.Field, err error) {
	t.Helper()
	if errors.Is(err, format.ErrUnsupported) {
		return
	}
	for range tree.Complaints() {
		return
	}
	t.Fatalf("Check refuses and Describe has no complaint: %v", err)
}

func TestHostileFiles(t *testing.T) {
	files := findFiles(t, filepath.Join(testenv.Directory(t, testenv.Corpus), "hostile-hdf5"))
	var table strings.Builder
	accepted := 0
	for _, file := range files {
		b := load(t, file)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		err := look(t, b)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		// The total allocations of all operations in look must be bounded.
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20+1000*len(b)), file)
		require.Less(t, took, 20*time.Second, file)
		verdict := "accepted"
		if err != nil {
			verdict = err.Error()
		} else {
			accepted++
			requireSurvived(t, file)
		}
		fmt.Fprintf(&table, "%-28s %s\n", filepath.Base(file), verdict)
	}
	t.Logf("%d files, %d accepted:\n%s", len(files), accepted, &table)
	require.Less(t, accepted, len(files)/4)
}

// requireSurvived reads a file that Check accepts with h5dump, in a separate process. h5dump may
// return an error but must not crash.
func requireSurvived(t *testing.T, file string) {
	t.Helper()
	h5dump := filepath.Join("..", "..", "..", "third_party", "build", "bin", "h5dump")
	if _, err := os.Stat(h5dump); err != nil {
		return // a system libhdf5 comes without this h5dump
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var exit *exec.ExitError
	if err := exec.CommandContext(ctx, h5dump, file).Run(); err != nil {
		require.ErrorAs(t, err, &exit, file)
		require.Positive(t, exit.ExitCode(), "%s: %v", file, err) // -1: killed by a signal
	}
}

// TestTruncated checks that files truncated at many offsets are rejected.
func TestTruncated(t *testing.T) {
	for _, name := range []string{"earliest", "v18", "shared tree"} {
		b := fixtures(t)[name]
		for n := 0; n < len(b); n += max(len(b)/29, 1) {
			require.Error(t, look(t, b[:n]), "%s cut to %d of %d bytes", name, n, len(b))
		}
	}
}

// TestLimits checks that reading stops with ErrLimit at each limit.
func TestLimits(t *testing.T) {
	b := fixtures(t)["latest"]
	_, err := h5file.Open(bytes.NewReader(b), int64(len(b)), &h5file.Limits{Structure: 8, Reread: 1, Depth: 1})
	require.ErrorIs(t, err, format.ErrLimit)
	f, err := h5file.Open(bytes.NewReader(b), int64(len(b)), &h5file.Limits{Structure: 64, Reread: 8, Depth: 64})
	require.NoError(t, err)
	_, err = f.Root()
	require.ErrorIs(t, err, format.ErrLimit)
	f, err = h5file.Open(bytes.NewReader(b), int64(len(b)), &h5file.Limits{Structure: 1 << 20, Reread: 8, Depth: 1})
	require.NoError(t, err)
	require.ErrorIs(t, f.Check(everything()), format.ErrLimit, "a compound is two types inside one another")
}

// TestCheck_recursiveType checks a committed type whose datatype message refers to its own header.
// libhdf5 follows the references until its stack overflows.
func TestCheck_recursiveType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, nil)
	require.NoError(t, err)
	c, err := f.Root().CommitDatatype("type", h5.Int(4, h5.LittleEndian))
	require.NoError(t, err)
	shared, err := c.Shared()
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("x", shared, h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	require.NoError(t, errors.Join(c.Close(), d.Close(), f.Close()))
	o := hdf5test.Object(t, path, "/type")
	require.EqualValues(t, 1, o.Version)
	message := o.Message(h5file.DatatypeType)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, look(t, b), "the original file")
	b[message.Offset-4] = 2 // flags: the message is shared
	b[message.Offset], b[message.Offset+1] = 3, byte(h5file.SharedCommitted)
	binary.LittleEndian.PutUint64(b[message.Offset+2:], uint64(o.Addr))
	err = look(t, b)
	require.ErrorIs(t, err, format.ErrCorrupt)
	require.ErrorContains(t, err, "a shared message that is shared again")
}
