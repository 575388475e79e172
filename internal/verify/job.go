// Division of a file into tasks, one per chunk, which goroutines run in parallel.

package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/chunked/budget"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5parts"
	"github.com/hyperslab/hyperslab/ndarray"
)

// unit is a part of a file whose chunks are tasks: a frame, a column, or a dataset.
type unit interface {
	tasks() int64
	need() int64 // maximum bytes of a chunk, as stored and decoded
	// check runs task i. It may be called by many goroutines at once.
	check(ctx context.Context, i int64, s *scratch) (result, error)
	// place returns the location of task i, without an error.
	place(i int64) Finding
	close() error
}

// result is the number of decoded and stored bytes of a task, and of checksums it compared.
type result struct{ decoded, stored, checksums int64 }

// scratch is the memory of one goroutine.
type scratch struct{ raw, data []byte }

// sized returns b resized to n bytes. It reuses the memory of b if its capacity suffices. The
// contents are undefined.
func sized(b *[]byte, n int64) []byte {
	if int64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	*b = (*b)[:n]
	return *b
}

// job is the verification of one file.
type job struct {
	opts   Options
	pool   *cblosc.Pool
	units  []unit
	first  []int64 // number of the first task of each unit
	total  int64
	need   int64         // maximum bytes of a task
	store  *stores.Store // nil for other formats
	mu     sync.Mutex    // guards report
	report Report
}

// openHDF5 opens an HDF5 file with its other members. A worker has them in files.
func openHDF5(path string, files []*os.File, set *Set) (*h5parts.File, error) {
	if set != nil {
		return h5parts.Join(files, set.Members, set.Apart)
	}
	return h5parts.Open(path)
}

// newJob checks the structure of the file and finds its tasks. members are the open files of
// o.Set.
func newJob(ctx context.Context, path string, members []*os.File, o Options) (_ *job, err error) {
	j := &job{opts: o}
	if j.pool, err = cblosc.NewPool(nil, nil); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.close())
		}
	}()
	if j.report.Format = o.Format; o.Format == "" {
		if j.report.Format, err = detect.Content(path); err != nil {
			return nil, err
		}
	}
	switch j.report.Format {
	case detect.B2ND, detect.Caterva:
		j.report.Arrays++
		err = j.frame(path, "")
	case detect.Bcolz:
		err = j.bcolz(ctx, path)
	case detect.HDF5:
		var f *h5parts.File
		if f, err = openHDF5(path, members, o.Set); err == nil {
			err = j.hdf5(ctx, f, path)
		}
	case detect.NPY:
		err = j.npy(path)
	case detect.B2Z, detect.B2D, detect.B2E:
		err = j.stored(ctx, path)
	default:
		err = fmt.Errorf("%w: format %q", ndarray.ErrParam, o.Format)
	}
	return j, err
}

// npy checks the header and the size of a .npy file, which contains no checksums.
func (j *job) npy(path string) error {
	f, info, err := regularfile.Open(path)
	if err != nil {
		return err
	}
	j.report.Arrays++
	a, err := npy.Open(f, info.Size())
	if err == nil {
		j.report.DecodedBytes = a.NumBytes()
		j.report.StoredBytes = j.report.DecodedBytes
		if j.report.DecodedBytes > 0 {
			j.report.Chunks++ // the elements are one piece
		}
	} else {
		err = j.note(Finding{What: "header", Offset: 0, Chunk: -1, Err: err})
	}
	return errors.Join(err, f.Close())
}

// append adds a unit and its tasks.
func (j *job) append(u unit) {
	j.units = append(j.units, u)
	j.first = append(j.first, j.total)
	j.total += u.tasks()
	j.need = max(j.need, u.need())
}

// note adds an error or an unchecked location to the report.
func (j *job) note(p Finding) error {
	if p.Offset < 0 {
		if e, ok := errors.AsType[*format.Error](p.Err); ok && p.Chunk < 0 {
			p.Offset = e.Offset
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.report.Add(p, j.opts.MaxDamages)
}

// workers returns the number of goroutines that decode. All of them together have the memory of
// reads, except that there is at least one.
func (j *job) workers() int {
	n := j.opts.Workers
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	return int(max(1, min(int64(n), budget.Limit()/max(j.need, 1))))
}

// run runs the tasks from "from" to end on the goroutines of the options.
func (j *job) run(ctx context.Context, from, end int64, progress func(Progress)) error {
	g, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	next.Store(from)
	done := from
	for range min(int64(j.workers()), end-from) {
		g.Go(func() error {
			var s scratch
			for {
				i := next.Add(1) - 1
				if i >= end {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := j.task(ctx, i, &s); err != nil {
					return err
				}
				if progress != nil {
					j.mu.Lock()
					done++
					progress(Progress{done, j.total, j.report.StoredBytes, j.report.DecodedBytes})
					j.mu.Unlock()
				}
			}
		})
	}
	return g.Wait()
}

// find returns the unit of a task, and the task's number in that unit.
func (j *job) find(i int64) (unit, int64) {
	k, found := slices.BinarySearch(j.first, i)
	if !found {
		k--
	}
	for j.units[k].tasks() == 0 { // units without tasks have the same first task
		k++
	}
	return j.units[k], i - j.first[k]
}

func (j *job) task(ctx context.Context, i int64, s *scratch) error {
	u, k := j.find(i)
	r, err := u.check(ctx, k, s)
	j.mu.Lock()
	j.report.Chunks++
	j.report.DecodedBytes += r.decoded
	j.report.StoredBytes += r.stored
	j.report.Checksums += r.checksums
	j.mu.Unlock()
	if err == nil {
		return nil
	}
	p := u.place(k)
	p.Err = err
	return j.note(p)
}

func (j *job) close() error {
	err := j.pool.Close()
	for _, u := range j.units {
		err = errors.Join(err, u.close())
	}
	if j.store != nil {
		err = errors.Join(err, j.store.Close())
	}
	return err
}

// direct verifies in this process.
func direct(ctx context.Context, path string, o Options) (_ *Report, err error) {
	j, err := newJob(ctx, path, nil, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	if err := j.run(ctx, 0, j.total, o.Progress); err != nil {
		return nil, err
	}
	return &j.report, nil
}
