// Open, which detects the format by content, and Create, which chooses it by name.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/directories"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// Format is a storage format.
type Format string

// The formats that files can have.
const (
	B2ND  Format = detect.B2ND // a Blosc2 frame, in one file or a sparse directory, also if it contains no array
	HDF5  Format = detect.HDF5
	Bcolz Format = detect.Bcolz // a directory: a carray, or a ctable with its columns

	Caterva   Format = detect.Caterva   // a Blosc2 frame of the ancestor of b2nd, which stores no element type
	Directory Format = detect.Directory // directory of b2nd files, bcolz directories and subdirectories

	// The containers of python-blosc2: DictStore and TreeStore in a ZIP file or a directory, and
	// EmbedStore, a frame that embeds other frames.
	B2Z Format = detect.B2Z
	B2D Format = detect.B2D
	B2E Format = detect.B2E

	NPY Format = detect.NPY // the .npy format of NumPy
)

// OpenOptions are the options of Open, OpenReaderAt and OpenTree. Nil means the zero value.
type OpenOptions struct {
	// DType is the type of the elements of a b2nd or Caterva array, which must have its size. It is
	// for Caterva, which stores no type, and for types that ndarray does not have. Nil: the stored
	// type. Only Open uses it.
	DType *ndarray.DType

	// Metadata also opens a Blosc2 array whose elements cannot be read, because the file does not
	// contain them or because their codec or filter is not available. Reads then return
	// errors.ErrUnsupported. It is for reading only, and has no effect with Untrusted.
	Metadata bool

	// Write opens the array for writing, in place. A program that is killed while it writes can
	// leave the file corrupt; Create with Commit, and Update, do not have this risk.
	Write bool

	// Lock is the lock of the file, which the caller holds (LockFile). Nil: with Write, Open locks
	// the file until Close.
	Lock *Lock

	// Durable is Write for a b2nd or Caterva array. It also makes every write of elements, and
	// ndarray.Append along the first axis, atomic, even if the program or the machine stops; see
	// b2nd.OpenOptions. Use Update for other formats and other changes.
	Durable bool

	// AllowLossy allows writes through filters that can change values: in HDF5, scale-offset of
	// floats or with a fixed number of bits, and filters that this module does not have; in b2nd,
	// TruncPrec, IntTrunc, NDMean and ZFP; in bcolz, quantization. Otherwise such writes return
	// errors.ErrUnsupported. ndarray.Array.LossyChanges then counts the changed elements.
	AllowLossy bool

	// Library uses the C library of b2nd and HDF5 for all elements, one call at a time, instead of
	// workers; for comparison.
	Library bool

	// ExternalDir is the directory of external files with relative names; "": the working
	// directory. Only HDF5 has external files.
	ExternalDir string

	// Missing accepts that sources of a virtual dataset or external files are missing: their
	// elements are read as fill value, and Missing is called for each. Nil: reading such a dataset
	// returns ndarray.ErrNotFound.
	Missing func(error)

	// Unlocked is called for each HDF5 file that is opened without a lock because its file system
	// refuses locks. Another program can then change the file while it is read. It may be nil.
	Unlocked func(file string, err error)

	// Shards are directories with the other parts of a bcolz array or a sparse b2nd array, which
	// `hyperslab cp --split` writes. The location is the first part. They do not go with Write,
	// Durable and Library, and only Open uses them.
	Shards []string

	// Untrusted is set for a file from an untrusted source. The file is checked in Go before a C
	// library reads it, and a worker process reads it unless InProcess is set. It does not go with
	// Write, Durable, Library, ExternalDir, Missing and Shards. Nil: the file is trusted.
	Untrusted *Untrusted
}

// internal returns the options for package opened.
func (o *OpenOptions) internal() *opened.Options {
	x := orZero(o)
	return &opened.Options{
		ArrayOptions: tree.ArrayOptions{
			DType: x.DType, Metadata: x.Metadata, Write: x.Write, Lock: x.Lock, Durable: x.Durable, AllowLossy: x.AllowLossy,
			Library: x.Library, ExternalDir: x.ExternalDir, Missing: x.Missing, Unlocked: x.Unlocked,
		},
		Shards: x.Shards, Untrusted: x.Untrusted.internal(),
	}
}

