// Other files that contain elements: sources of virtual datasets, and external files.

package hdf5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/ndarray"
)

// files is the state of the other files of a dataset. They are looked for once, before the first
// elements are read, because libhdf5 reads the elements of a missing source as fill value.
type files struct {
	once     sync.Once
	err      error
	virtual  bool
	external []h5.ExternalFile
	dir      string      // OpenOptions.ExternalDir
	missing  func(error) // OpenOptions.Missing
	absent   bool        // an external file is missing, and that is allowed
}

// add records where the elements of a dataset are stored.
func (f *files) add(info *h5.DatasetInfo) {
	f.virtual = info.Layout == h5.Virtual
	f.external = info.External
}

// path returns the path of an external file.
func (f *files) path(x h5.ExternalFile) string {
	if filepath.IsAbs(x.Name) {
		return x.Name
	}
	return filepath.Join(f.dir, x.Name)
}

// checkFiles returns ndarray.ErrNotFound if a source or an external file is missing and that is
// not allowed.
func (b *backend) checkFiles() error {
	f := &b.files
	if !f.virtual && f.external == nil {
		return nil
	}
	f.once.Do(func() {
		missing := func(err error) {
			if f.missing != nil {
				f.missing(err)
			} else if f.err == nil {
				f.err = errs.Mark(err, ndarray.ErrNotFound)
			}
		}
		if f.virtual {
			list, err := b.dataset.MissingSources()
			if err != nil {
				f.err = err
				return
			}
			for _, s := range list {
				var outside *h5.OutsideError
				if errors.As(s.Err, &outside) { // an io.ReaderAt has no other files
					if f.err == nil {
						f.err = s.Err
					}
					continue
				}
				missing(fmt.Errorf("source of a virtual dataset is missing: file %q, dataset %q", s.File, s.Dataset))
			}
		}
		for _, x := range f.external {
			if f.dir == "" && os.Getenv("HDF5_EXTFILE_PREFIX") != "" {
				continue // libhdf5 uses this directory
			}
			if _, err := os.Stat(f.path(x)); err != nil {
				f.absent = f.missing != nil
				missing(fmt.Errorf("external file is missing: %q", f.path(x)))
			}
		}
	})
	return f.err
}

// readExternal reads a region from external files without libhdf5, because H5Aiterate2 fails on a
// dataset that was opened with another directory for them (H5Pset_efile_prefix).
func (b *backend) readExternal(ctx context.Context, dst []byte, r ndarray.Region) (err error) {
	open := make([]*os.File, len(b.files.external))
	defer func() {
		for _, f := range open {
			if f != nil {
				err = errors.Join(err, f.Close())
			}
		}
	}()
	for i, x := range b.files.external {
		if open[i], err = os.Open(b.files.path(x)); err != nil {
			return err
		}
	}
	item, rest := int64(b.stored.Size), dst
	for start, n := range runs(b.meta.Shape, r) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readAt(b.files.external, open, rest[:n*item], start*item); err != nil {
			return err
		}
		rest = rest[n*item:]
	}
	b.toNative(dst)
	return nil
}

// runs yields the runs of adjacent elements of a region in an array of the shape: the number of the
// first element, and the length.
func runs(shape []int64, r ndarray.Region) iter.Seq2[int64, int64] {
	return func(yield func(start, n int64) bool) {
		if r.NumElems() == 0 {
			return
		}
		last := len(shape) - 1
		if last < 0 {
			yield(0, 1)
			return
		}
		at := slices.Clone(r.Start)
		for {
			start := int64(0)
			for i, x := range at {
				start = start*shape[i] + x
			}
			if !yield(start, r.Shape[last]) {
				return
			}
			i := last - 1
			for ; i >= 0; i-- {
				if at[i]++; at[i] < r.Start[i]+r.Shape[i] {
					break
				}
				at[i] = r.Start[i]
			}
			if i < 0 {
				return
			}
		}
	}
}

// readAt reads bytes of the concatenation of external files. As in libhdf5, bytes after the end of
// a file are zeros.
func readAt(list []h5.ExternalFile, open []*os.File, dst []byte, at int64) error {
	clear(dst)
	for i, x := range list {
		size := x.Size
		if size < 0 { // h5.Unlimited
			size = math.MaxInt64
		}
		if at >= size {
			at -= size
			continue
		}
		part := dst[:min(int64(len(dst)), size-at)]
		if _, err := open[i].ReadAt(part, x.Offset+at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if dst = dst[len(part):]; len(dst) == 0 {
			return nil
		}
		at = 0
	}
	return nil
}
