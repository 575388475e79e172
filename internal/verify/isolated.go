// Verification in a worker process. The worker creates the job and runs some tasks per call, so
// that a crash costs only one task.

package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/detect"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/internal/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// service is the name under which a worker of this package is registered.
const service = "verify"

const (
	window   = 16 << 20        // size of the shared memory for reports, in bytes
	batch    = 1 << 10         // maximum number of tasks per call
	turn     = 2 * time.Second // maximum duration of a call without a Progress function
	brisk    = turn / 100      // a step of tasks that takes less doubles the next step
	maxCrash = 32              // number of crashes after which the verification stops
	maxText  = 4 << 10         // maximum length of an error message, in bytes
)

// watched is the maximum duration of a call with a Progress function. Only tests change it.
var watched = turn / 10

// sentinels are the errors that a worker can return. The host must have the same list, because
// errors are sent as indexes of it.
var sentinels = []error{
	errors.ErrUnsupported, fs.ErrNotExist, fs.ErrPermission,
	format.ErrTruncated, format.ErrMagic, format.ErrVersion, format.ErrCorrupt, format.ErrLimit, format.ErrSize,
	ndarray.ErrCorrupt, ndarray.ErrFormat, ndarray.ErrNotFound, ndarray.ErrType, ndarray.ErrParam, cblosc.ErrFormat, cblosc.ErrSize,
	h5.ErrCorrupt, h5.ErrNoFilter, h5.ErrTruncated, filter.ErrChecksum,
}

func init() {
	worker.Register(service, serve)
	worker.RegisterErrors(filter.ErrChecksum)
}

// request is a call of the worker. With Place it returns the location of task First. With End > 0
// it runs the tasks from First to End, or as many as it completes in Turn, at least one for each
// goroutine. Otherwise it returns the report of the structure.
type request struct {
	First, End int64
	Turn       time.Duration
	Place      bool
}

// answer is the response to a request.
type answer struct {
	Total  int64 // number of tasks of the job
	Next   int64 // first task that was not run
	Report Report
	Errs   []crossing // errors of Damages, then of Unchecked
	At     Place
}

// crossing is an error as it is sent to the host.
type crossing struct {
	Text  string
	Kinds []int // indexes of sentinels
}

func cross(err error) crossing {
	c := crossing{Text: err.Error()}
	c.Text = c.Text[:min(len(c.Text), maxText)]
	for i, s := range sentinels {
		if errors.Is(err, s) {
			c.Kinds = append(c.Kinds, i)
		}
	}
	return c
}

func (c crossing) err() error {
	e := &worker.RemoteError{Text: c.Text}
	for _, k := range c.Kinds {
		if k >= 0 && k < len(sentinels) {
			e.Sentinels = append(e.Sentinels, sentinels[k])
		}
	}
	return e
}

// taskHandler is the worker's side.
type taskHandler struct {
	job    *job
	window []byte
}

func serve(s *worker.Session) (worker.Handler, error) {
	var o Options
	if err := json.Unmarshal(s.Open, &o); err != nil {
		return nil, fmt.Errorf("%w: %w", worker.ErrProtocol, err)
	}
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	j, err := newJob(context.Background(), worker.FilePath(s.Files[0]), o)
	if err != nil {
		return nil, err
	}
	return &taskHandler{j, s.Window}, nil
}

// Call runs a request and returns the answer in JSON.
func (h *taskHandler) Call(b []byte) ([]byte, error) {
	var q request
	if err := json.Unmarshal(b, &q); err != nil || q.First < 0 || q.End < q.First || q.End > h.job.total {
		return nil, fmt.Errorf("%w: request %s: %w", worker.ErrProtocol, b, err)
	}
	if q.Place {
		u, k := h.job.find(q.First)
		return h.put(answer{At: u.place(k)})
	}
	next := q.First
	if q.End > 0 {
		h.job.report = Report{Format: h.job.report.Format}
		step := int64(h.job.workers())
		for start := time.Now(); next < q.End && (next == q.First || time.Since(start) < q.Turn); {
			begun, end := time.Now(), min(next+step, q.End)
			if err := h.job.run(context.Background(), next, end, nil); err != nil {
				return nil, err
			}
			if next = end; time.Since(begun) < brisk {
				step *= 2
			}
		}
	}
	return h.put(answer{Total: h.job.total, Next: next, Report: h.job.report})
}

func (h *taskHandler) put(a answer) ([]byte, error) {
	r := &a.Report
	for _, list := range [][]Place{r.Damages, r.Unchecked} {
		for i := range list {
			a.Errs = append(a.Errs, cross(list[i].Err))
			list[i].Err = nil
		}
	}
	for {
		if said, err := worker.PutJSON(h.window, a); said != nil || err != nil {
			return said, err
		}
		// The report is too long for the window: drop half of the entries. The counts stay.
		n, d, u := len(r.Damages), len(r.Damages)/2, len(r.Unchecked)/2
		a.Errs = append(append([]crossing{}, a.Errs[:d]...), a.Errs[n:n+u]...)
		r.Damages, r.Unchecked = r.Damages[:d], r.Unchecked[:u]
	}
}

