// Copies: CopyTree between any formats, CopyObjects and Repack of HDF5 files, references to chunks.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5repack"
	"github.com/hyperslab/hyperslab/internal/hdf5/kerchunk"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/treecopy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TreeOptions are the options of CopyTree. nil means the zero value.
type TreeOptions struct {
	Accept    func(Problem) bool // reports whether a loss is accepted; nil: no loss is
	DryRun    bool               // find problems only
	Overwrite bool               // replace an existing target
	Lock      *Lock              // the lock of an existing target, which the caller holds; nil: CopyTree takes it

	// Exclude reports whether the object at a path of the source is left out, with everything below
	// it; nil: all objects are copied. Links to excluded objects are problems, because they would
	// have no target.
	Exclude func(path string) bool

	// SkipUnreadable leaves out objects that are corrupt, or stored with a filter that is not
	// available, instead of failing; TreeStats.Unreadable lists them.
	SkipUnreadable bool

	// Adjust changes chunks, blocks or compression of the array at a path of the source. An error
	// ends the copy before anything is written. Adjust may also lower the number of goroutines for
	// that array; *workers begins as Workers.
	Adjust func(path string, m ndarray.Meta, spec *ndarray.Spec, workers *int) error

	// View returns an array that shows the array at a path of the source in another form, for
	// example its numbers with another type, or a itself. It takes a over, and the result closes a.
	// Tables of python-blosc2 that are copied byte for byte are not shown. Nil: arrays stay as they
	// are.
	View func(path string, a *ndarray.Array) (*ndarray.Array, error)

	// Strings selects the type that replaces a type of strings that the target lacks. "" and "auto"
	// replace strings of variable length by U (UTF-8) or S (ASCII) of the smallest size, and U in
	// HDF5 by UTF-8 of variable length. "fixed" stores all strings in HDF5 with a fixed size too.
	// "error" makes such an array a Problem. No string changes, and each replacement is in
	// TreeStats.Changes.
	Strings string

	// Format is B2Z, B2D or B2E for a container whose name has no extension of a format. "": the
	// extension of the target determines the format.
	Format Format

	// Table writes a table of python-blosc2 to a .b2z or .b2d instead of a tree of arrays.
	Table bool

	Workers  int                    // goroutines; 0 means GOMAXPROCS
	Memory   int64                  // bytes of buffers; 0 means 128 MiB
	Progress func(ndarray.Progress) // of all arrays together, one unit per array; never called concurrently
}

// Problem is a part of a source tree that the target cannot represent.
type Problem struct {
	Path string // in the source
	What string // "array", "group", "link", "datatype", "object", "references", or "attribute NAME"
	Err  error  // the reason
}

func (p Problem) String() string { return fmt.Sprintf("%s: %s: %v", p.Path, p.What, p.Err) }

// TreeStats are the statistics of CopyTree, also of a dry run. In JSON the counts have the keys of
// hyperslab.convert.tree/1, and a Problem is an object.
type TreeStats struct {
	Groups     int       `json:"groups"`
	Arrays     int       `json:"arrays"`
	Links      int       `json:"links"`
	Attrs      int       `json:"attributes"`
	Types      int       `json:"types"`      // committed datatypes
	Bytes      int64     `json:"bytes"`      // of elements, in memory
	Lost       []Problem `json:"lost"`       // accepted losses
	Refused    []Problem `json:"refused"`    // losses that are not accepted; no target was written
	Unreadable []Problem `json:"unreadable"` // objects left out by SkipUnreadable

	// Changes lists changes that are reported but need no acceptance: comments of HDF5 and types of
	// attributes that the target does not have, user blocks, dimension scales outside of the tree,
	// compression that can be read but not written, references to deleted objects, attributes of
	// references that become strings, and layouts, allocation times and creation orders of links of
	// HDF5 that differ from the default and that the target does not have.
	Changes []Problem `json:"changes"`
}

