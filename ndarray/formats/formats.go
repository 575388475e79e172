// Open, which detects the format by content, and Create, which chooses it by name.

package formats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/regular"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Format is a storage format.
type Format string

// The formats that files can have.
const (
	B2ND  Format = "b2nd" // a Blosc2 frame, in one file or a sparse directory, also if it contains no array
	HDF5  Format = "hdf5"
	Bcolz Format = "bcolz" // a directory: a carray, or a ctable with its columns

	Caterva   Format = "caterva"   // a Blosc2 frame of the ancestor of b2nd, which stores no element type
	Directory Format = "directory" // directory of b2nd files and subdirectories
)

// Option is an option of Open, Create or another function. An option that the function does not
// support is ErrParam.
type Option func(*options)

type options struct {
	format    Format
	sparse    bool
	overwrite bool
	inPlace   bool
	dtype     *ndarray.DType
	write     bool
	durable   bool
	library   bool
	prune     func(Entry) bool

	externalDir string
	missing     func(error)
}

// WithFormat makes Create write this format regardless of the file name.
func WithFormat(f Format) Option { return func(o *options) { o.format = f } }

// WithSparse makes Create write a b2nd array as a directory with one file per chunk.
func WithSparse() Option { return func(o *options) { o.sparse = true } }

// WithOverwrite lets Create replace the array at the location. In an HDF5 file it replaces the
// named object only, which must not be a group.
func WithOverwrite() Option { return func(o *options) { o.overwrite = true } }

// WithInPlace makes Create add an array to an existing HDF5 file without copying the file first. A
// program that is killed in the process can leave the file corrupt.
func WithInPlace() Option { return func(o *options) { o.inPlace = true } }

// WithDType makes Open use this type for the elements of a b2nd or Caterva array. Its size must be
// that of the elements. It is for Caterva, which stores no type, and for types that ndarray does
// not have.
func WithDType(d ndarray.DType) Option { return func(o *options) { o.dtype = &d } }

// WithWrite makes Open open for writing, in place. A program that is killed while it writes can
// leave the file corrupt. Create with Commit does not have this risk.
func WithWrite() Option { return func(o *options) { o.write = true } }

// WithDurable is WithWrite for b2nd and Caterva arrays in place. It also makes every write of
// elements, and ndarray.Append along the first axis, atomic, even if the program or the machine
// stops; see b2nd.Durable. Use Edit for other formats and other changes.
func WithDurable() Option { return func(o *options) { o.write, o.durable = true, true } }

// WithLibrary makes Open and Create use the C library of b2nd and HDF5 for all elements, one call
// at a time, instead of workers; for comparison.
func WithLibrary() Option { return func(o *options) { o.library = true } }

// WithExternalDir makes Open and OpenTree look for external files with relative names in dir
// instead of the working directory. Only HDF5 has external files.
func WithExternalDir(dir string) Option { return func(o *options) { o.externalDir = dir } }

// WithMissing makes Open and OpenTree accept that sources of a virtual dataset or external files
// are missing: their elements are read as fill value, and report is called for each. Without it
// reading such a dataset returns ndarray.ErrNotFound.
func WithMissing(report func(error)) Option { return func(o *options) { o.missing = report } }

// WithPrune makes Walk skip the members of each group for which skip is true. The group itself is
// yielded.
func WithPrune(skip func(Entry) bool) Option { return func(o *options) { o.prune = skip } }

func collect(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return o
}

// Sniff detects the format of a file or directory by its content. A Blosc2 frame is B2ND unless its
// header identifies it as Caterva.
//
// It returns ndarray.ErrNotFound, or ErrFormat for an unknown format.
func Sniff(file string) (Format, error) {
	f, err := sniff(file)
	if f == B2ND && isCaterva(file) {
		f = Caterva
	}
	return f, ndarray.Wrap("look at", file, translate(err))
}

// isCaterva reports whether a frame, which may be sparse or truncated, contains a Caterva array. If
// it has both metalayers, b2nd takes precedence, as in C-Blosc2.
func isCaterva(file string) bool {
	if inside := filepath.Join(file, cframe.IndexFile); exists(inside) {
		file = inside
	}
	f, info, err := regular.Open(file)
	if err != nil {
		return false
	}
	h, err := cframe.ReadHeader(f, info.Size(), cframe.DefaultLimits())
	if errors.Join(err, f.Close()) != nil {
		return false
	}
	_, isB2nd := h.Metalayer(b2ndmeta.Name)
	_, is := h.Metalayer(b2ndmeta.CatervaName)
	return is && !isB2nd
}

