// Elements of striped datasets. Workers read and write the chunks in the stripe files.

package hdf5

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/chunkio"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/ndarray"
)

// stripes is the state of a striped dataset. Its files are opened before the first large read,
// because the metadata of the array does not need them.
type stripes struct {
	created *striped.Dataset // of Create; nil for other datasets
	allowed bool             // whether opened may be used
	once    sync.Once
	opened  *striped.Dataset // nil if libhdf5 reads the elements
	err     error
}

// leastParts is the size in bytes of a read for which the stripe files are opened.
const leastParts = 64 << 10

// openStripes returns the striped dataset if workers should read n bytes of it. It returns nil for
// other datasets, and for reads of less than a chunk, because libhdf5 caches the decoded chunk.
func (b *backend) openStripes(n int) (*striped.Dataset, error) {
	s := &b.striped
	st := s.created
	if s.allowed && n >= leastParts {
		s.once.Do(func() {
			s.opened, s.err = striped.Open(b.dataset)
			if errors.Is(s.err, h5.ErrKind) { // a virtual dataset of another form, which libhdf5 reads
				s.opened, s.err = nil, nil
			}
		})
		if s.err != nil {
			return nil, s.err
		}
		st = s.opened
	}
	if st == nil || b.library {
		return nil, nil
	}
	if chunk, _ := grid.Product(st.Chunks()); n < int(chunk)*b.meta.DType.Size {
		return nil, nil
	}
	return st, nil
}

// closeDataset closes the dataset and the stripe files.
func (b *backend) closeDataset() error {
	for _, st := range []*striped.Dataset{b.striped.created, b.striped.opened} {
		if st != nil {
			return st.Close() // closes the dataset too
		}
	}
	return b.dataset.Close()
}

// moveParts reads or writes a region, each part in one chunk by one worker. The bytes are in native
// order for reads and in storage order for writes.
func (b *backend) moveParts(ctx context.Context, st *striped.Dataset, p []byte, r ndarray.Region, workers int, write bool) error {
	parts, err := st.Parts(region(r))
	if err != nil {
		return err
	}
	item := b.stored.Size
	whole := boxes.Strides(r.Shape, item)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(cmp.Or(workers, runtime.GOMAXPROCS(0)), len(parts)) {
		group.Go(func() error {
			var buf []byte
			for {
				n := next.Add(1) - 1
				if n >= int64(len(parts)) {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				part, at := &parts[n], int64(0)
				for i, s := range whole {
					at += (part.Region.Start[i] - r.Start[i]) * s
				}
				if size := int(part.Source.NumElems()) * item; cap(buf) < size {
					buf = make([]byte, size)
				} else {
					buf = buf[:size]
				}
				if err := b.movePart(ctx, part, p[at:], buf, whole, write); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// movePart moves the elements of one part between its dataset and p, where the neighbours along
// each dimension are strides bytes apart. buf has the size of the part.
func (b *backend) movePart(ctx context.Context, part *striped.Part, p, buf []byte, strides []int64, write bool) error {
	count, item := part.Region.Count, b.stored.Size
	dense, o := boxes.Strides(count, item), &chunkio.Options{Workers: 1}
	if write {
		box := boxes.New(count, dense, strides, item)
		box.Copy(buf, p)
		_, err := chunkio.Write(ctx, part.Dataset, buf, b.stored, part.Source, o)
		return err
	}
	if _, err := chunkio.Read(ctx, part.Dataset, buf, b.stored, part.Source, o); err != nil {
		return err
	}
	b.toNative(buf)
	box := boxes.New(count, strides, dense, item)
	box.Copy(p, buf)
	return nil
}