// CopyTree copies a tree to a new HDF5 file, a new bcolz ctable, or a new TreeStore (.b2z or .b2d)
// or EmbedStore (.b2e) of python-blosc2, according to the extension of dst, or otherwise to a
// directory of b2nd files (package internal/tree/directories documents the layout). src is the tree
// of an HDF5 file or a group in it, a bcolz ctable, a directory of arrays, or a container of
// python-blosc2. A ctable cannot contain groups, or arrays of different lengths. The committed
// datatypes of an untrusted tree cannot be kept, which is a Problem.
//
// dst may be FILE:/group for a new group of a new or existing container. In an existing .b2d the
// group is one new directory. An existing .b2z or .b2e is written again as a whole, with its other
// objects copied byte for byte; embedded objects of a .b2z become members. With Overwrite an
// existing group is replaced.
//
// With TreeOptions.Table the target is a table of python-blosc2. Its columns are the arrays
// of the source, which have the same number of rows, or the fields of the source, if it is an array
// of structures of one dimension. Strings of variable length become columns of kind utf8.
//
// From a container or a directory of arrays to a container or a directory, Python objects and plain
// frames are copied byte for byte, without Adjust. From a container to a .b2z or .b2d, so are
// tables with all their parts, unless Exclude leaves out a column. An EmbedStore has no attributes
// of groups and no empty groups.
//
// Shapes, element types, fill values, chunks, dimension names and attributes are kept. Compression
// is kept within a format if it can be written, and is otherwise the target's default. From HDF5 to
// HDF5, comments, links and committed datatypes with their attributes are kept too, and arrays and
// attributes still share the committed datatypes. The compact layout, the allocation time and the
// creation order of links and attributes are kept too. References, also those in attributes, lead
// to the copied objects; a reference to an object that is not copied is a Problem, and becomes null
// if Accept accepts it. External files and sources of virtual datasets are not kept: the elements
// are stored in the new file. Arrays of a type that ndarray does not have are copied as they are
// stored, without Adjust.
//
// CopyTree first examines the whole tree. If the target cannot represent a part of it, and Accept
// does not accept the loss, CopyTree writes nothing and returns errors.ErrUnsupported and all
// problems in TreeStats.Refused. The target is created completely or not at all.
//
// It returns the errors of Tree.Walk and Tree.Open, ErrParam for a source that is one array,
// ndarray.ErrExists, the context's error, or an error of a read or write.
func CopyTree(ctx context.Context, dst string, src *Tree, o *TreeOptions) (TreeStats, error) {
	stats, err := treecopy.Copy(ctx, dst, src.tree, orZero(o).internal())
	return treeStats(stats), ndarray.Wrap("copy tree to", dst, err)
}

// internal returns the options of package treecopy.
func (o TreeOptions) internal() *treecopy.Options {
	x := &treecopy.Options{
		DryRun: o.DryRun, Overwrite: o.Overwrite, Lock: o.Lock, Exclude: o.Exclude, SkipUnreadable: o.SkipUnreadable, Adjust: o.Adjust,
		View: o.View, Strings: o.Strings, Format: string(o.Format), Table: o.Table, Workers: o.Workers, Memory: o.Memory, Progress: o.Progress,
	}
	if o.Accept != nil {
		x.Accept = func(p treecopy.Problem) bool { return o.Accept(Problem(p)) }
	}
	return x
}

// treeStats returns the statistics of a copy.
func treeStats(s treecopy.Stats) TreeStats {
	list := func(from []treecopy.Problem) (out []Problem) {
		for _, p := range from {
			out = append(out, Problem(p))
		}
		return out
	}
	return TreeStats{
		Groups: s.Groups, Arrays: s.Arrays, Links: s.Links, Attrs: s.Attrs, Types: s.Types, Bytes: s.Bytes,
		Lost: list(s.Lost), Refused: list(s.Refused), Unreadable: list(s.Unreadable), Changes: list(s.Changes),
	}
}

// ObjectCopy is an object of an HDF5 file, and the path of its copy.
type ObjectCopy struct {
	From string // FILE:/path; FILE may be a URL
	To   string // path in the target, for example "/run/2"; missing groups are created
}

