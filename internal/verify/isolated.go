// Verification in a worker process. The worker creates the job and runs some tasks per call, so
// that a crash costs only one task.

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// service is the name under which a worker of this package is registered.
const service worker.Service[Options, request] = "verify"

const (
	maxReport = 16 << 20        // maximum size of a report, in bytes
	batch     = 1 << 10         // maximum number of tasks per call
	turn      = 2 * time.Second // maximum duration of a call without a Progress function
	brisk     = turn / 100      // a step of tasks that takes less doubles the next step
	maxCrash  = 32              // number of crashes after which the verification stops
)

// watched is the maximum duration of a call with a Progress function. Only tests change it.
var watched = turn / 10

// init registers the types of errors that a worker may return: those of all packages that read
// files.
func init() {
	service.Register(serve)
	worker.RegisterErrorTypes((*format.Error)(nil), (*ndarray.Error)(nil), (*h5.Error)(nil), (*h5.FilterError)(nil), (*h5.OutsideError)(nil),
		(*h5.UnclosedError)(nil), (*h5.UserLinkError)(nil), (*filter.Error)(nil), (*chunkio.Error)(nil), (*cblosc.Error)(nil), cblosc.Code(0),
		(*frameio.Error)(nil), (*fs.PathError)(nil), (*os.SyscallError)(nil), syscall.Errno(0))
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
	At     Finding
}

// taskHandler is the worker's side.
type taskHandler struct {
	job *job
}

func serve(s *worker.Session, o *Options) (worker.Handler[request], error) {
	if len(s.Files) == 0 {
		return nil, fmt.Errorf("%w: no files", worker.ErrProtocol)
	}
	j, err := newJob(context.Background(), worker.FilePath(s.Files[0]), s.Files, *o)
	if err != nil {
		return nil, err
	}
	return &taskHandler{j}, nil
}

// Call runs a request.
func (h *taskHandler) Call(q *request) (any, error) {
	if q.First < 0 || q.End < q.First || q.End > h.job.total {
		return nil, fmt.Errorf("%w: request %+v", worker.ErrProtocol, *q)
	}
	if q.Place {
		u, k := h.job.find(q.First)
		return answer{At: u.place(k)}, nil
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
	return short(answer{Total: h.job.total, Next: next, Report: h.job.report}), nil
}

// short returns the answer without some of the entries if the report is too long. The counts stay.
func short(a answer) answer {
	for r := &a.Report; len(worker.Encode(a, nil)) > maxReport && len(r.Damages)+len(r.Unchecked) > 0; {
		r.Damages, r.Unchecked = r.Damages[:len(r.Damages)/2], r.Unchecked[:len(r.Unchecked)/2]
	}
	return a
}

// isolated verifies in a worker.
func isolated(ctx context.Context, path string, o Options) (_ *Report, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var opened io.Closer = f
	defer func() { err = errors.Join(err, opened.Close()) }()
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = regularfile.Check(path, info)
	}
	if err != nil {
		return nil, err
	}
	files, names := []*os.File{f}, []string{path}
	if !info.IsDir() {
		set, openErr := h5parts.OpenFile(f, path)
		if openErr != nil {
			return nil, openErr
		}
		opened = set
		if o.Set = nil; len(set.Members()) > 1 {
			o.Set = &Set{Members: set.Members(), Apart: set.Apart()}
		}
		for _, x := range set.Files()[1:] {
			files, names = append(files, x), append(names, x.Name())
		}
	}
	client, err := service.Client(worker.Config{
		Files: files, Names: names,
		Limits: worker.Limits{Memory: o.Memory, CPU: o.Time * 16, Wall: o.Time},
	}, o)
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

// asker is a *worker.Client.
type asker interface {
	Ask(ctx context.Context, q *request, most int64, v any) error
}

// host is the caller's side.
type host struct {
	client  asker
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
			return h.r.Add(Finding{What: "chunks", Chunk: -1, Offset: -1, Err: fmt.Errorf("%w: %d of %d, after %d crashes of the worker", errors.ErrUnsupported, a.Total-next, a.Total, h.crashes)}, h.o.MaxDamages)
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

// crash reports whether err means that the worker ended. The Finding is an error after a crash, and
// is unchecked after a limit.
func crash(err error) (Finding, bool) {
	p := Finding{What: "chunk", Chunk: -1, Offset: -1, Err: err}
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
	if err := h.client.Ask(ctx, &q, 2*maxReport, &a); err != nil {
		return a, err
	}
	r := &a.Report
	without := func(p Finding) bool { return p.Err == nil }
	if a.Total < 0 || int64(len(r.Damages)) > r.NumDamages || int64(len(r.Unchecked)) > r.NumUnchecked ||
		slices.ContainsFunc(r.Damages, without) || slices.ContainsFunc(r.Unchecked, without) {
		return a, fmt.Errorf("%w: %d tasks, %d of %d and %d of %d places", worker.ErrProtocol, a.Total, len(r.Damages), r.NumDamages, len(r.Unchecked), r.NumUnchecked)
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
	r.count(n)
	r.Damages = append(r.Damages, n.Damages[:min(len(n.Damages), h.o.MaxDamages-len(r.Damages))]...)
	r.Unchecked = append(r.Unchecked, n.Unchecked[:min(len(n.Unchecked), h.o.MaxDamages-len(r.Unchecked))]...)
	return nil
}
