// Recovery in a worker process. The worker writes into its own directory, and the caller checks the
// result and moves it to the destination.

package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
)

// service is the name under which a worker of this package is registered.
const service worker.Service[order, struct{}] = "recover"

// made is the name of the new file in the worker's directory.
const made = "made"

// maxReport is the maximum size of a worker's report in bytes.
const maxReport = 16 << 20

func init() { service.Register(serve) }

// order is the start message of a worker.
type order struct {
	Dir     string // directory that the worker may write to; "" to plan a repair
	Name    string // name of the corrupt file
	Options Options
}

// answer is the response of a worker.
type answer struct {
	Report Report
	Partly bool
	Plan   *Plan // of an order without Dir
}

// recoveryHandler is the worker's side.
type recoveryHandler struct {
	session *worker.Session
	order   *order
}

func serve(s *worker.Session, o *order) (worker.Handler[struct{}], error) {
	if len(s.Files) != 1 {
		return nil, fmt.Errorf("%w: %d files", worker.ErrProtocol, len(s.Files))
	}
	o.Options.Progress = func(done, total int64) { s.Progress(done, total) }
	return &recoveryHandler{s, o}, nil
}

// Call recovers the file.
func (h *recoveryHandler) Call(*struct{}) (any, error) {
	src := worker.FilePath(h.session.Files[0])
	if h.order.Dir == "" {
		p, err := planFile(context.Background(), src, h.order.Name, h.order.Options)
		return answer{Plan: p}, err
	}
	r, err := recoverAs(context.Background(), filepath.Join(h.order.Dir, made), src, h.order.Name, h.order.Options)
	if err != nil {
		return nil, err
	}
	a := answer{Report: *r, Partly: r.partly}
	for len(worker.Encode(a, nil)) > maxReport && len(a.Report.Findings) > 0 { // the counts stay
		a.Report.Findings = a.Report.Findings[:len(a.Report.Findings)/2]
	}
	return a, nil
}

// isolated recovers in a worker. The caller must have checked that dst does not exist or may be
// replaced.
func isolated(ctx context.Context, dst, src string, o Options) (_ *Report, err error) {
	f, err := os.OpenFile(src, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, err := atomicfile.Create(ctx, dst, atomicfile.Options{Overwrite: o.Overwrite, Lock: o.Lock})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }()
	// A temporary directory that is always removed, like an unfinished output.
	scratch, err := atomicfile.Create(ctx, dst+".worker", atomicfile.Options{Overwrite: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, scratch.Abort()) }()
	dir, err := filepath.Abs(scratch.Path())
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	r, err := ask(ctx, f, dir, src, o)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, made)
	if err := plain(at); err != nil {
		return nil, err
	}
	if err := os.Rename(at, out.Path()); err != nil {
		return nil, err
	}
	r.Source, r.Destination = src, dst
	return r, out.Commit()
}

// ask makes a worker recover f into dir.
func ask(ctx context.Context, f *os.File, dir, name string, o Options) (*Report, error) {
	a, err := call(ctx, f, dir, name, o)
	if err != nil {
		return nil, err
	}
	r := &a.Report
	if len(r.Findings) > o.MaxFindings || r.NumFindings < int64(len(r.Findings)) || min(r.Arrays, r.Chunks, r.Certain, r.Unverified, r.Guessed, r.Lost, r.LostObjects) < 0 {
		return nil, fmt.Errorf("%w: a report of %d findings, %d of them listed", worker.ErrProtocol, r.NumFindings, len(r.Findings))
	}
	for i, f := range r.Findings {
		if f.Err == nil {
			return nil, fmt.Errorf("%w: finding %d without an error", worker.ErrProtocol, i)
		}
		r.Findings[i].Err = errors.New(f.Err.Error()) // as without a worker: a text
	}
	r.partly = a.Partly
	return r, nil
}

// call starts a worker for one order and returns its answer.
func call(ctx context.Context, f *os.File, dir, name string, o Options) (_ *answer, err error) {
	size, err := bytesOf(worker.FilePath(f))
	if err != nil {
		return nil, err
	}
	limits := worker.Limits{Memory: o.Memory, Wall: o.Time, File: 1<<30 + min(size, math.MaxInt64/8)*4}
	if limits.Wall == 0 {
		limits.Wall = 2*time.Minute + time.Duration(min(size>>20, int64(math.MaxInt64/time.Second/16)))*time.Second
	}
	limits.CPU = limits.Wall
	client, err := service.Client(worker.Config{
		Files: []*os.File{f}, Names: []string{name}, Write: dir, Limits: limits, Require: worker.Full, Progress: o.Progress,
	}, order{Dir: dir, Name: name, Options: o})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	var a answer
	if err := client.Ask(ctx, new(struct{}), 2*maxReport, &a); err != nil {
		return nil, err
	}
	return &a, nil
}

// plain returns an error if a worker has created anything but directories and regular files.
func plain(at string) error {
	return filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: it reported success, but there is no file", worker.ErrProtocol)
		}
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%w: it has made %s, a %v", worker.ErrProtocol, filepath.Base(name), d.Type())
		}
		return err
	})
}
