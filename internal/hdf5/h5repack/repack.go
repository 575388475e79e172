package h5repack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Repack copies one file. It processes the source twice with the same steps: Plan finds properties
// that cannot be kept, and Write writes.
type Repack struct {
	Source *h5.File // open until the end of Write
	File   string   // name of the source
	Target string   // name that the new file will have

	Cloud        bool   // layout for object stores
	Compatible   bool   // with Cloud: version-1 B-trees and layout 3, which programs before HDF5 1.10 read
	AllowMissing bool   // copy datasets even if files that they need are missing
	ExternalDir  string // directory of external files with relative names; "": the working directory
	Exclude      func(path string) bool
	Unreadable   func(path string, err error) bool // nil: errors

	// Spec returns how a dataset must be stored. A nil Spec, and nil, keep a dataset as it is
	// stored; errors.ErrUnsupported keeps it too, and Unfit reports it.
	Spec func(path string, m ndarray.Meta) (*ndarray.Spec, error)

	Unfit    func(text string)                                               // reports a dataset that cannot be stored so; nil: no effect
	Rewrites func(path string, from hdf5.Description, to ndarray.Spec) error // is called by Plan for each dataset to rewrite; nil: no effect
	Progress func(bytes int64)                                               // of elements, read so far; nil: no effect
	Workers  int                                                             // as in ndarray.CopyOptions
	Memory   int64                                                           // as in ndarray.CopyOptions

	Problems  []h5copy.Problem // properties that cannot be kept
	Bytes     int64            // of elements that are read and written
	Rewritten int
	Kept      int // datasets copied as they are stored

	directory string
	dst       *h5.File // nil in Plan
	done      int64
	index     int64 // bytes of the chunk indexes with Compatible, found by Plan
}