// ObjectOptions are the options of CopyObjects. Nil means the zero value.
type ObjectOptions struct {
	Overwrite    bool   // replace existing objects
	InPlace      bool   // change an existing target itself; a program that is killed can leave it corrupt
	Lock         *Lock  // the lock of an existing target, which the caller holds; nil: CopyObjects takes it
	References   bool   // also copy the objects that references lead to
	AllowMissing bool   // also copy datasets whose external or source files are missing
	ExternalDir  string // directory of external files with relative names; "": the working directory

	// Exclude reports whether the object at a path of a source is left out, with everything below
	// it. Nil: all objects are copied.
	Exclude func(path string) bool

	// Unreadable is called for each object that cannot be read. If it returns true, the object is
	// left out; otherwise err ends the copy. Nil: each such object is an error.
	Unreadable func(path string, err error) bool
}

// CopyObjects copies datasets, groups with everything below them, and committed datatypes of HDF5
// files to the HDF5 file dst, which is created if it does not exist. Chunks are copied as they are
// stored, without decompression. An existing file is changed by Update, unless InPlace is set.
//
// The objects of one source file are copied together, so that links and references between them are
// kept. A reference to any other object becomes null, which is a Problem of the result, unless
// References is set. Names of external files are rewritten for the directory of dst.
//
// CopyObjects checks all objects before it writes. It returns ndarray.ErrNotFound for a missing
// object, or a missing file of a dataset; ndarray.ErrExists for a path that exists, unless
// Overwrite is set; ndarray.ErrParam if a source or dst is not an HDF5 file, if two objects have
// the same path, or if a copy would replace its source; and the errors of Open and Update.
func CopyObjects(ctx context.Context, dst string, objects []ObjectCopy, o *ObjectOptions) (problems []Problem, err error) {
	x := orZero(o)
	files := &opened.Files{}
	defer func() { err = ndarray.Wrap("copy objects to", dst, errors.Join(err, files.Close())) }()
	c := draft.Objects{InPlace: x.InPlace, Held: x.Lock, Leave: files.CloseFile, Copy: h5objects.Copy{
		Target: dst, Replace: x.Overwrite, Follow: x.References, AllowMissing: x.AllowMissing, ExternalDir: x.ExternalDir,
		Exclude: x.Exclude, Unreadable: x.Unreadable, Release: files.Limit,
		Open:    func(file string) (*h5.File, error) { return files.HDF5(ctx, file) },
		Problem: func(p h5copy.Problem) { problems = append(problems, Problem{Path: p.Path, What: p.What, Err: p.Err}) },
	}}
	for _, object := range objects {
		if err := c.Add(object.From, object.To); err != nil {
			return nil, err
		}
	}
	return problems, c.Run(ctx)
}

// RepackOptions are the options of Repack. Nil means the zero value.
type RepackOptions struct {
	Accept    func(Problem) bool // reports whether a loss is accepted; nil: no loss is
	Overwrite bool               // replace an existing target
	Lock      *Lock              // the lock of an existing target, which the caller holds; nil: Repack takes it

	// Cloud writes a layout for object stores: paged file space, all metadata first, and chunks of
	// 2 MiB to 16 MiB. CheckCloud describes it.
	Cloud bool

	// Access is the shape of a typical read, in elements, from which Cloud chooses the chunks of
	// arrays with as many dimensions; 0 is the whole dimension. Nil: chunks like the array.
	Access []int64

	// Adjust changes the chunks or the compression of the dataset at a path. errors.ErrUnsupported
	// keeps the dataset as it is stored; any other error ends Repack before anything is written.
	Adjust func(path string, m ndarray.Meta, spec *ndarray.Spec) error

	AllowMissing bool                              // as in ObjectOptions
	ExternalDir  string                            // as in ObjectOptions
	Exclude      func(path string) bool            // as in ObjectOptions
	Unreadable   func(path string, err error) bool // as in ObjectOptions
	Workers      int                               // goroutines; 0 means GOMAXPROCS
	Memory       int64                             // bytes of buffers; 0 means 128 MiB
}

