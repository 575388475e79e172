package hyperslab_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// sentinels are those of the public packages whose code runs in workers, by the name of the list of
// the package in api.
var sentinels = map[string]map[string]error{
	"hyperslab": {"ErrCrashed": hyperslab.ErrCrashed, "ErrLimit": hyperslab.ErrLimit, "ErrLocked": hyperslab.ErrLocked, "ErrReplaced": hyperslab.ErrReplaced,
		"ErrUnavailable": hyperslab.ErrUnavailable},
	"cblosc-frameio": {"ErrLocked": frameio.ErrLocked},
	"ndarray": {
		"ErrClosed": ndarray.ErrClosed, "ErrCorrupt": ndarray.ErrCorrupt, "ErrExists": ndarray.ErrExists, "ErrFormat": ndarray.ErrFormat,
		"ErrLocked": ndarray.ErrLocked, "ErrNotFound": ndarray.ErrNotFound, "ErrParam": ndarray.ErrParam, "ErrReadOnly": ndarray.ErrReadOnly,
		"ErrRegion": ndarray.ErrRegion, "ErrReplaced": ndarray.ErrReplaced,
		"ErrShape": ndarray.ErrShape, "ErrSize": ndarray.ErrSize, "ErrType": ndarray.ErrType, "ErrValue": ndarray.ErrValue,
	},
	"h5": {
		"ErrClosed": h5.ErrClosed, "ErrCorrupt": h5.ErrCorrupt, "ErrExists": h5.ErrExists, "ErrKind": h5.ErrKind, "ErrLocked": h5.ErrLocked,
		"ErrNoFilter": h5.ErrNoFilter, "ErrNoOrder": h5.ErrNoOrder, "ErrNotFound": h5.ErrNotFound, "ErrNotHDF5": h5.ErrNotHDF5,
		"ErrOverflow": h5.ErrOverflow, "ErrParam": h5.ErrParam, "ErrPrecision": h5.ErrPrecision, "ErrReadOnly": h5.ErrReadOnly,
		"ErrReentrant": h5.ErrReentrant, "ErrRegion": h5.ErrRegion, "ErrSize": h5.ErrSize, "ErrTruncated": h5.ErrTruncated,
		"ErrType": h5.ErrType, "ErrUserLink": h5.ErrUserLink, "ErrVersion": h5.ErrVersion,
	},
	"h5-filter": {"ErrChecksum": filter.ErrChecksum, "ErrGrows": filter.ErrGrows},
	"cblosc": {
		"ErrBroken": cblosc.ErrBroken, "ErrClosed": cblosc.ErrClosed, "ErrExists": cblosc.ErrExists, "ErrFormat": cblosc.ErrFormat,
		"ErrLimit": cblosc.ErrLimit, "ErrNotFound": cblosc.ErrNotFound, "ErrParam": cblosc.ErrParam, "ErrReadOnly": cblosc.ErrReadOnly,
		"ErrRegion": cblosc.ErrRegion, "ErrSize": cblosc.ErrSize,
	},
	"": { // of the standard library
		"fs.ErrNotExist": fs.ErrNotExist, "fs.ErrExist": fs.ErrExist, "fs.ErrPermission": fs.ErrPermission, "fs.ErrInvalid": fs.ErrInvalid,
		"errors.ErrUnsupported": errors.ErrUnsupported,
	},
}

