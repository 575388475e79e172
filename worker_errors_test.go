package hyperslab_test

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// sentinels returns those of all packages and of the standard library.
func sentinels() []error {
	return append(errs.All(), fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, errors.ErrUnsupported)
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
func crossingErrors() (list []error) {
	for _, s := range sentinels() {
		if s == worker.ErrProtocol {
			continue // it ends the worker
		}
		list = append(list, &ndarray.Error{Op: "open", Path: "a.h5:/x", Err: fmt.Errorf("%w: got 3, want 4", s)})
	}
	for _, v := range values {
		list = append(list, fmt.Errorf("a value: %w", v))
	}
	return list
}

// TestWorker_errors checks that each error of the public packages keeps its text, its sentinels and
// its values on the way from a worker to the program.
func TestWorker_errors(t *testing.T) {
	for _, s := range []error{ndarray.ErrValue, h5.ErrKind, filter.ErrChecksum, cblosc.ErrBroken, format.ErrMagic, hyperslab.ErrCrashed, hyperslab.ErrReplaced} {
		require.Contains(t, errs.All(), s)
	}
	c, err := errorService.Client(worker.Config{}, struct{}{})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for i, want := range crossingErrors() {
		got := c.Ask(t.Context(), &i, 0, nil)
		require.EqualError(t, got, want.Error())
		for _, s := range sentinels() {
			require.Equal(t, errors.Is(want, s), errors.Is(got, s), "%v is %v", want, s)
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
