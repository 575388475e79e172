// The kinds of changes.

package writers

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// kind is a kind of change. Each change has an id, which is in the file afterwards.
type kind struct {
	name    string
	file    string                                       // in a new directory
	create  func(ctx context.Context, file string) error // before the changes
	change  func(ctx context.Context, file string, id int64) error
	found   func(ctx context.Context, file string) ([]int64, error) // the ids, in order if ordered is set
	ordered bool
	fragile bool // a killed writer can leave a corrupt file
}

// length is the number of elements of arrays whose elements are changed.
const length = 1 << 10

// at returns the index of an id in an array of length elements.
func at(id int64) int64 { return id % length }

var kinds = []kind{
	appends("b2nd, by a copy", "f.b2nd", byCopy, false),
	appends("b2nd, durable", "f.b2nd", durably, false),
	appends("b2nd, in place", "f.b2nd", inPlace, true),
	appends("sparse b2nd, by a copy", "f.dir", byCopy, false),
	appends("sparse b2nd, durable", "f.dir", durably, false),
	appends("Caterva, durable", "f.caterva", durably, false),
	appends("carray, by a copy", "f.bcolz", byCopy, false),
	appends("carray, in place", "f.bcolz", inPlace, false),
	appends("HDF5, by a copy", "f.h5:/x", byCopy, false),
	appends("HDF5, in place", "f.h5:/x", inPlace, true),
	table(),
	elements("b2nd, durable", "f.b2nd", durably, false),
	elements("b2nd, in place", "f.b2nd", inPlace, true),
	elements("HDF5, in place", "f.h5:/x", inPlace, true),
	elements("carray, in place", "f.bcolz", inPlace, false),
	elements("npy, in place", "f.npy", inPlace, true),
	attributes("b2nd, by a copy", "f.b2nd", byCopy, false),
	attributes("b2nd, in place", "f.b2nd", inPlace, true),
	attributes("HDF5, by a copy", "f.h5:/x", byCopy, false),
	attributes("HDF5, in place", "f.h5:/x", inPlace, true),
	attributes("carray, in place", "f.bcolz", inPlace, false),
	groupAttributes("HDF5, by a copy", "f.h5", true, false),
	groupAttributes("HDF5, in place", "f.h5", false, true),
	groupAttributes("directory, in place", "f", false, true),
	arrays("HDF5, by a copy", "f.h5", nil, false),
	arrays("HDF5, in place", "f.h5", &hyperslab.CreateOptions{InPlace: true}, true),
	arrays("HDF5, virtual", "f.h5", &hyperslab.CreateOptions{Mappings: []h5.Mapping{{
		Region: h5.Region{Start: []int64{0}, Count: []int64{3}}, File: ".", Dataset: "/first", Source: h5.SimpleSpace(3), SourceRegion: h5.SimpleSpace(3).All(),
	}}}, false),
	arrays("container", "f.b2d", nil, false),
	trees(),
	frames("durable", &frameio.AppendOptions{Durable: true}, false),
	frames("in place", nil, true),
	frames("compacted", &frameio.AppendOptions{Durable: true}, false),
	mixed(),
	directories(),
	additions(),
}

// way opens an array for a change.
type way func(ctx context.Context, location string, change func(a *ndarray.Array) error) error

func opened(ctx context.Context, location string, o *hyperslab.OpenOptions, f func(a *ndarray.Array) error) error {
	if strings.Contains(location, ".caterva") {
		o = &hyperslab.OpenOptions{Write: o.Write, Durable: o.Durable, DType: new(ndarray.DTypeOf[int64]())}
	}
	a, err := hyperslab.Open(ctx, location, o)
	if err != nil {
		return err
	}
	return errors.Join(f(a), a.Close())
}

func durably(ctx context.Context, location string, change func(a *ndarray.Array) error) error {
	return opened(ctx, location, &hyperslab.OpenOptions{Durable: true}, change)
}

func inPlace(ctx context.Context, location string, change func(a *ndarray.Array) error) error {
	return opened(ctx, location, &hyperslab.OpenOptions{Write: true}, change)
}