// isolated verifies in a worker.
func isolated(ctx context.Context, path string, o Options) (_ *Report, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = regular.Check(path, info)
	}
	if errors.Is(err, regular.ErrNot) {
		err = ndarray.Mark(err, ndarray.ErrFormat)
	}
	if err != nil {
		return nil, err
	}
	say := o
	say.Progress = nil
	open, err := json.Marshal(say)
	if err != nil {
		return nil, err
	}
	client, err := worker.NewClient(worker.Config{
		Service: service, Open: open, Files: []*os.File{f},
		Limits: worker.Limits{Memory: o.Memory, CPU: o.Time * 16, Wall: o.Time, Window: window},
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	h := &host{client: client, o: o}
	if err := h.all(ctx); err != nil {
		return nil, err
	}
	h.r.Isolated, h.r.Level = true, client.Level()
	return &h.r, nil
}

// host is the caller's side.
type host struct {
	client  worker.Caller
	o       Options
	r       Report
	crashes int
}

func (h *host) all(ctx context.Context) error {
	a, err := h.ask(ctx, request{})
	if err != nil {
		if p, ok := crash(err); ok {
			p.What = "structure"
			return h.r.Add(p, h.o.MaxDamages)
		}
		return err
	}
	if err := h.take(a); err != nil {
		return err
	}
	for next := int64(0); next < a.Total; {
		end := min(next+batch, a.Total)
		if next, err = h.tasks(ctx, next, end); err != nil {
			return err
		}
		if h.o.Progress != nil {
			h.o.Progress(Progress{next, a.Total, h.r.StoredBytes, h.r.DecodedBytes})
		}
		if h.crashes > maxCrash {
			return h.r.Add(Place{What: "chunks", Chunk: -1, Offset: -1, Err: fmt.Errorf("%w: %d of %d, after %d crashes of the worker", errors.ErrUnsupported, a.Total-next, a.Total, h.crashes)}, h.o.MaxDamages)
		}
	}
	return nil
}

// tasks runs tasks from first on and returns the first that was not run. After a crash it runs them
// one by one to find the task that crashed.
func (h *host) tasks(ctx context.Context, first, end int64) (int64, error) {
	q := request{First: first, End: end, Turn: turn}
	if h.o.Progress != nil {
		q.Turn = watched
	}
	a, err := h.ask(ctx, q)
	if err == nil {
		if a.Next <= first || a.Next > end {
			return 0, fmt.Errorf("%w: task %d after those from %d to %d", worker.ErrProtocol, a.Next, first, end)
		}
		return a.Next, h.take(a)
	}
	p, ok := crash(err)
	if !ok {
		return 0, err
	}
	if end-first > 1 {
		for i := first; i < end && h.crashes <= maxCrash; i++ {
			if _, err := h.tasks(ctx, i, i+1); err != nil {
				return 0, err
			}
			first = i + 1
		}
		return first, nil
	}
	h.crashes++
	if a, err := h.ask(ctx, request{First: first, End: end, Place: true}); err == nil {
		a.At.Err = p.Err
		p = a.At
	}
	return end, h.r.Add(p, h.o.MaxDamages)
}

// crash reports whether err means that the worker ended. The Place is an error after a crash, and
// is unchecked after a limit.
func crash(err error) (Place, bool) {
	p := Place{What: "chunk", Chunk: -1, Offset: -1, Err: err}
	switch {
	case errors.Is(err, worker.ErrProtocol):
		return p, false
	case errors.Is(err, worker.ErrCrashed):
	case errors.Is(err, worker.ErrLimit), errors.Is(err, worker.ErrTimeout):
		p.Err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	default:
		return p, false
	}
	return p, true
}

func (h *host) ask(ctx context.Context, q request) (a answer, err error) {
	b, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	err = worker.CallJSON(ctx, h.client, b, &a)
	r := &a.Report
	if err == nil && (a.Total < 0 || len(a.Errs) != len(r.Damages)+len(r.Unchecked) || int64(len(r.Damages)) > r.NumDamages || int64(len(r.Unchecked)) > r.NumUnchecked) {
		err = fmt.Errorf("%w: %d tasks, %d errors of %d and %d places", worker.ErrProtocol, a.Total, len(a.Errs), len(r.Damages), len(r.Unchecked))
	}
	if err != nil {
		return a, err
	}
	for i := range r.Damages {
		r.Damages[i].Err = a.Errs[i].err()
	}
	for i := range r.Unchecked {
		r.Unchecked[i].Err = a.Errs[len(r.Damages)+i].err()
	}
	return a, nil
}

// take adds the worker's report to the total.
func (h *host) take(a answer) error {
	r, n := &h.r, &a.Report
	switch n.Format {
	case detect.B2ND, detect.Caterva, detect.HDF5, detect.Bcolz, detect.Directory, detect.B2Z, detect.B2D, detect.B2E, detect.NPY:
	default:
		return fmt.Errorf("%w: format %q", worker.ErrProtocol, n.Format)
	}
	r.Format = n.Format
	r.Arrays += n.Arrays
	r.Chunks += n.Chunks
	r.DecodedBytes += n.DecodedBytes
	r.StoredBytes += n.StoredBytes
	r.Checksums += n.Checksums
	r.NumDamages += n.NumDamages
	r.NumUnchecked += n.NumUnchecked
	r.Damages = append(r.Damages, n.Damages[:min(len(n.Damages), h.o.MaxDamages-len(r.Damages))]...)
	r.Unchecked = append(r.Unchecked, n.Unchecked[:min(len(n.Unchecked), h.o.MaxDamages-len(r.Unchecked))]...)
	return nil
}