// CreateOptions are the options of Create. Nil means the zero value.
type CreateOptions struct {
	Format Format // default: that of the extension of the file name
	Sparse bool   // write a b2nd or Caterva array as a directory with one file per chunk

	// Plain writes the elements of a b2nd array as a plain Blosc2 frame, in row-major order, with
	// the metalayer of save_tensor of python-blosc2, so that load_tensor reads it. It has no fill
	// value, maximum shape or dimension names.
	Plain bool

	// Overwrite replaces the array at the location. In an HDF5 file it replaces the named object
	// only, which must not be a group.
	Overwrite bool

	// InPlace adds an array to an existing HDF5 file without copying the file first. A program that
	// is killed in the process can leave the file corrupt.
	InPlace bool

	// Stripes are the files that store the chunks of an HDF5 dataset, which becomes a virtual
	// dataset over them. Create makes these files; they must not exist, also if Overwrite is set.
	// Relative names are relative to the directory of the location. The array cannot grow and can
	// have at most 65,536 chunks. If the draft is discarded, the files are deleted; a program that
	// is killed in the process leaves them. Nil: the chunks are in the file of the dataset.
	Stripes []string

	// StripeOf returns the index in Stripes of the file for the chunk at the given grid
	// coordinates. If it is nil, chunks go to the files in turn, in row-major order.
	StripeOf func(chunk []int64) int

	// Mappings make the array a virtual HDF5 dataset of the elements of other datasets, which need
	// not exist yet. Relative names of files are relative to the directory of the location.
	Mappings []h5.Mapping

	// External are ranges of files that contain the elements of an HDF5 dataset, without chunks and
	// compression. libhdf5 searches relative names in the working directory. Create does not create
	// these files. A write to the Draft changes them before Commit.
	External []h5.ExternalFile

	Library bool // as in OpenOptions

	// Lock is the lock of an existing target, which the caller holds (LockFile). Nil: Create locks
	// an existing target until Commit or Close.
	Lock *Lock
}

// hdf5 returns the options for a dataset with the name location.
func (o *CreateOptions) hdf5(location string) *hdf5.CreateOptions {
	return &hdf5.CreateOptions{Name: location, Library: o.Library, Stripes: o.Stripes, StripeOf: o.StripeOf, Mappings: o.Mappings, External: o.External}
}

// WalkOptions are the options of Walk. Nil means the zero value.
type WalkOptions struct {
	// Prune reports whether the members of a group are skipped. The group itself is yielded. Nil:
	// no members are skipped.
	Prune func(Entry) bool

	// NoSizes does not measure stored sizes: Entry.Storage.StoredBytes of each Array is -1. A walk
	// over an HDF5 file at a URL then reads no chunk index.
	NoSizes bool

	Unlocked  func(file string, err error) // as in OpenOptions
	Untrusted *Untrusted                   // as in OpenOptions
}

func orZero[T any](o *T) T {
	if o == nil {
		return *new(T)
	}
	return *o
}

// Sniff detects the format of a file, directory or URL by its content. A Blosc2 frame is B2ND
// unless its header identifies it as Caterva.
//
// It returns ndarray.ErrNotFound, or ErrFormat for an unknown format.
func Sniff(file string) (Format, error) {
	f, err := opened.Sniff(file)
	return Format(f), err
}

// Open opens an array, read-only unless OpenOptions.Write is set. It detects the format by content:
//
//   - a b2nd or Caterva array in a Blosc2 frame, contiguous or sparse
//   - a plain Blosc2 frame, as a read-only array with one dimension
//   - a dataset of an HDF5 file, FILE:/path
//   - a bcolz carray, a column of a ctable, DIRECTORY:/column, or a ctable as an array of
//     structures
//   - a .npy file of NumPy
//   - an array of a directory of arrays, DIRECTORY:/path
//   - an array of a container of python-blosc2 (.b2z, .b2d, .b2e), FILE:/path, for reading
//
// FILE may be a URL with the scheme http, https or s3, for reading, in a program that imports
// package remote. In other programs it returns errors.ErrUnsupported, so that they contain no HTTP
// client. Except .b2d and directories of arrays all formats can be read. remote.DefaultClient makes
// the requests and limits them. The file is read in this process, with the checks of a local file.
// If o.Untrusted is set, the file is first copied to a temporary file, and Untrusted.MaxCopy bounds
// the copy.
//
// It returns ndarray.ErrNotFound, ErrFormat for any other content, ErrCorrupt, ErrParam for a path
// that the format does not allow or for a missing path, or ErrType and errors.ErrUnsupported for
// element types that ndarray does not have.
//
// For an untrusted file it also returns ErrCorrupt for content that is unsafe for a library,
// ErrLimit for content that exceeds a bound of Untrusted, errors.ErrUnsupported for features that
// Untrusted does not allow, and the errors of package worker. The methods of the array
// return the same errors. Of an HDF5 file all metadata is checked; of a Blosc2 frame header, index,
// metalayers and all chunk headers; of a bcolz tree the metadata, and chunks when they are read.
// The array is read from the file that was checked, even if another file gets its name in the
// meantime.
func Open(ctx context.Context, location string, o *OpenOptions) (*ndarray.Array, error) {
	return opened.Array(ctx, location, o.internal())
}