// Run repacks the file, completely or not at all. accept reports whether the loss of a property is
// accepted; nil: no loss is. It returns ndarray.ErrParam if the target is the source.
func (r *Repack) Run(ctx context.Context, o atomicfile.Options, accept func(h5copy.Problem) bool) error {
	if same, err := sameFile(r.File, r.Target); err != nil {
		return err
	} else if same {
		return fmt.Errorf("%w: the target is the source", ndarray.ErrParam)
	}
	if err := r.Plan(ctx); err != nil {
		return err
	}
	var refused []error
	for _, p := range r.Problems {
		if accept == nil || !accept(p) {
			refused = append(refused, fmt.Errorf("%s: %s: %w", p.Path, p.What, p.Err))
		}
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	out, err := atomicfile.Create(ctx, r.Target, o)
	if err != nil {
		return err
	}
	if err = r.Write(ctx, out.Path()); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(x, y), err
}

// Plan finds properties that cannot be kept, and the amount of work.
func (r *Repack) Plan(ctx context.Context) (err error) {
	if r.directory, err = h5objects.Directory(r.Target); err != nil {
		return err
	}
	return r.pass(ctx)
}

// Write writes the new file, after Plan.
func (r *Repack) Write(ctx context.Context, file string) (err error) {
	if r.Cloud {
		r.dst, err = r.createCloud(file)
	} else {
		r.dst, err = h5copy.Create(file, r.Source)
	}
	if err != nil {
		return err
	}
	r.Bytes, r.Rewritten, r.Kept = 0, 0, 0
	if err := errors.Join(r.pass(ctx), r.dst.Close()); err != nil {
		return err
	}
	creation, err := r.Source.Creation()
	if err != nil {
		return err
	}
	return h5copy.CopyUserBlock(file, r.File, creation.UserBlock)
}

func (r *Repack) createCloud(file string) (*h5.File, error) {
	src, err := os.Open(r.File)
	if err != nil {
		return nil, err
	}
	info, err := src.Stat()
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	m, err := h5cloud.ReadMetadata(src, info.Size())
	if err := errors.Join(err, src.Close()); err != nil {
		return nil, err
	}
	return h5cloud.Create(file, r.Source, m, h5cloud.Plan{Kept: r.Kept, Rewritten: r.Rewritten, Compatible: r.Compatible, Index: r.index})
}

func (r *Repack) pass(ctx context.Context) error {
	c := h5copy.New(r.Source, r.dst, h5copy.Options{Directory: r.directory, AllowMissing: r.AllowMissing, ExternalDir: r.ExternalDir,
		Exclude: r.Exclude, Unreadable: r.Unreadable, Dataset: r.dataset, Recreate: r.Compatible})
	if err := c.File(ctx); err != nil {
		at := r.File
		if e, ok := errors.AsType[*h5copy.PathError](err); ok {
			at, err = r.File+":"+e.Path, e.Err
		}
		return ndarray.Wrap("repack", at, err)
	}
	r.Problems = c.Problems
	return nil
}

func (r *Repack) unfit(text string) {
	if r.dst == nil && r.Unfit != nil {
		r.Unfit(text)
	}
}

// dataset reads and rewrites a dataset if its storage must change.
func (r *Repack) dataset(ctx context.Context, d *h5.Dataset, info h5.DatasetInfo, name string) (made bool, err error) {
	var spec *ndarray.Spec
	var description hdf5.Description
	refers := h5copy.Refers(info.Datatype)
	if !refers {
		if description, spec, err = r.change(d, info, name); err != nil {
			return false, err
		}
	}
	if r.dst == nil && r.Compatible {
		if err := r.count(d, &info, spec); err != nil {
			return false, err
		}
	}
	if refers {
		return false, nil
	}
	if spec == nil {
		r.Kept++
		return false, nil
	}
	r.Rewritten++
	r.Bytes += description.Meta.NumElems() * int64(spec.DType.Size)
	switch {
	case r.dst != nil:
		return true, r.rewrite(ctx, name, *spec, info)
	case r.Rewrites != nil:
		return true, r.Rewrites(name, description, *spec)
	}
	return true, nil
}

// count adds the size of the chunk index that a dataset will have.
func (r *Repack) count(d *h5.Dataset, info *h5.DatasetInfo, spec *ndarray.Spec) error {
	rank := len(info.Space.Dims)
	switch {
	case spec != nil && spec.ChunkShape != nil:
		r.index += h5cloud.TreeBytes(rank, grid.Of(spec.Shape, spec.ChunkShape).NumChunks())
	case spec == nil && info.Layout == h5.Chunked:
		n, err := d.NumChunks()
		r.index += h5cloud.TreeBytes(rank, n)
		return err
	}
	return nil
}

// change returns how a dataset must be stored, or nil if it is copied as it is stored.
func (r *Repack) change(d *h5.Dataset, info h5.DatasetInfo, name string) (x hdf5.Description, spec *ndarray.Spec, err error) {
	if r.Spec == nil || info.Datatype.Committed != 0 || info.Layout == h5.Virtual || len(info.External) > 0 {
		return x, nil, nil
	}
	x, err = hdf5.Describe(d, name, nil)
	if errors.Is(err, errors.ErrUnsupported) {
		return x, nil, nil
	}
	if err != nil {
		return x, nil, err
	}
	for _, f := range info.Filters {
		if can, err := h5.FilterAvailable(f.ID); err != nil {
			return x, nil, err
		} else if !can.Decode {
			r.unfit(fmt.Sprintf("%s: filter %d is not available", name, f.ID))
			return x, nil, nil
		}
	}
	m := x.Meta
	if m.Null || len(m.Shape) == 0 || m.NumElems() == 0 {
		return x, nil, nil // not chunked, and without stored elements
	}
	spec, err = r.Spec(name, m)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a codec that does not support these elements
		r.unfit(err.Error())
		return x, nil, nil
	case err != nil || spec == nil:
		return x, nil, err
	}
	was := m.Spec()
	for i, n := range spec.ChunkShape { // as hdf5.Create clips them
		if spec.MaxShape == nil && n > spec.Shape[i] {
			spec.ChunkShape[i] = spec.Shape[i]
		}
	}
	spec.AxisNames, spec.Comment = nil, "" // copied with the attributes
	if slices.Equal(spec.ChunkShape, was.ChunkShape) && reflect.DeepEqual(spec.MaxShape, was.MaxShape) &&
		SameCompression(spec.Compression, was.Compression) {
		return x, nil, nil
	}
	return x, spec, nil
}

// SameCompression reports whether two compressions store elements in the same way.
func SameCompression(a, b *ndarray.Compression) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.String() == b.String()
}

func (r *Repack) rewrite(ctx context.Context, name string, spec ndarray.Spec, info h5.DatasetInfo) (err error) {
	from, err := hdf5.OpenIn(r.Source.Root(), name, r.File+":"+name, &hdf5.OpenOptions{Shared: true})
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
	_, err = ndarray.Copy(ctx, dst, src, &ndarray.CopyOptions{Workers: r.Workers, Memory: r.Memory, Progress: func(p ndarray.Progress) {
		r.done = before + p.DoneBytes
		if r.Progress != nil {
			r.Progress(r.done)
		}
	}})
	return err
}
