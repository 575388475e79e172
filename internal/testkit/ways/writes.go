// Ways to write, after which the reference libraries read the elements.

package ways

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Writes returns the ways to write: a new array with the properties of the array, a region that is
// written again with its own values, and rows that are deleted and appended.
func Writes(t testing.TB, reference *Reference) []Way {
	dir := t.TempDir()
	return []Way{
		{Name: "Create", Whole: true, Formats: []string{"b2nd", "bcolz", "caterva"}, Start: Stateless(func(ctx context.Context, a *Array, _ ndarray.Region, dst []byte) error {
			return a.create(ctx, filepath.Join(dir, "create"+filepath.Ext(a.File.Name)), reference, dst)
		})},
		{Name: "Create with checksums", Whole: true, Formats: []string{"b2nd"}, Start: Stateless(func(ctx context.Context, a *Array, _ ndarray.Region, dst []byte) (err error) {
			to := filepath.Join(dir, "summed"+filepath.Ext(a.File.Name))
			defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
			if err := a.copySummed(ctx, to); err != nil {
				return err
			}
			return a.readBy(reference, to, dst)
		})},
		{Name: "Write with checksums", Formats: []string{"b2nd"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, r ndarray.Region) error {
			return a.changeSummed(ctx, location, func(x *ndarray.Array) error {
				return unchanged(a.region(r), func(src []byte) error { return x.Write(ctx, src, r) })
			})
		})},
		{Name: "Append with checksums", Whole: true, Formats: []string{"b2nd"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, _ ndarray.Region) error {
			return a.changeSummed(ctx, location, func(x *ndarray.Array) error {
				tail, err := shorten(ctx, x, a)
				if err != nil || tail == nil {
					return err
				}
				return unchanged(tail, func(src []byte) error { return x.Append(ctx, 0, src) })
			})
		})},
		{Name: "CreateTree", Whole: true, Formats: []string{"hdf5"}, Start: Stateless(func(ctx context.Context, a *Array, _ ndarray.Region, dst []byte) error {
			return a.createTree(ctx, filepath.Join(dir, "tree.h5"), reference, dst, false)
		})},
		{Name: "CreateTree in parts", Whole: true, Formats: []string{"hdf5"}, Start: Stateless(func(ctx context.Context, a *Array, _ ndarray.Region, dst []byte) error {
			return a.createTree(ctx, filepath.Join(dir, "parts.h5"), reference, dst, true)
		})},
		{Name: "Write", Formats: []string{"hdf5", "b2nd", "bcolz", "caterva"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, r ndarray.Region) error {
			return open(ctx, location, func(x *ndarray.Array) error {
				return unchanged(a.region(r), func(src []byte) error { return x.Write(ctx, src, r) })
			})
		})},
		{Name: "Append", Whole: true, Formats: []string{"hdf5", "b2nd", "bcolz", "caterva"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, _ ndarray.Region) error {
			return open(ctx, location, func(x *ndarray.Array) error {
				tail, err := shorten(ctx, x, a)
				if err != nil || tail == nil {
					return err
				}
				return unchanged(tail, func(src []byte) error { return x.Append(ctx, 0, src) })
			})
		})},
		{Name: "appendRecords", Whole: true, Formats: []string{"hdf5", "b2nd", "bcolz", "caterva"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, _ ndarray.Region) error {
			if len(a.Shape) != 1 || a.Cells() {
				return ErrForm
			}
			return open(ctx, location, func(x *ndarray.Array) error {
				tail, err := shorten(ctx, x, a)
				if err != nil || tail == nil {
					return err
				}
				return unchanged(tail, func(src []byte) error { return appendRecords(ctx, x, src) })
			})
		})},
	}
}

