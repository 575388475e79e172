// Damaged copies: a way returns the value of the reference library or a typed error.

package ways

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/damage"
	"github.com/hyperslab/hyperslab/ndarray"
)

// typed are the errors that ways return for damaged files.
var typed = []error{
	ndarray.ErrCorrupt, ndarray.ErrFormat, ndarray.ErrNotFound, hyperslab.ErrLimit, ndarray.ErrType, ndarray.ErrShape,
	ndarray.ErrSize, ndarray.ErrRegion, ndarray.ErrParam, ndarray.ErrReplaced, errors.ErrUnsupported,
}

// RunDamaged cuts or changes copies of each file, and opens and reads them in each way. In a sample
// it takes one of 6 files.
func (s *Set) RunDamaged(ctx context.Context, reference *Reference, copies int) (*Report, error) {
	report := &Report{Reads: make(map[string]int), Skips: make(map[string]map[string]int)}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range s.Files {
		if s.Sample && i%6 != 0 {
			continue
		}
		for n := range copies {
			group.Go(func() error {
				if err := f.damaged(ctx, report, reference, n); err != nil {
					return fmt.Errorf("%s: copy %d: %w", f.Name, n, err)
				}
				return nil
			})
		}
	}
	return report, group.Wait()
}

// damaged reads a damaged copy of the file.
func (f *File) damaged(ctx context.Context, report *Report, reference *Reference, n int) (err error) {
	h := fnv.New64()
	fmt.Fprint(h, f.Name, n)
	random := rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
	dir, err := os.MkdirTemp(f.set.Dir, "damaged")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	name, err := filepath.Rel(f.set.Dir, filepath.Join(dir, filepath.Base(f.Name)))
	if err != nil {
		return err
	}
	other := &File{set: f.set, Name: filepath.ToSlash(name), Format: f.Format, Dims: f.Dims}
	for _, a := range f.Arrays {
		if !outside(a) {
			other.Arrays = append(other.Arrays, &Array{
				File: other, Path: a.Path, Dims: a.Dims, DType: a.DType, Shape: a.Shape, Chunks: a.Chunks, Size: a.Size, Nulls: a.Nulls, Want: a.Want,
			})
		}
	}
	if err := f.copyTo(other.Path()); err != nil {
		return err
	}
	what, err := damage.File(other.Path(), random)
	if err != nil {
		return err
	}
	for k, o := range openers() { // without the one that changes the file
		if o.name == "Open+Write" || o.formats != nil && !slices.Contains(o.formats, f.Format) || o.few && f.set.Sample && (n+k)%4 != 0 {
			continue
		}
		other.judge(ctx, report, reference, o, what)
	}
	return nil
}

// judge opens and reads the arrays of a damaged file in one way.
func (f *File) judge(ctx context.Context, report *Report, reference *Reference, o opener, what string) {
	way := o.name + ", damaged"
	var faults []Fault
	reads := 0
	fail := func(a *Array, got string) {
		faults = append(faults, Fault{Way: way, Array: a, Region: ndarray.Whole(a.Shape), Got: what + ": " + got, Want: "the value of the reference library, or a typed error"})
	}
	var open func(ctx context.Context, a *Array) (*ndarray.Array, error)
	var stop func() error
	err := guard(func() (err error) { open, stop, err = o.start(ctx, f); return err })
	for _, a := range f.Arrays {
		var got []byte
		failed := err
		if failed == nil {
			failed = guard(func() (err error) { got, err = a.readAll(ctx, open); return err })
		}
		switch {
		case failed == nil:
			reads++
			if problem := a.accept(reference, got, o.trusted()); problem != "" {
				fail(a, problem)
			}
		case !isTyped(failed):
			fail(a, failed.Error())
		}
	}
	if err == nil && stop != nil {
		if err := guard(stop); err != nil && !isTyped(err) && len(f.Arrays) > 0 {
			fail(f.Arrays[0], "close: "+err.Error())
		}
	}
	report.add(way, reads, nil, faults)
}

// trusted reports whether the opener makes no check of an HDF5 file.
func (o opener) trusted() bool {
	return !strings.Contains(o.name, "+untrusted") && !strings.Contains(o.name, "+worker") && !strings.Contains(o.name, "+file")
}

func isTyped(err error) bool {
	return !strings.HasPrefix(err.Error(), "panic") && slices.ContainsFunc(typed, func(t error) bool { return errors.Is(err, t) }) && !errors.Is(err, hyperslab.ErrCrashed)
}

// readAll opens the array and returns its elements.
func (a *Array) readAll(ctx context.Context, open func(ctx context.Context, a *Array) (*ndarray.Array, error)) (b []byte, err error) {
	x, err := open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	size := a.Size
	if d := x.DType(); !a.Cells() {
		size = d.Size
	}
	if x.NumElems() > 1<<22 {
		return nil, hyperslab.ErrLimit // of this test
	}
	b = make([]byte, x.NumElems()*int64(size))
	for i := range b {
		b[i] = dirty
	}
	return b, readRegion(ctx, x, a, ndarray.Whole(x.Shape()), b)
}

// accept returns "" if the elements are right: those of the intact file, or without a checksum
// those of the reference library.
func (a *Array) accept(reference *Reference, got []byte, trusted bool) string {
	if len(got) == len(a.Want) {
		if _, differs := a.compare(a.withoutNulls(got, ndarray.Whole(a.Shape)), a.withoutNulls(a.Want, ndarray.Whole(a.Shape))); !differs {
			return ""
		}
	}
	if a.summed() {
		return "another value although a checksum covers the bytes"
	}
	if undefined(a) || trusted && strings.HasPrefix(a.Dims["index"], "v1") { // docs/known-issues.md: keys of a B-tree
		return ""
	}
	want, _, err := reference.Values(a.File.Format, a.File.Path(), a.Path)
	switch {
	case errors.Is(err, ErrCrashed): // no answer
	case err != nil:
		return "elements; " + err.Error()
	case !bytes.Equal(got, want) && !a.hasPadding():
		return fmt.Sprintf("other elements than the reference library: %d bytes, want %d", len(got), len(want))
	}
	return ""
}

// summed reports whether checksums cover the stored elements and the metadata.
func (a *Array) summed() bool {
	return a.File.Format == "hdf5" && a.Dims["format"] == "new" && strings.Contains(a.Dims["filters"], "fletcher32") && a.Dims["mask"] == "none"
}

// undefined reports whether elements that were never written have no defined value.
func undefined(a *Array) bool {
	return a.Dims["filltime"] == "never" && a.Dims["stored"] != "all" || a.Dims["fill"] == "undefined"
}