// frameMagic follows two bytes of MessagePack at the start of a frame.
const frameMagic = "b2frame\x00"

// sniff detects the format for opening. A Caterva array is B2ND here, because the same backend
// opens it.
func sniff(file string) (_ Format, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	frame := file
	if info.IsDir() {
		frame = filepath.Join(file, "chunks.b2frame")
		if !exists(frame) {
			return sniffTree(file)
		}
	}
	f, found, err := regular.Open(frame)
	if errors.Is(err, regular.ErrNot) {
		err = ndarray.Mark(err, ndarray.ErrFormat)
	}
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 2+len(frameMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	if n == 2+len(frameMagic) && string(head[2:]) == frameMagic {
		return B2ND, nil
	}
	if !info.IsDir() && isHDF5(f, found.Size()) {
		return HDF5, nil
	}
	return "", unknown(head)
}

// unknown returns the error for a file of an unknown format that begins with head.
func unknown(head []byte) error {
	if len(head) == 0 {
		return fmt.Errorf("%w: the file is empty", ndarray.ErrFormat)
	}
	return fmt.Errorf("%w: neither a Blosc2 frame nor an HDF5 file (begins with % x)", ndarray.ErrFormat, head)
}

// sniffTree detects the format of a directory that is not a sparse frame.
func sniffTree(dir string) (Format, error) {
	kind, err := bcolztree.Detect(os.DirFS(dir), ".")
	if err != nil {
		return "", err
	}
	if kind == bcolztree.NotATree {
		if is, err := isDirectoryTree(dir); is || err != nil {
			return Directory, err
		}
		return "", fmt.Errorf("%w: a directory without chunks.b2frame (Blosc2), meta/storage or __rootdirs__ (bcolz)", ndarray.ErrFormat)
	}
	return Bcolz, nil
}

// Open opens an array, read-only unless WithWrite is given. It detects the format by content:
//
//   - a b2nd or Caterva array in a Blosc2 frame, contiguous or sparse
//   - a plain Blosc2 frame, as a read-only array with one dimension
//   - a dataset of an HDF5 file, FILE:/path
//   - a bcolz carray, a column of a ctable, DIRECTORY:/column, or a ctable as an array of
//     structures
//   - an array of a directory of arrays, DIRECTORY:/path
//
// It returns ndarray.ErrNotFound, ErrFormat for any other content, ErrCorrupt, ErrParam for a path
// that the format does not allow or for a missing path, or ErrType and errors.ErrUnsupported for
// element types that ndarray does not have.
func Open(ctx context.Context, location string, opts ...Option) (*ndarray.Array, error) {
	a, err := open(ctx, location, collect(opts))
	if err != nil {
		return nil, ndarray.Wrap("open", location, err)
	}
	return a, nil
}

func open(ctx context.Context, location string, o options) (*ndarray.Array, error) {
	if o.format != "" || o.sparse || o.overwrite || o.inPlace || o.prune != nil {
		return nil, fmt.Errorf("%w: only WithDType, WithWrite, WithLibrary, WithExternalDir and WithMissing mean something to Open", ndarray.ErrParam)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	return openAt(l, o)
}

func openAt(l Location, o options) (*ndarray.Array, error) {
	format, err := sniff(l.File)
	if err != nil {
		return nil, translate(err)
	}
	if err := checkObject(format, l); err != nil {
		return nil, err
	}
	if format == B2ND {
		return openFrame(l.File, &b2nd.OpenOptions{DType: o.dtype, Write: o.write, Library: o.library}, o.durable)
	}
	if format == Directory {
		file, err := arrayFile(l)
		if err != nil {
			return nil, err
		}
		return openB2ND(file, &b2nd.OpenOptions{DType: o.dtype, Write: o.write, Library: o.library}, o.durable)
	}
	if o.durable {
		return nil, fmt.Errorf("%w: durable changes in place of an array of format %s", errors.ErrUnsupported, format)
	}
	if o.dtype != nil {
		return nil, fmt.Errorf("%w: an array of format %s stores its dtype, so that it cannot be set", ndarray.ErrParam, format)
	}
	if format == Bcolz {
		return openBcolz(l, &bcolz.OpenOptions{Write: o.write})
	}
	return array(hdf5.Open(l.File, l.Object, &hdf5.OpenOptions{Write: o.write, Library: o.library, ExternalDir: o.externalDir, Missing: o.missing}))
}

func openB2ND(file string, o *b2nd.OpenOptions, durable bool) (*ndarray.Array, error) {
	if durable {
		return array(b2nd.OpenDurable(file, o))
	}
	return array(b2nd.Open(file, o))
}

// openFrame opens a b2nd or Caterva array, or a plain frame as an array with one dimension.
func openFrame(file string, o *b2nd.OpenOptions, durable bool) (*ndarray.Array, error) {
	a, err := openB2ND(file, o, durable)
	if !isPlain(file, err) {
		return a, err
	}
	if o.Write {
		return nil, fmt.Errorf("%w: writing to a frame that is no array", errors.ErrUnsupported)
	}
	return array(b2nd.OpenFrame(file, &b2nd.OpenOptions{DType: o.DType}))
}

// isPlain reports whether opening a frame failed because it contains no array.
func isPlain(file string, err error) bool {
	if !errors.Is(err, ndarray.ErrFormat) {
		return false
	}
	f, err := frameio.Open(file)
	if err != nil {
		return false
	}
	h := f.Header()
	_, isB2nd := h.Metalayer(b2ndmeta.Name)
	_, isCaterva := h.Metalayer(b2ndmeta.CatervaName)
	return f.Close() == nil && !isB2nd && !isCaterva
}

// openBcolz opens a carray, the column of a ctable at the location's path, or a ctable as an array
// of structures.
func openBcolz(l Location, o *bcolz.OpenOptions) (*ndarray.Array, error) {
	column := strings.Trim(l.Object, "/")
	table, err := bcolz.OpenTable(l.File, o)
	switch {
	case errors.Is(err, ndarray.ErrFormat) && column == "":
		return array(bcolz.Open(l.File, o))
	case errors.Is(err, ndarray.ErrFormat):
		return nil, fmt.Errorf("%w: a bcolz carray is one array, it has no %s", ndarray.ErrParam, l.Object)
	case err != nil:
		return nil, err
	case column == "":
		return array(table.Records())
	}
	return array(table.Column(column))
}

// array returns an Array backed by a newly opened backend.
func array[B ndarray.Backend](b B, err error) (*ndarray.Array, error) {
	if err != nil {
		return nil, err
	}
	a, err := ndarray.New(b)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return a, nil
}

// checkObject returns an error unless the location has a path exactly if the format needs one.
func checkObject(f Format, l Location) error {
	named := strings.Trim(l.Object, "/") != ""
	switch {
	case (f == B2ND || f == Caterva) && named:
		return fmt.Errorf("%w: a b2nd file holds one array, it has no %s", ndarray.ErrParam, l.Object)
	case f == Directory && !named:
		return fmt.Errorf("%w: a directory holds many arrays, name one as %s:/path", ndarray.ErrParam, l.File)
	case f == HDF5 && !named:
		return fmt.Errorf("%w: an HDF5 file can hold many arrays, name one as %s:/path", ndarray.ErrParam, l.File)
	}
	return nil
}

// Draft is an array that is not committed yet. It is written under a temporary name next to its
// target. Commit moves it to the target atomically.
type Draft struct {
	*ndarray.Array
	location string
	out      *atomicfile.Output // nil: in place
	addition *addition          // nil: the file contains only this array
	done     bool
}

// Create starts a new array at location. The format is that of WithFormat, or that of the
// extension: .b2nd is b2nd; .caterva is Caterva; .h5, .hdf5, .he5 and .nc are HDF5; .bcolz is
// bcolz. In bcolz an array of structures with one dimension becomes a ctable, and any other array a
// carray. spec describes the array; the backend chooses properties that spec leaves out.
//
// If the location is FILE:/path and the HDF5 file exists, Create adds the array to it and leaves
// all other objects unchanged. The array is written to a copy of the file, which replaces the file
// at Commit; WithInPlace changes the file itself. The space of a replaced object stays in the file
// unless the new array uses it.
//
// The caller writes to the Draft's Array, then calls Commit. Close discards a draft that is not
// committed.
//
// It returns ndarray.ErrExists if the array exists, without WithOverwrite; ErrParam if the
// extension is unknown or the location does not match the format; the errors of spec.Validate;
// ErrNotFound if the directory is missing; or errors.ErrUnsupported for properties that the format
// cannot represent.
func Create(ctx context.Context, location string, spec ndarray.Spec, opts ...Option) (*Draft, error) {
	d, err := create(ctx, location, spec, collect(opts))
	if err != nil {
		return nil, ndarray.Wrap("create", location, translate(err))
	}
	return d, nil
}

// ForName returns the format that Create uses for a file of that name, in upper or lower case. ok
// is false if the extension is unknown.
func ForName(file string) (f Format, ok bool) {
	f, ok = extensions[strings.ToLower(filepath.Ext(file))]
	return f, ok
}

var extensions = map[string]Format{".b2nd": B2ND, ".caterva": Caterva, ".bcolz": Bcolz, ".h5": HDF5, ".hdf5": HDF5, ".he5": HDF5, ".nc": HDF5}

func create(ctx context.Context, location string, spec ndarray.Spec, o options) (_ *Draft, err error) {
	if o.dtype != nil || o.write || o.prune != nil {
		return nil, fmt.Errorf("%w: WithDType, WithWrite and WithPrune do not apply to Create", ndarray.ErrParam)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	if o.format == "" {
		var ok bool
		if o.format, ok = ForName(l.File); !ok {
			return nil, fmt.Errorf("%w: extension %q: got no known format, want .b2nd, .caterva, .h5 or .bcolz", ndarray.ErrParam, strings.ToLower(filepath.Ext(l.File)))
		}
	}
	if err := checkObject(o.format, l); err != nil {
		return nil, err
	}
	if o.format == Bcolz && strings.Trim(l.Object, "/") != "" {
		return nil, fmt.Errorf("%w: a bcolz carray holds one array, it has no %s", ndarray.ErrParam, l.Object)
	}
	if o.sparse && o.format != B2ND && o.format != Caterva {
		return nil, fmt.Errorf("%w: only b2nd can be sparse, not %s", ndarray.ErrParam, o.format)
	}
	if o.inPlace && o.format != HDF5 {
		return nil, fmt.Errorf("%w: only HDF5 files are changed in place, not %s", ndarray.ErrParam, o.format)
	}
	if o.format == HDF5 && exists(l.File) {
		if is, err := sniff(l.File); err != nil || is != HDF5 {
			return nil, cmp.Or(err, fmt.Errorf("%w: %s is of format %s, an array is added to HDF5 files", ndarray.ErrParam, l.File, is))
		}
		return add(ctx, l, spec, o, location)
	}
	out, err := atomicfile.Create(l.File, atomicfile.Options{Overwrite: o.overwrite})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, out.Abort())
		}
	}()
	var a *ndarray.Array
	switch o.format {
	case B2ND, Caterva:
		a, err = array(b2nd.Create(out.Path(), spec, &b2nd.CreateOptions{Sparse: o.sparse, Caterva: o.format == Caterva, Name: location, Library: o.library}))
	case Bcolz:
		if spec.DType.Kind == ndarray.Struct && len(spec.Shape) == 1 {
			a, err = array(bcolz.CreateRecords(out.Path(), spec, &bcolz.CreateOptions{Name: location}))
			break
		}
		a, err = array(bcolz.Create(out.Path(), spec, &bcolz.CreateOptions{Name: location}))
	case HDF5:
		a, err = array(hdf5.Create(out.Path(), l.Object, spec, &hdf5.CreateOptions{Name: location, Library: o.library}))
	default:
		err = fmt.Errorf("%w: format %q", ndarray.ErrParam, o.format)
	}
	if err != nil {
		return nil, err
	}
	return &Draft{Array: a, location: location, out: out}, nil
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

func (d *Draft) commit(ctx context.Context) error {
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
	if d.addition != nil {
		if err := d.addition.finish(); err != nil {
			if d.out != nil {
				err = errors.Join(err, d.out.Abort())
			}
			return err
		}
	}
	if d.out == nil {
		return nil
	}
	if err := d.out.Commit(); err != nil {
		return errors.Join(translate(err), d.out.Abort())
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
	return err
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

// translate marks errors of the file system with the matching sentinels of ndarray.
func translate(err error) error {
	switch {
	case errors.Is(err, atomicfile.ErrExists):
		return ndarray.Mark(err, ndarray.ErrExists)
	case errors.Is(err, os.ErrNotExist) && !errors.Is(err, ndarray.ErrNotFound):
		return ndarray.Mark(err, ndarray.ErrNotFound)
	}
	return err
}