// AppendCommand returns the way that deletes rows of an array and appends them again from a .npy
// file by a command.
func AppendCommand(t testing.TB, reference *Reference, run func(target, source string) error) Way {
	source := filepath.Join(t.TempDir(), "tail.npy")
	return Way{Name: "append", Slow: true, Whole: true, Formats: []string{"hdf5", "b2nd", "bcolz"}, Start: changing(reference, func(ctx context.Context, location string, a *Array, _ ndarray.Region) error {
		var tail []byte
		err := open(ctx, location, func(x *ndarray.Array) (err error) {
			if tail, err = shorten(ctx, x, a); err != nil || tail == nil {
				return err
			}
			shape := slices.Clone(a.Shape)
			shape[0] -= x.Shape()[0]
			d, err := hyperslab.Create(ctx, source, ndarray.Spec{Shape: shape, DType: x.DType()}, &hyperslab.CreateOptions{Overwrite: true})
			if errors.Is(err, errors.ErrUnsupported) {
				return ErrForm // a type that .npy does not have
			}
			if err != nil {
				return err
			}
			return errors.Join(d.Write(ctx, tail, ndarray.Whole(shape)), d.Commit(ctx), d.Close())
		})
		if err != nil || tail == nil {
			return err
		}
		return run(location, source)
	})}
}

// open calls change with an array that is open for writing.
func open(ctx context.Context, location string, change func(x *ndarray.Array) error) error {
	x, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Write: true})
	if err != nil {
		return err
	}
	return errors.Join(change(x), x.Close())
}

// changeSummed replaces a b2nd array by a copy with checksums, and calls change with it. Afterwards
// the checksums must be current.
func (a *Array) changeSummed(ctx context.Context, location string, change func(x *ndarray.Array) error) error {
	if err := errors.Join(os.RemoveAll(location), a.copySummed(ctx, location)); err != nil {
		return err
	}
	if err := open(ctx, location, change); err != nil {
		return err
	}
	x, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Checksums: true})
	if err != nil {
		return err
	}
	if !slices.Contains(x.Meta().Compression.Filters, checksumFilter) {
		err = errors.New("the checksums are not current")
	}
	got := make([]byte, x.NBytes())
	return errors.Join(err, x.Read(ctx, got, ndarray.Whole(x.Shape())), x.Close())
}

// shorten deletes the last third of the rows, but at least one, and returns its elements, or nil if
// the array has too few rows.
func shorten(ctx context.Context, x *ndarray.Array, a *Array) ([]byte, error) {
	if len(a.Shape) == 0 || a.Shape[0] < 2 || len(a.Want) == 0 {
		return nil, nil
	}
	shape := x.Shape()
	shape[0] -= max(1, shape[0]/3)
	return a.Want[int(shape[0])*(len(a.Want)/int(a.Shape[0])):], x.Resize(ctx, shape)
}

// unchanged calls write with a copy of src, which must not change.
func unchanged(src []byte, write func(src []byte) error) error {
	used := bytes.Clone(src)
	err := write(used)
	if err == nil && !bytes.Equal(used, src) {
		err = errors.New("the write changed the elements of its caller")
	}
	return err
}

// create writes the elements to a new array with the same properties.
func (a *Array) create(ctx context.Context, to string, reference *Reference, dst []byte) (err error) {
	x, err := hyperslab.Open(ctx, a.Location(), nil)
	if err != nil {
		return err
	}
	spec := x.Meta().Spec()
	if err := x.Close(); err != nil {
		return err
	}
	o := &hyperslab.CreateOptions{Overwrite: true, Sparse: sparse(a)}
	d, err := hyperslab.Create(ctx, to, spec, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close(), os.RemoveAll(to)) }()
	if err := unchanged(a.Want, func(src []byte) error { return d.Write(ctx, src, ndarray.Whole(spec.Shape)) }); err != nil {
		return err
	}
	if err := d.Commit(ctx); err != nil {
		return err
	}
	return a.readBy(reference, to, dst)
}

