// Tests of typed requests, their answers and their errors.

package worker_test

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// typedOpen starts a worker of typed, and typedRequest is a request to it.
type (
	typedOpen    struct{ Refuse bool }
	typedRequest struct {
		Verb string
		N    int64
		Text string
	}
	typedAnswer struct {
		Text string
		Errs []error
	}
)

const (
	typed worker.Service[typedOpen, typedRequest] = "typed"
	lies  worker.Service[typedOpen, typedRequest] = "lies"
)

func init() {
	worker.RegisterErrorTypes((*format.Error)(nil), syscall.Errno(0))
	typed.Register(func(s *worker.Session, o *typedOpen) (worker.Handler[typedRequest], error) {
		if o.Refuse {
			return nil, fmt.Errorf("%w: the service refuses", errOdd)
		}
		return &typedHandler{s}, nil
	})
	worker.RegisterRaw("lies", func(s *worker.Session) (worker.RawHandler, error) { return liar{s}, nil })
}

type typedHandler struct{ s *worker.Session }

var errCorrupt = &format.Error{Format: "test", What: "size", Offset: 7, Got: "1", Want: "2", Err: fmt.Errorf("%w: %w", format.ErrCorrupt, syscall.ENOSPC)}

func (h *typedHandler) Call(q *typedRequest) (any, error) {
	switch q.Verb {
	case "text":
		return typedAnswer{Text: strings.Repeat(q.Text, int(q.N))}, nil
	case "errors":
		return typedAnswer{Errs: []error{nil, errCorrupt}}, nil
	case "error":
		return nil, fmt.Errorf("%s of %s: %w", q.Text, worker.FilePath(h.s.Files[0]), errCorrupt)
	case "progress":
		for i := range q.N {
			h.s.Progress(i+1, q.N)
		}
		return typedAnswer{}, nil
	}
	return nil, errOdd
}

func (h *typedHandler) Fill(q *typedRequest, dst []byte) (int, error) {
	if q.Verb == "too long" {
		return len(dst) + 1, nil
	}
	return copy(dst, strings.Repeat(q.Text, int(q.N))), nil
}

func (h *typedHandler) Beside(*typedRequest) bool { return true }

// liar answers every request with a length of 12 bytes and puts bytes into the window that are no
// valid value.
type liar struct{ s *worker.Session }

func (l liar) Call([]byte) ([]byte, error) {
	for i := range l.s.Window {
		l.s.Window[i] = 0xff
	}
	return []byte{12}, nil
}