// Repack copies the HDF5 file src to the new file dst, without unused space, completely or not at
// all. Objects and chunks are copied as they are stored, except datasets that Adjust or Cloud store
// in another way.
//
// It returns ndarray.ErrNotFound, ErrFormat for a source that is not HDF5, ndarray.ErrExists,
// ndarray.ErrParam if dst is src, an error for each Problem that is not accepted, and the errors of
// ndarray.Copy.
func Repack(ctx context.Context, dst, src string, o *RepackOptions) (err error) {
	x := orZero(o)
	files := &opened.Files{}
	defer func() { err = ndarray.Wrap("repack to", dst, errors.Join(err, files.Close())) }()
	r := h5repack.Repack{
		File: src, Target: dst, Cloud: x.Cloud, AllowMissing: x.AllowMissing, ExternalDir: x.ExternalDir, Exclude: x.Exclude,
		Unreadable: x.Unreadable, Workers: x.Workers, Memory: x.Memory,
	}
	if x.Cloud || x.Adjust != nil {
		r.Spec = func(path string, m ndarray.Meta) (*ndarray.Spec, error) {
			spec := m.Spec()
			if x.Cloud {
				spec.ChunkShape = h5cloud.ChunkShape(m, x.Access)
			}
			if x.Adjust == nil {
				return &spec, nil
			}
			return &spec, x.Adjust(path, m, &spec)
		}
	}
	if r.Source, err = files.HDF5(ctx, src); err != nil {
		return err
	}
	return r.Run(ctx, atomicfile.Options{Overwrite: x.Overwrite, Lock: x.Lock}, func(p h5copy.Problem) bool {
		return x.Accept != nil && x.Accept(Problem{Path: p.Path, What: p.What, Err: p.Err})
	})
}

// ReferenceForm is a form of kerchunk references.
type ReferenceForm string

// The forms of references.
const (
	ReferenceJSON    ReferenceForm = "json"    // one file, of version 1
	ReferenceParquet ReferenceForm = "parquet" // a directory, of which readers read only the parts that they need
)

// ReferenceOptions are the options of WriteReferences. Nil means the zero value.
type ReferenceOptions struct {
	Form      ReferenceForm // default: ReferenceJSON
	URL       string        // the file in the references; "": the URL or absolute path of file
	Overwrite bool          // replace existing references

	// Exclude reports whether the object at a path is left out, with everything below it; nil: all
	// objects are referenced.
	Exclude func(path string) bool

	// Skip is called for each array that Zarr cannot represent, which is left out. Nil: such an
	// array is an error.
	Skip func(file, path string, err error)

	// Combine is a dimension, for example "time", along which the arrays of file and of Files are
	// joined, in this order. URL is then the location of the directory of all files. Arrays without
	// the dimension must be equal in all files.
	Combine string
	Files   []string
}

// WriteReferences writes the locations of all chunks of an HDF5 file or URL as kerchunk references
// to dst, completely or not at all. With them xarray, fsspec, zarr and VirtualiZarr read the file
// as a store of Zarr.
//
// Contiguous arrays are divided into pieces of about 4 MiB. The elements of compact arrays,
// strings of variable length, references to objects (their paths), structures with gaps and
// numbers with unused bits are copied to the references, at most 64 MiB of each array.
// VirtualiZarr does not read such arrays.
//
// It returns the errors of OpenTree; errors.ErrUnsupported for another format, and for arrays that
// Zarr cannot represent, for example with the filter szip; ndarray.ErrParam for files that cannot
// be joined, with the names of two files that differ, and for a URL with a query, which may be
// secret, unless o.URL is set; ndarray.ErrNotFound if no array has the dimension Combine; and
// ndarray.ErrExists.
func WriteReferences(ctx context.Context, dst, file string, o *ReferenceOptions) error {
	x := orZero(o)
	_, err := kerchunk.WriteFiles(ctx, dst, append([]string{file}, x.Files...), kerchunk.FileOptions{
		Options: kerchunk.Options{
			Format: kerchunk.Format(cmp.Or(x.Form, ReferenceJSON)), Combine: x.Combine, Exclude: x.Exclude, Skip: x.Skip,
		},
		URL: x.URL, Overwrite: x.Overwrite,
	})
	return err
}