func byCopy(ctx context.Context, location string, change func(a *ndarray.Array) error) error {
	file, object, _ := strings.Cut(location, ":")
	return hyperslab.Update(ctx, file, func(file string) error {
		if object != "" {
			file += ":" + object
		}
		return opened(ctx, file, &hyperslab.OpenOptions{Write: true}, change)
	})
}

// values reads all elements of an array.
func values(ctx context.Context, location string) (v []int64, err error) {
	err = opened(ctx, location, &hyperslab.OpenOptions{}, func(a *ndarray.Array) error {
		v, err = ndarray.ReadAll[int64](ctx, a)
		return err
	})
	return v, err
}

// put creates an array.
func put(ctx context.Context, location string, spec ndarray.Spec, o *hyperslab.CreateOptions) error {
	d, err := hyperslab.Create(ctx, location, spec, o)
	if err != nil {
		return err
	}
	return errors.Join(d.Commit(ctx), d.Close())
}

func createInts(n int64) func(ctx context.Context, location string) error {
	return func(ctx context.Context, location string) error {
		spec := ndarray.Spec{Shape: []int64{n}, ChunkShape: []int64{16}, DType: ndarray.DTypeOf[int64]()}
		o := &hyperslab.CreateOptions{}
		if strings.HasSuffix(location, ".dir") {
			o.Format, o.Sparse = hyperslab.B2ND, true
		}
		switch {
		case strings.HasSuffix(location, ".npy"):
			spec.ChunkShape = nil
		case n == 0 && !strings.HasSuffix(location, ".caterva"):
			spec.MaxShape = []int64{ndarray.Unlimited}
		}
		return put(ctx, location, spec, o)
	}
}

// appends appends the id to an array.
func appends(name, file string, open way, fragile bool) kind {
	return kind{
		name: "append to " + name, file: file, create: createInts(0), found: values, ordered: true, fragile: fragile,
		change: func(ctx context.Context, location string, id int64) error {
			return open(ctx, location, func(a *ndarray.Array) error { return ndarray.Append(ctx, a, 0, []int64{id}) })
		},
	}
}

// table appends rows to a ctable.
func table() kind {
	native := binary.NativeEndian
	int64s := ndarray.DTypeOf[int64]()
	rows := ndarray.StructOf(false, ndarray.Field{Name: "id", Type: int64s}, ndarray.Field{Name: "twice", Type: int64s})
	return kind{
		name: "append to ctable, in place", file: "f.bcolz", ordered: true,
		create: func(ctx context.Context, location string) error {
			return put(ctx, location, ndarray.Spec{Shape: []int64{0}, DType: rows}, nil)
		},
		change: func(ctx context.Context, location string, id int64) error {
			return inPlace(ctx, location, func(a *ndarray.Array) error {
				return a.Append(ctx, 0, native.AppendUint64(native.AppendUint64(nil, uint64(id)), uint64(2*id)))
			})
		},
		found: func(ctx context.Context, location string) (ids []int64, err error) {
			err = opened(ctx, location, &hyperslab.OpenOptions{}, func(a *ndarray.Array) error {
				b := make([]byte, a.NBytes())
				err := a.Read(ctx, b, ndarray.Whole(a.Shape()))
				for ; err == nil && len(b) > 0; b = b[16:] {
					id, twice := int64(native.Uint64(b)), int64(native.Uint64(b[8:]))
					if twice != 2*id {
						return fmt.Errorf("row %d, %d", id, twice)
					}
					ids = append(ids, id)
				}
				return err
			})
			return ids, err
		},
	}
}

// elements sets one element of an array of zeros.
func elements(name, file string, open way, fragile bool) kind {
	return kind{
		name: "write to " + name, file: file, create: createInts(length), fragile: fragile,
		change: func(ctx context.Context, location string, id int64) error {
			return open(ctx, location, func(a *ndarray.Array) error {
				return ndarray.Write(ctx, a, []int64{id}, ndarray.Region{Start: []int64{at(id)}, Shape: []int64{1}})
			})
		},
		found: func(ctx context.Context, location string) (ids []int64, err error) {
			all, err := values(ctx, location)
			for _, id := range all {
				if id != 0 {
					ids = append(ids, id)
				}
			}
			return ids, err
		},
	}
}