func typedClient(t testing.TB, s worker.Service[typedOpen, typedRequest], cfg worker.Config, o typedOpen) *worker.Client[typedRequest] {
	cfg.Limits = worker.Limits{CPU: time.Hour, Wall: time.Hour, Window: 1 << 16}
	c, err := s.Client(cfg, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestClient_Ask(t *testing.T) {
	c := typedClient(t, typed, worker.Config{}, typedOpen{})
	for _, n := range []int64{0, 1, 1<<15 - 10, 1 << 15, 1 << 16, 1<<20 + 3} { // up to 33 pieces
		var a typedAnswer
		require.NoError(t, c.Ask(t.Context(), &typedRequest{Verb: "text", N: n, Text: "x"}, 1<<21, &a))
		require.Equal(t, strings.Repeat("x", int(n)), a.Text)
	}
	var a typedAnswer
	require.ErrorIs(t, c.Ask(t.Context(), &typedRequest{Verb: "text", N: 100, Text: "x"}, 99, &a), format.ErrLimit)
	require.ErrorIs(t, c.Ask(t.Context(), &typedRequest{Verb: "none"}, 99, &a), errOdd)
	require.Equal(t, 1, c.Starts())
	var number int8
	require.ErrorIs(t, c.Ask(t.Context(), &typedRequest{Verb: "text", N: 9, Text: "x"}, 99, &number), worker.ErrProtocol)

	require.ErrorIs(t, typedClient(t, typed, worker.Config{}, typedOpen{Refuse: true}).Ask(t.Context(), &typedRequest{}, 99, &a), errOdd)
	require.ErrorIs(t, typedClient(t, lies, worker.Config{}, typedOpen{}).Ask(t.Context(), &typedRequest{}, 99, &a), worker.ErrProtocol)
	require.ErrorIs(t, typedClient(t, lies, worker.Config{}, typedOpen{}).Ask(t.Context(), &typedRequest{}, 11, &a), format.ErrLimit)
}

func TestClient_Fill(t *testing.T) {
	c := typedClient(t, typed, worker.Config{}, typedOpen{})
	parts := func(verb string, size int64) iter.Seq[worker.Part[typedRequest]] {
		return func(yield func(worker.Part[typedRequest]) bool) {
			for i := range int64(20) {
				q := typedRequest{Verb: verb, N: i, Text: string(rune('a' + i))}
				if !yield(worker.Part[typedRequest]{Request: q, At: i % 4 * 1000, Size: size}) {
					return
				}
			}
		}
	}
	var got []string
	require.NoError(t, c.Fill(t.Context(), 3, parts("", 1000), func(b []byte) error {
		got = append(got, string(b))
		return nil
	}))
	require.Len(t, got, 20)
	for i, s := range got {
		require.Equal(t, strings.Repeat(string(rune('a'+i)), i), s)
	}
	for _, err := range []error{
		c.Fill(t.Context(), 3, parts("too long", 1000), nil),
		c.Fill(t.Context(), 3, parts("", -1), nil),
		c.Fill(t.Context(), 3, parts("", 1<<20), nil),
	} {
		require.ErrorIs(t, err, worker.ErrProtocol)
	}
}

// TestClient_errorValues checks that an error keeps its text, its sentinels and its values, with
// the name of the file instead of the path of the worker's descriptor.
func TestClient_errorValues(t *testing.T) {
	check := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, format.ErrCorrupt)
		require.ErrorIs(t, err, syscall.ENOSPC)
		var e *format.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []any{"test", "size", int64(7), "1", "2"}, []any{e.Format, e.What, e.Offset, e.Got, e.Want})
		require.EqualError(t, e, errCorrupt.Error())
	}
	f, err := os.Open(os.Args[0])
	require.NoError(t, err)
	defer f.Close()
	c := typedClient(t, typed, worker.Config{Files: []*os.File{f}, Names: []string{"data.h5"}}, typedOpen{})
	err = c.Ask(t.Context(), &typedRequest{Verb: "error", Text: "header"}, 1000, nil)
	require.EqualError(t, err, "header of data.h5: "+errCorrupt.Error())
	check(err)
	var a typedAnswer
	require.NoError(t, c.Ask(t.Context(), &typedRequest{Verb: "errors"}, 1000, &a))
	require.NoError(t, a.Errs[0])
	check(a.Errs[1])

	// An error that was decoded can be sent again.
	var again *format.Error
	require.ErrorAs(t, worker.DecodeError(worker.EncodeError(a.Errs[1], nil)), &again)
	require.ErrorIs(t, worker.DecodeError(nil), worker.ErrProtocol)
	require.ErrorIs(t, worker.DecodeError([]byte{0}), worker.ErrProtocol)
	long := worker.DecodeError(worker.EncodeError(errors.New(strings.Repeat("x", 1<<20)), nil))
	require.Len(t, long.Error(), 64<<10)
}

func TestSession_Progress(t *testing.T) {
	var done []int64
	c := typedClient(t, typed, worker.Config{Progress: func(n, total int64) {
		done = append(done, n)
		require.EqualValues(t, 2000, total)
	}}, typedOpen{})
	var a typedAnswer
	require.NoError(t, c.Ask(t.Context(), &typedRequest{Verb: "progress", N: 2000}, 1000, &a))
	require.True(t, slices.IsSorted(done))
	require.Equal(t, int64(2000), done[len(done)-1])
	require.Greater(t, len(done), 200)
	require.Less(t, len(done), 300)
}
