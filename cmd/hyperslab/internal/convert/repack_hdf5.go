// Repacking of HDF5 files: everything is copied, datasets optionally with other chunks and
// compression.

package convert

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// repacker copies one file. It processes the source twice with the same steps: first to find
// properties that cannot be kept, then to write.
type repacker struct {
	app      *shell.App
	store    *StoreFlags
	cloud    *cloudFlags
	job      *shell.JobFlags
	external string // directory of external files
	pick     *shell.PickFlags
	left     []string          // unreadable objects
	missing  bool              // copy datasets even if files that they need are missing
	progress func(bytes int64) // of elements, read so far

	unreadable func(path string, err error) bool // nil: errors

	file      string
	directory string   // of the new file
	src, dst  *h5.File // dst is nil in the first pass

	guess *forecast // of a dry run
	was   int64     // stored bytes of the datasets that would be rewritten

	problems  []h5copy.Problem
	removed   []string // properties that the flags remove
	unfit     []string // datasets that cannot be stored as the flags require, and why
	bytes     int64    // of elements that are read and written
	done      int64
	rewritten int
	kept      int // datasets copied as they are stored
}

func (r *repacker) open(ctx context.Context, files *opened.Files, file, target string) (err error) {
	r.file = file
	if r.directory, err = h5objects.Directory(target); err != nil {
		return err
	}
	r.src, err = files.HDF5(ctx, file)
	return err
}

// plan finds properties that cannot be kept, and the amount of work.
func (r *repacker) plan(ctx context.Context) error { return r.pass(ctx) }

// write writes the new file.
func (r *repacker) write(ctx context.Context, file string) (err error) {
	if r.cloud.cloud {
		r.dst, err = r.createCloud(file)
	} else {
		r.dst, err = h5copy.Create(file, r.src)
	}
	if err != nil {
		return err
	}
	r.bytes, r.rewritten, r.kept = 0, 0, 0
	if err := errors.Join(r.pass(ctx), r.dst.Close()); err != nil {
		return err
	}
	creation, err := r.src.Creation()
	if err != nil {
		return err
	}
	return h5copy.CopyUserBlock(file, r.file, creation.UserBlock)
}

func (r *repacker) pass(ctx context.Context) error {
	c := h5copy.New(r.src, r.dst, h5copy.Options{Directory: r.directory, AllowMissing: r.missing, ExternalDir: r.external,
		Exclude: r.pick.Excluded, Unreadable: r.unreadable, Dataset: r.dataset})
	if err := c.File(ctx); err != nil {
		at := r.file
		if e, ok := errors.AsType[*h5copy.PathError](err); ok {
			at, err = r.file+":"+e.Path, e.Err
		}
		return ndarray.Wrap("repack", at, err)
	}
	r.problems = c.Problems
	return nil
}

// dataset reads and rewrites a dataset if its storage must change.
func (r *repacker) dataset(ctx context.Context, d *h5.Dataset, info h5.DatasetInfo, name string) (made bool, err error) {
	if h5copy.Refers(info.Datatype) {
		return false, nil
	}
	if !r.store.Given() && !r.cloud.cloud || info.Datatype.Committed != 0 || info.Layout == h5.Virtual || len(info.External) > 0 {
		r.kept++
		return false, nil
	}
	description, err := hdf5.Describe(d, name, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		r.kept++
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, f := range info.Filters {
		if can, err := h5.FilterAvailable(f.ID); err != nil {
			return false, err
		} else if !can.Decode {
			r.kept++
			if r.dst == nil {
				r.unfit = append(r.unfit, fmt.Sprintf("%s: filter %d is not available", name, f.ID))
			}
			return false, nil
		}
	}
	spec, changes, err := r.spec(description.Meta)
	if err != nil {
		return false, err
	}
	if !changes {
		r.kept++
		return false, nil
	}
	if err := r.job.FitBoth(r.file+":"+name, description.Meta, r.file+":"+name, spec); err != nil {
		return false, err
	}
	r.rewritten++
	r.bytes += description.Meta.NumElems() * int64(spec.DType.Size)
	if r.dst == nil {
		for _, f := range encodingLost(description.Meta, spec.Compression, hyperslab.HDF5) {
			r.removed = append(r.removed, name+": "+f.String())
		}
		if r.guess != nil {
			r.was += description.Storage.StoredBytes
			return true, r.guess.addAt(ctx, r.app, locate.Location{File: r.file, Object: name}.String(), spec, hyperslab.HDF5)
		}
		return true, nil
	}
	return true, r.rewrite(ctx, name, spec, info)
}

// spec returns how a dataset must be stored, and whether that is a change. A chunk shape applies to
// datasets with as many dimensions.
func (r *repacker) spec(m ndarray.Meta) (spec ndarray.Spec, changes bool, err error) {
	if m.Null || len(m.Shape) == 0 || m.NumElems() == 0 {
		return spec, false, nil // not chunked, and without stored elements
	}
	store := r.store.forRank(len(m.Shape))
	if spec, err = store.Spec(m, hyperslab.HDF5); errors.Is(err, errors.ErrUnsupported) { // a codec that does not support these elements
		if r.dst == nil {
			r.unfit = append(r.unfit, err.Error())
		}
		return spec, false, nil
	} else if err != nil {
		return spec, false, err
	}
	if r.cloud.cloud && store.Chunks == "" {
		spec.ChunkShape = r.cloud.chunks(m)
	}
	was := m.Spec()
	for i, n := range spec.ChunkShape { // as hdf5.Create clips them
		if spec.MaxShape == nil && n > spec.Shape[i] {
			spec.ChunkShape[i] = spec.Shape[i]
		}
	}
	spec.AxisNames, spec.Comment = nil, "" // copied with the attributes
	changes = !slices.Equal(spec.ChunkShape, was.ChunkShape) || !reflect.DeepEqual(spec.MaxShape, was.MaxShape) ||
		!sameCompression(spec.Compression, was.Compression)
	return spec, changes, nil
}

func sameCompression(a, b *ndarray.Compression) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.String() == b.String()
}

func (r *repacker) rewrite(ctx context.Context, name string, spec ndarray.Spec, info h5.DatasetInfo) (err error) {
	from, err := hdf5.OpenIn(r.src.Root(), name, r.file+":"+name, &hdf5.OpenOptions{Shared: true})
	if err != nil {
		return err
	}
	src, err := ndarray.New(from)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	b, err := hdf5.CreateIn(r.dst, name, spec, &hdf5.CreateOptions{Like: &info})
	if err != nil {
		return err
	}
	dst, err := ndarray.New(b)
	if err != nil {
		return errors.Join(err, b.Close())
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	before := r.done
	_, err = ndarray.Copy(ctx, dst, src, &ndarray.CopyOptions{Workers: r.job.Jobs, Memory: r.job.Limit, Progress: func(p ndarray.Progress) {
		r.done = before + p.DoneBytes
		r.progress(r.done)
	}})
	return err
}