// Draft is an array that is not committed yet. It is written under a temporary name next to its
// target. Commit moves it to the target atomically.
type Draft struct {
	*ndarray.Array
	location string
	out      *atomicfile.Output // nil: in place
	addition *addition          // nil: the file contains only this array
	stripes  []string           // paths of CreateOptions.Stripes
	done     bool
}

// Create starts a new array at location. The format is CreateOptions.Format, or that of the
// extension: .b2nd is b2nd; .caterva is Caterva; .h5, .hdf5, .he5 and .nc are HDF5; .bcolz is
// bcolz. In bcolz an array of structures with one dimension becomes a ctable, and any other array a
// carray. spec describes the array; the backend chooses properties that spec leaves out.
//
// If the location is FILE:/path and the HDF5 file exists, Create adds the array to it and leaves
// all other objects unchanged. The array is written to a copy of the file, which replaces the file
// at Commit; CreateOptions.InPlace changes the file itself. The space of a replaced object stays in
// the file unless the new array uses it.
//
// If the location is DIRECTORY:/path and the directory is an existing .b2d, Create adds a file with
// the array to it. Overwrite replaces an array that is a file.
//
// The caller writes to the Draft's Array, then calls Commit. Close discards a draft that is not
// committed.
//
// It returns ndarray.ErrExists if the array exists and CreateOptions.Overwrite is not set; ErrParam
// if the extension is unknown or the location does not match the format; the errors of
// spec.Validate; ErrNotFound if the directory is missing; or errors.ErrUnsupported for properties
// that the format cannot represent.
func Create(ctx context.Context, location string, spec ndarray.Spec, o *CreateOptions) (*Draft, error) {
	d, err := create(ctx, location, spec, orZero(o))
	if err != nil {
		return nil, ndarray.Wrap("create", location, err)
	}
	return d, nil
}

// checkObject returns an error unless the location of a new array has a path exactly if the format
// needs one.
func checkObject(f Format, l locate.Location) error {
	switch f {
	case B2ND, Caterva, NPY:
		return tree.CheckOne(string(f), l.Object)
	case Directory:
		return directories.CheckNamed(l.File, l.Object)
	case HDF5:
		return h5tree.CheckNamed(l.File, l.Object)
	}
	return nil
}