// attribute is an attribute with the name of an id.
func attribute(id int64) ndarray.Attr {
	return ndarray.Attr{Name: fmt.Sprintf("a%d", id), Value: ndarray.Scalar(id)}
}

func attributeIDs(attrs ndarray.Attrs) (ids []int64, err error) {
	for _, a := range attrs.List {
		id, err := strconv.ParseInt(strings.TrimPrefix(a.Name, "a"), 10, 64)
		if err != nil || !a.Value.Equal(ndarray.Scalar(id)) {
			return nil, fmt.Errorf("attribute %s = %v", a.Name, a.Value)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func attributes(name, file string, open way, fragile bool) kind {
	return kind{
		name: "set an attribute of " + name, file: file, create: createInts(3), fragile: fragile,
		change: func(ctx context.Context, location string, id int64) error {
			return open(ctx, location, func(a *ndarray.Array) error { return a.SetAttr(ctx, attribute(id)) })
		},
		found: func(ctx context.Context, location string) (ids []int64, err error) {
			err = opened(ctx, location, &hyperslab.OpenOptions{}, func(a *ndarray.Array) error {
				attrs, err := a.Attrs(ctx)
				if err == nil {
					ids, err = attributeIDs(attrs)
				}
				return err
			})
			return ids, err
		},
	}
}

func groupAttributes(name, file string, copied, fragile bool) kind {
	return kind{
		name: "set an attribute of a group, " + name, file: file, fragile: fragile,
		create: func(ctx context.Context, file string) error {
			if !strings.HasSuffix(file, ".h5") {
				if err := os.Mkdir(file, 0o700); err != nil {
					return err
				}
				return createInts(3)(ctx, filepath.Join(file, "x.b2nd"))
			}
			return createInts(3)(ctx, file+":/x")
		},
		change: func(ctx context.Context, file string, id int64) error {
			edit := func(file string) error {
				return hyperslab.EditGroupAttrs(ctx, file, []ndarray.Attr{attribute(id)}, nil)
			}
			if copied {
				return hyperslab.Update(ctx, file, edit)
			}
			return edit(file)
		},
		found: func(ctx context.Context, file string) ([]int64, error) {
			t, err := hyperslab.OpenTree(ctx, file, nil)
			if err != nil {
				return nil, err
			}
			attrs, err := t.GroupAttrs(ctx, "/")
			if err := errors.Join(err, t.Close()); err != nil {
				return nil, err
			}
			return attributeIDs(attrs)
		},
	}
}

// members returns the ids in the names /gID of the members of the root group. One object has
// another name.
func members(ctx context.Context, file string) (ids []int64, err error) {
	for e, err := range hyperslab.Walk(ctx, file, nil) {
		if err != nil {
			return nil, err
		}
		name, is := strings.CutPrefix(e.Path, "/g")
		if id, err := strconv.ParseInt(name, 10, 64); is && err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// arrays creates an array in a file.
func arrays(name, file string, o *hyperslab.CreateOptions, fragile bool) kind {
	return kind{
		name: "create an array, " + name, file: file, fragile: fragile, found: members,
		create: func(ctx context.Context, file string) error { return createInts(3)(ctx, file+":/first") },
		change: func(ctx context.Context, file string, id int64) error {
			return put(ctx, fmt.Sprintf("%s:/g%d", file, id), ndarray.Spec{Shape: []int64{3}, DType: ndarray.DTypeOf[int64]()}, o)
		},
	}
}

// trees copies a tree to a group of a container that is written as a whole.
func trees() kind {
	source := func(ctx context.Context, dir string) (*hyperslab.Tree, error) {
		return hyperslab.OpenTree(ctx, filepath.Join(dir, "source.h5"), nil)
	}
	copyTo := func(ctx context.Context, file, target string) error {
		t, err := source(ctx, filepath.Dir(file))
		if err != nil {
			return err
		}
		_, err = hyperslab.CopyTree(ctx, target, t, nil)
		return errors.Join(err, t.Close())
	}
	return kind{
		name: "copy a tree to a container", file: "f.b2z", found: members,
		create: func(ctx context.Context, file string) error {
			if err := createInts(3)(ctx, filepath.Join(filepath.Dir(file), "source.h5:/x")); err != nil {
				return err
			}
			return copyTo(ctx, file, file)
		},
		change: func(ctx context.Context, file string, id int64) error {
			return copyTo(ctx, file, fmt.Sprintf("%s:/g%d", file, id))
		},
	}
}

// frames appends chunks to a frame without an array.
func frames(name string, o *frameio.AppendOptions, fragile bool) kind {
	const chunk = 8
	return kind{
		name: "append to a frame, " + name, file: "f.b2frame", ordered: true, fragile: fragile,
		create: func(_ context.Context, file string) error {
			w, err := frameio.Create(file, &frameio.Params{ChunkSize: chunk})
			if err != nil {
				return err
			}
			return errors.Join(w.Commit(), w.Close())
		},
		change: func(_ context.Context, file string, id int64) error {
			options := frameio.AppendOptions{}
			if o != nil {
				options = *o
			}
			options.ChunkSize = chunk
			w, err := frameio.Append(file, &options)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "%8d", id)
			if err == nil {
				err = w.Commit()
			}
			if err = errors.Join(err, w.Close()); err == nil && name == "compacted" && id%4 == 0 {
				err = frameio.Compact(file)
			}
			return err
		},
		found: func(_ context.Context, file string) (ids []int64, err error) {
			r, err := frameio.Open(file, nil)
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, r.Close()) }()
			b := make([]byte, r.NBytes())
			if _, err := r.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			for ; len(b) > 0; b = b[chunk:] {
				id, err := strconv.ParseInt(strings.TrimSpace(string(b[:chunk])), 10, 64)
				if err != nil {
					return nil, err
				}
				ids = append(ids, id)
			}
			return ids, nil
		},
	}
}

// directories changes an array of a directory, and copies of the directory.
func directories() kind {
	k := appends("an array of a directory, and to copies of the directory", "f:/g/x", nil, false)
	k.create = func(ctx context.Context, location string) error {
		dir, _, _ := strings.Cut(location, ":")
		if err := os.MkdirAll(filepath.Join(dir, "g"), 0o700); err != nil {
			return err
		}
		if err := createInts(0)(ctx, filepath.Join(dir, "other.b2nd")); err != nil { // a directory of arrays has one
			return err
		}
		return createInts(0)(ctx, filepath.Join(dir, "g", "x.b2nd"))
	}
	k.change = func(ctx context.Context, location string, id int64) error {
		open := durably
		switch id % 3 {
		case 0:
			open = byCopy
		case 1: // the array by its own path
			location = strings.Replace(location, ":", "/", 1) + ".b2nd"
		}
		return open(ctx, location, func(a *ndarray.Array) error { return ndarray.Append(ctx, a, 0, []int64{id}) })
	}
	return k
}

// additions creates arrays in a directory, and in copies of the directory.
func additions() kind {
	k := arrays("a directory, and copies of it", "f", nil, false)
	k.create = func(ctx context.Context, dir string) error {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		return createInts(3)(ctx, filepath.Join(dir, "first.b2nd"))
	}
	k.change = func(ctx context.Context, dir string, id int64) error {
		add := func(dir string) error { return createInts(3)(ctx, filepath.Join(dir, fmt.Sprintf("g%d.b2nd", id))) }
		if id%2 == 0 {
			return hyperslab.Update(ctx, dir, add)
		}
		return add(dir)
	}
	return k
}

// mixed makes several kinds of changes to one file: each id selects one.
func mixed() kind {
	adds, grows, sets := arrays("", "", nil, false), appends("", "", byCopy, false), groupAttributes("", "", true, false)
	return kind{
		name: "change HDF5 in several ways", file: "f.h5",
		create: func(ctx context.Context, file string) error { return createInts(0)(ctx, file+":/x") },
		change: func(ctx context.Context, file string, id int64) error {
			switch id % 3 {
			case 0:
				return adds.change(ctx, file, id)
			case 1:
				return grows.change(ctx, file+":/x", id)
			}
			return sets.change(ctx, file, id)
		},
		found: func(ctx context.Context, file string) ([]int64, error) {
			a, errA := adds.found(ctx, file)
			b, errB := grows.found(ctx, file+":/x")
			c, errC := sets.found(ctx, file)
			return append(append(a, b...), c...), errors.Join(errA, errB, errC)
		},
	}
}