// values are errors of the public types.
var values = []error{
	&ndarray.Error{Op: "read", Path: "a.h5:/x", Err: ndarray.ErrCorrupt},
	&format.Error{Format: "blosc2 frame", What: "size", Offset: 12, Got: "3", Want: "4", Err: hyperslab.ErrLimit},
	&h5.Error{Op: "open", Path: "a.h5", Errno: syscall.ENOSPC, Stack: []h5.Frame{{Func: "H5Fopen", File: "H5F.c", Line: 7, Desc: "no space", Major: "H5E_FILE", Minor: "H5E_CANTOPENFILE"}}},
	&h5.FilterError{ID: 32026, Name: "blosc2"},
	&h5.OutsideError{File: "b.h5"},
	&h5.UnclosedError{End: 10, Size: 20},
	&h5.UserLinkError{Class: 187, Name: "link"},
	&filter.Error{Op: "decode", Filter: 1, Step: 2, Err: filter.ErrChecksum},
	&chunkio.Error{Op: "read", Path: "/x", Chunk: []int64{3, 4}, Err: h5.ErrCorrupt},
	&cblosc.Error{Op: "open", Path: "a.b2nd", Code: -2, Call: "blosc2_schunk_open", Err: syscall.EIO},
	&frameio.Error{Op: "read chunk", Path: "a.b2nd", Chunk: 7, Err: cblosc.ErrFormat},
	&fs.PathError{Op: "open", Path: "a", Err: syscall.EACCES},
}

const errorService worker.Service[struct{}, int] = "errors of the test"

func init() {
	errorService.Register(func(*worker.Session, *struct{}) (worker.Handler[int], error) { return errorHandler{}, nil })
}

// errorHandler returns the error of that number.
type errorHandler struct{}

func (errorHandler) Call(n *int) (any, error) { return nil, crossingErrors()[*n] }

// crossingErrors returns all sentinels and values, wrapped. The order is the same in each process.
func crossingErrors() (errs []error) {
	for _, list := range []string{"hyperslab", "ndarray", "h5", "h5-filter", "cblosc", "cblosc-frameio", ""} {
		for _, name := range slices.Sorted(maps.Keys(sentinels[list])) {
			errs = append(errs, &ndarray.Error{Op: "open", Path: "a.h5:/x", Err: fmt.Errorf("%w: got 3, want 4", sentinels[list][name])})
		}
	}
	for _, v := range values {
		errs = append(errs, fmt.Errorf("a value: %w", v))
	}
	return errs
}

// TestWorker_errors checks that each error of the public packages keeps its text, its sentinels and
// its values on the way from a worker to the program.
func TestWorker_errors(t *testing.T) {
	c, err := errorService.Client(worker.Config{}, struct{}{})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for i, want := range crossingErrors() {
		got := c.Ask(t.Context(), &i, 0, nil)
		require.EqualError(t, got, want.Error())
		for _, list := range sentinels {
			for name, s := range list {
				require.Equal(t, errors.Is(want, s), errors.Is(got, s), "%v is %s", want, name)
			}
		}
		if e, ok := errors.AsType[*ndarray.Error](want); ok {
			x, ok := errors.AsType[*ndarray.Error](got)
			require.True(t, ok)
			require.Equal(t, []string{e.Op, e.Path, e.Error()}, []string{x.Op, x.Path, x.Error()})
			continue
		}
		v := errors.Unwrap(want)
		remote, ok := errors.AsType[*worker.RemoteError](got)
		require.True(t, ok)
		require.Len(t, remote.Values, 1)
		require.IsType(t, v, remote.Values[0])
		require.Equal(t, fmt.Sprintf("%+v", v), fmt.Sprintf("%+v", remote.Values[0]))
	}
	require.Equal(t, 1, c.Starts())
}

// TestWorker_allErrors checks that the table of TestWorker_errors contains every sentinel that the
// public packages list, except those of packages that never run in a worker.
func TestWorker_allErrors(t *testing.T) {
	lists, err := filepath.Glob("api/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, lists)
	found := 0
	for _, list := range lists {
		name := strings.TrimSuffix(filepath.Base(list), ".txt")
		if name == "plan" || name == "crosscheck" || name == "remote" {
			continue
		}
		b, err := os.ReadFile(list)
		require.NoError(t, err)
		for line := range strings.Lines(string(b)) {
			if s, ok := strings.CutPrefix(strings.TrimSpace(line), "var Err"); ok {
				s = "Err" + strings.Fields(s)[0]
				require.Contains(t, sentinels[name], s, list)
				found++
			}
		}
	}
	require.Greater(t, found, 40)
}