func create(ctx context.Context, location string, spec ndarray.Spec, o CreateOptions) (_ *Draft, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	if urlfile.IsURL(l.File) {
		return nil, fmt.Errorf("%w: creating an array at a URL", errors.ErrUnsupported)
	}
	if o.Format == "" {
		name, ok := detect.Name(l.File)
		if !ok {
			return nil, fmt.Errorf("%w: extension %q: got no known format, want .b2nd, .caterva, .h5, .bcolz or .npy", ndarray.ErrParam, strings.ToLower(filepath.Ext(l.File)))
		}
		o.Format = Format(name)
	}
	if err := checkObject(o.Format, l); err != nil {
		return nil, err
	}
	if o.Format == Bcolz && strings.Trim(l.Object, "/") != "" {
		return nil, fmt.Errorf("%w: a bcolz carray holds one array, it has no %s", ndarray.ErrParam, l.Object)
	}
	if o.Sparse && o.Format != B2ND && o.Format != Caterva {
		return nil, fmt.Errorf("%w: only b2nd can be sparse, not %s", ndarray.ErrParam, o.Format)
	}
	if o.Plain && (o.Format != B2ND || o.Sparse) {
		return nil, fmt.Errorf("%w: a plain frame: got format %s, sparse %v, want %s in one file", ndarray.ErrParam, o.Format, o.Sparse, B2ND)
	}
	if o.InPlace && o.Format != HDF5 {
		return nil, fmt.Errorf("%w: only HDF5 files are changed in place, not %s", ndarray.ErrParam, o.Format)
	}
	if (o.Stripes != nil || o.Mappings != nil || o.External != nil) && o.Format != HDF5 {
		return nil, fmt.Errorf("%w: format of an array with elements in other files: got %s, want %s", ndarray.ErrParam, o.Format, HDF5)
	}
	if o.Stripes != nil && (o.Mappings != nil || o.External != nil) || o.Mappings != nil && o.External != nil {
		return nil, fmt.Errorf("%w: location of the elements: got more than one of stripes, mappings and external files, want one", ndarray.ErrParam)
	}
	if o.Stripes == nil && o.StripeOf != nil {
		return nil, fmt.Errorf("%w: placement of stripes without stripe files", ndarray.ErrParam)
	}
	if detect.IsStore(string(o.Format)) {
		return addStored(ctx, l, spec, o, location)
	}
	if o.Format == HDF5 && regularfile.Exists(l.File) {
		if is, err := opener.Sniff(ctx, l.File); err != nil || is != detect.HDF5 {
			return nil, cmp.Or(err, fmt.Errorf("%w: %s is of format %s, an array is added to HDF5 files", ndarray.ErrParam, l.File, is))
		}
		return add(ctx, l, spec, o, location)
	}
	// Other arrays of an HDF5 file that another program creates in the meantime are not replaced.
	inHDF5 := o.Format == HDF5
	out, err := atomicfile.Create(ctx, l.File, atomicfile.Options{Overwrite: o.Overwrite && !inHDF5, Lock: o.Lock})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	var a *ndarray.Array
	switch o.Format {
	case B2ND, Caterva:
		if o.Plain {
			a, err = tree.NewArray(b2nd.Create(out.Path(), spec, &b2nd.CreateOptions{Plain: true, Name: location}))
			break
		}
		a, err = tree.NewArray(b2nd.Create(out.Path(), spec, &b2nd.CreateOptions{Sparse: o.Sparse, Caterva: o.Format == Caterva, Name: location, Library: o.Library}))
	case Bcolz:
		if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
			a, err = tree.NewArray(bcolz.CreateRecords(out.Path(), spec, &bcolz.CreateOptions{Name: location}))
			break
		}
		a, err = tree.NewArray(bcolz.Create(out.Path(), spec, &bcolz.CreateOptions{Name: location}))
	case NPY:
		a, err = tree.NewArray(npy.Create(out.Path(), spec))
	case HDF5:
		a, err = tree.NewArray(hdf5.Create(out.Path(), l.Object, spec, o.hdf5(location)))
	default:
		err = fmt.Errorf("%w: format %q", ndarray.ErrParam, o.Format)
	}
	if err != nil {
		return nil, err
	}
	return &Draft{Array: a, location: location, out: out, stripes: striped.Paths(l.File, o.Stripes)}, nil
}

// Commit closes the array, syncs it to disk and moves it to its target. After an error the target
// is unchanged, unless the error occurred after the move (see atomicfile). Commit then removes the
// temporary files.
//
// It returns ndarray.ErrExists if the target was created in the meantime, ErrClosed after Commit or
// Close, or the context's error, after which the draft is still open.
func (d *Draft) Commit(ctx context.Context) error {
	return ndarray.Wrap("commit", d.location, d.commit(ctx))
}

func (d *Draft) commit(ctx context.Context) (err error) {
	if d.done {
		return ndarray.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.done = true
	if err := d.Array.Close(); err != nil {
		return errors.Join(err, d.discard())
	}
	for _, path := range d.stripes {
		if err := atomicfile.Sync(path); err != nil {
			return errors.Join(err, d.discard())
		}
	}
	if d.addition != nil {
		defer func() { err = errors.Join(err, d.addition.release()) }()
		if err := d.addition.finish(); err != nil {
			if d.out != nil {
				err = errors.Join(err, d.out.Abort(), striped.Remove(d.stripes))
			}
			return err
		}
	}
	if d.out == nil {
		return nil
	}
	if err := d.out.Commit(); err != nil {
		if !d.out.Committed() {
			err = errors.Join(err, d.out.Abort(), striped.Remove(d.stripes))
		}
		return err
	}
	return nil
}

// discard removes the files of a closed array that is not committed.
func (d *Draft) discard() (err error) {
	if d.addition != nil {
		err = d.addition.undo()
	}
	if d.out != nil {
		err = errors.Join(err, d.out.Abort())
	}
	return errors.Join(err, striped.Remove(d.stripes))
}

// Close discards the draft if it is not committed, and otherwise does nothing. It can therefore
// always be deferred.
func (d *Draft) Close() error {
	if d.done {
		return nil
	}
	d.done = true
	return ndarray.Wrap("discard", d.location, errors.Join(d.Array.Close(), d.discard()))
}