// createTree writes the elements to a new file with an array with the same path and properties: at
// once, or chunk by chunk in several goroutines, while other arrays are written.
func (a *Array) createTree(ctx context.Context, to string, reference *Reference, dst []byte, parts bool) (err error) {
	if a.Cells() {
		return ErrForm // the reference library reads strings, not cells
	}
	x, err := hyperslab.Open(ctx, a.Location(), nil)
	if err != nil {
		return err
	}
	spec := x.Meta().Spec()
	if err := x.Close(); err != nil {
		return err
	}
	d, err := hyperslab.CreateTree(ctx, to, &hyperslab.CreateOptions{Overwrite: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close(), os.RemoveAll(to)) }()
	group := ""
	for name := range strings.SplitSeq(strings.Trim(filepath.ToSlash(filepath.Dir(a.Path)), "/"), "/") {
		if name == "" {
			continue
		}
		if group += "/" + name; d.CreateGroup(ctx, group) != nil {
			return fmt.Errorf("group %s", group)
		}
	}
	y, err := d.Create(ctx, a.Path, spec)
	if err != nil {
		return err
	}
	err = unchanged(a.Want, func(src []byte) error {
		if !parts {
			return y.Write(ctx, src, ndarray.Whole(spec.Shape))
		}
		return a.writeParts(ctx, d, y)
	})
	if err = errors.Join(err, d.Commit(ctx)); err != nil {
		return err
	}
	return a.readBy(reference, to, dst)
}

// writeParts writes the chunks of an array in goroutines, and another array of the draft beside it.
func (a *Array) writeParts(ctx context.Context, d *hyperslab.TreeDraft, x *ndarray.Array) error {
	var g errgroup.Group
	g.SetLimit(3)
	g.Go(func() error {
		other, err := d.Create(ctx, "/other", ndarray.Spec{Shape: []int64{100}, DType: ndarray.DTypeOf[int8]()})
		if err != nil {
			return err
		}
		return errors.Join(other.Write(ctx, bytes.Repeat([]byte{dirty}, 100), ndarray.Whole(other.Shape())), other.Close())
	})
	for r := range x.ChunkRegions() {
		g.Go(func() error { return x.Write(ctx, a.region(r), r) })
	}
	return g.Wait()
}

// readBy fills dst with the elements of the array in a copy of its file, as the reference library
// reads them.
func (a *Array) readBy(reference *Reference, file string, dst []byte) error {
	return reference.Fill(a.File.Format, file, a.Path, dst)
}

// changing changes arrays in a copy of the file, and reads the region with the reference library.
func changing(reference *Reference, change func(ctx context.Context, location string, a *Array, r ndarray.Region) error) func(context.Context, *File) (Read, func() error, error) {
	return func(_ context.Context, f *File) (Read, func() error, error) {
		dir, err := os.MkdirTemp(f.set.Dir, "change")
		if err != nil {
			return nil, nil, err
		}
		to := filepath.Join(dir, filepath.Base(f.Name))
		if err := f.copyTo(to); err != nil {
			return nil, nil, errors.Join(err, os.RemoveAll(dir))
		}
		return func(ctx context.Context, a *Array, r ndarray.Region, dst []byte) error {
			// Elements that were never written have no defined value before and after a write to
			// their chunk if the fill value is not stored.
			if a.Cells() || outside(a) || undefined(a) {
				return ErrForm
			}
			if err := change(ctx, to+strings.TrimPrefix(a.Location(), f.Path()), a, r); err != nil {
				return err
			}
			all := make([]byte, len(a.Want))
			if err := a.readBy(reference, to, all); err != nil {
				return err
			}
			if fault, ok := a.compare(all, a.Want); ok { // also of the elements outside of the region
				return fmt.Errorf("after the change: got %s, want %s", fault.Got, fault.Want)
			}
			copy(dst, a.region(r))
			return nil
		}, func() error { return os.RemoveAll(dir) }, nil
	}
}
