// Untrusted files. They are checked in Go before a C library reads them, and read in a separate
// process if possible.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// Untrusted are the options for untrusted files. The zero value is suitable for files from any
// source: the file is checked in Go, and then read in a worker process with the isolation that the
// kernel provides, which Sandbox reports. Linux has workers; on other systems, and in a program
// that does not call Init, only InProcess works. Otherwise functions return ErrUnavailable.
//
// The numbers bound the resources. Zero means the default. A file that exceeds a bound returns
// ErrLimit, also if a worker exceeded it.
//
// The other fields list features that a file may use in addition to arrays in the file itself.
// Without them, the codecs and filters of this module that are safe for untrusted bytes are
// allowed, and no references to other files. Other features return errors.ErrUnsupported.
type Untrusted struct {
	InProcess     bool // read in the program's own process, after the check
	FullIsolation bool // return ErrUnavailable unless the worker has every kind of isolation

	MaxArray    int64 // bytes of all elements of an array according to its shape; default 1 TiB
	MaxChunk    int64 // bytes of a decoded chunk; default 512 MiB
	MaxMetadata int64 // bytes of one metadata structure, and of all attributes; default 64 MiB
	MaxCopy     int64 // bytes copied of an io.ReaderAt that is not a file; default 1 GiB

	Memory int64         // bytes of memory of a worker; default 2 GiB
	CPU    time.Duration // processor time of a worker for one call; default 60 s
	Wall   time.Duration // time of one call of a worker; default 120 s

	Codecs  []cblosc.Codec    // of Blosc2 arrays, in addition to those that are safe for any bytes
	Filters []cblosc.FilterID // of Blosc2 arrays, in addition to the safe ones

	// HDF5Filters are allowed in addition to those of package h5/filter. N-bit (5) and scale-offset
	// (6) are always allowed in a worker. Without a worker they must be listed, because libhdf5
	// decodes them without checking the length of their input.
	HDF5Filters []int

	// ExternalLinks allows external links in an HDF5 file. VirtualSources and ExternalFiles allow
	// datasets with elements in other files. Those files are not checked. In a worker they cannot
	// be opened, so that reading their elements returns errors.ErrUnsupported.
	ExternalLinks, VirtualSources, ExternalFiles bool
}

// limits are the bounds of Untrusted.
type limits struct {
	format.Limits
	CPU, Wall time.Duration
}

// limits returns the bounds, with defaults for those that are zero.
func (u *Untrusted) limits() (limits, error) {
	l := limits{format.Limits{Array: u.MaxArray, Chunk: u.MaxChunk, Metadata: u.MaxMetadata, Copy: u.MaxCopy, Memory: u.Memory}, u.CPU, u.Wall}
	var err error
	if l.Limits, err = l.Filled(); err == nil && (l.CPU < 0 || l.Wall < 0) {
		err = fmt.Errorf("%w: limits of %v and %v", ndarray.ErrParam, l.CPU, l.Wall)
	}
	return l, err
}

// policy are the features that Untrusted allows.
type policy struct {
	Codecs                                       []cblosc.Codec
	Filters                                      []cblosc.FilterID
	HDF5Filters                                  []int
	ExternalLinks, VirtualSources, ExternalFiles bool
}

func (u *Untrusted) policy() policy {
	return policy{u.Codecs, u.Filters, u.HDF5Filters, u.ExternalLinks, u.VirtualSources, u.ExternalFiles}
}

// OpenReaderAt opens an untrusted Blosc2 frame or HDF5 file of size bytes that r reads; see Open.
// object is the path of a dataset in an HDF5 file, and "" for a frame. name is the name of the file
// in messages. o.Untrusted is the zero Untrusted if it is nil.
//
// If r is an *os.File, the file is read in place, and r may be closed afterwards. Otherwise the
// content is first copied to a temporary file without a name, so that the checked bytes are the
// ones that are read. Untrusted.MaxCopy bounds the copy.
func OpenReaderAt(ctx context.Context, r io.ReaderAt, size int64, name, object string, o *OpenOptions) (*ndarray.Array, error) {
	l := locate.Location{File: name, Object: object}
	opts := orZero(o)
	if opts.Untrusted == nil {
		opts.Untrusted = new(Untrusted)
	}
	a, err := openUntrustedReader(ctx, r, size, l, opts)
	if err != nil {
		return nil, ndarray.Wrap("open untrusted", l.String(), err)
	}
	return a, nil
}

func openUntrusted(ctx context.Context, location string, o OpenOptions) (*ndarray.Array, error) {
	s, err := newSuspect(ctx, o)
	if err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx, l); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s.open(ctx, o.Untrusted.InProcess)
}

func openUntrustedReader(ctx context.Context, r io.ReaderAt, size int64, l locate.Location, o OpenOptions) (*ndarray.Array, error) {
	s, err := newSuspect(ctx, o)
	if err != nil {
		return nil, err
	}
	if r == nil || size < 0 {
		return nil, fmt.Errorf("%w: a reader of %d bytes", ndarray.ErrParam, size)
	}
	s.Name, s.Object = l.String(), l.Object
	if s.file, err = urlfile.Copy(ctx, r, size, s.Limits.Copy); err == nil {
		err = s.sniff()
	}
	if err == nil {
		err = checkObject(s.Format, l)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s.open(ctx, o.Untrusted.InProcess)
}

// suspect is an open file that is not checked yet. All fields except the files are passed to a
// worker.
type suspect struct {
	Name   string // name of the array in messages
	Format Format
	Object string // path inside the file
	DType  *ndarray.DType
	Limits limits
	Policy policy

	Whole  bool // the worker serves all objects of the file, instead of the array at Object
	Direct bool // the library runs in the program's process, without a worker
	full   bool // a worker must have every kind of isolation
	file   *os.File
	frozen *regularfile.Frozen // the files of a directory since the check; nil before
	store  *stores.Store       // the open store since the check; nil before
	shares bool                // the store belongs to another suspect
}

func newSuspect(ctx context.Context, o OpenOptions) (*suspect, error) {
	if o.Write || o.Durable || o.Library || o.ExternalDir != "" || o.Missing != nil || o.Shards != nil {
		return nil, fmt.Errorf("%w: an untrusted file is opened with OpenOptions.DType and no other option", ndarray.ErrParam)
	}
	u := *o.Untrusted
	if u.InProcess && u.FullIsolation {
		return nil, fmt.Errorf("%w: full isolation in the program's own process", ndarray.ErrParam)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limits, err := u.limits()
	if err != nil {
		return nil, err
	}
	return &suspect{DType: o.DType, Limits: limits, Policy: u.policy(), full: u.FullIsolation}, nil
}

func (s *suspect) close() error {
	err := s.thaw()
	if s.store != nil && !s.shares {
		err = errors.Join(err, s.store.Close())
	}
	s.store = nil
	if s.file == nil {
		return err
	}
	return errors.Join(err, s.file.Close())
}

// freeze returns the directory with a fixed set of files: those that exist at the first call.
func (s *suspect) freeze() (_ *regularfile.Frozen, err error) {
	if s.frozen == nil {
		s.frozen, err = regularfile.Freeze(worker.FilePath(s.file))
	}
	return s.frozen, err
}

func (s *suspect) thaw() error {
	if s.frozen == nil {
		return nil
	}
	f := s.frozen
	s.frozen = nil
	return f.Close()
}

// find opens the file at a location. In a directory of arrays it opens the array's own file.
func (s *suspect) find(ctx context.Context, l locate.Location) (err error) {
	s.Name, s.Object = shown(l.String()), l.Object
	if s.file, err = openOrCopy(ctx, l.File, s.Limits.Copy); err != nil {
		return err
	}
	if err := s.sniff(); err != nil {
		return err
	}
	if err := checkObject(s.Format, l); err != nil || s.Format != Directory {
		return err
	}
	in, isBcolz := bcolzIn(l)
	array := in.File
	if !isBcolz {
		if array, err = arrayFile(l); err != nil {
			return err
		}
	}
	below, err := filepath.Rel(l.File, array)
	if err != nil {
		return err
	}
	x, err := s.inside(filepath.Join(worker.FilePath(s.file), below))
	if err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return errors.Join(err, x.close())
	}
	if isBcolz {
		x.Object = in.Object
	}
	*s = *x
	return nil
}

// openToRead opens a file or a directory. It does not block if the file is a pipe.
func openToRead(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// sniff detects the format like Sniff, without a C library.
func (s *suspect) sniff() (err error) {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	var f string
	switch {
	case info.IsDir():
		f, err = detect.Dir(worker.FilePath(s.file))
	case info.Mode().IsRegular():
		f, err = detect.Reader(s.file, info.Size(), s.file.Name()) // the check reports all other problems
	default:
		err = fmt.Errorf("%w: %v is not a regular file", ndarray.ErrFormat, info.Mode().Type())
	}
	s.Format = Format(f)
	return err
}

// open checks the file and opens the array, in this process or in a worker. It takes ownership of
// the file.
func (s *suspect) open(ctx context.Context, inProcess bool) (*ndarray.Array, error) {
	if !inProcess {
		a, err := s.isolate(ctx)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		return a, nil
	}
	s.Direct = true
	b, err := s.backend(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return array(&guard{Backend: b, name: s.Name, s: s}, nil)
}

// backend checks the file and opens it with the library.
func (s *suspect) backend(ctx context.Context) (ndarray.Backend, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	return s.bounded()
}

// bounded opens a checked file with the library, and checks the size of the array.
func (s *suspect) bounded() (ndarray.Backend, error) {
	b, err := s.unchecked()
	if err != nil {
		return nil, bare(err)
	}
	m := b.Meta()
	if n := m.NumElems(); m.DType.Size > 0 && n > s.Limits.Array/int64(m.DType.Size) {
		err := &format.Error{Format: string(s.Format), What: "shape", Got: fmt.Sprintf("%d elements of %d bytes", n, m.DType.Size), Want: fmt.Sprintf("at most %d bytes", s.Limits.Array), Err: format.ErrLimit}
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (s *suspect) unchecked() (ndarray.Backend, error) {
	path := worker.FilePath(s.file)
	if s.DType != nil && s.Format != B2ND && !isStore(s.Format) {
		return nil, fmt.Errorf("%w: an array of format %s stores its dtype, which cannot be set", ndarray.ErrParam, s.Format)
	}
	switch s.Format {
	case B2ND:
		info, err := s.file.Stat()
		if err != nil {
			return nil, err
		}
		if info.IsDir() && len(s.Policy.Codecs)+len(s.Policy.Filters) == 0 {
			dir, err := s.freeze()
			if err != nil {
				return nil, err
			}
			return b2nd.OpenFS(dir, &b2nd.OpenOptions{DType: s.DType})
		}
		b, err := b2nd.Open(path, &b2nd.OpenOptions{DType: s.DType, Allow: cblosc.Allow{Codecs: s.Policy.Codecs, Filters: s.Policy.Filters}})
		if isPlain(path, err) {
			return b2nd.OpenFrame(path, &b2nd.OpenOptions{DType: s.DType})
		}
		return b, err
	case Bcolz:
		return s.openBcolz()
	case NPY:
		info, err := s.file.Stat()
		if err != nil {
			return nil, err
		}
		return npy.OpenReaderAt(s.file, info.Size(), s.Name)
	case B2Z, B2D, B2E:
		return s.storedBackend()
	}
	return s.openHDF5(path)
}

// openHDF5 opens the file with libhdf5 by its path, which is the fastest way. If the path no longer
// leads to the checked file, libhdf5 reads the descriptor instead. A worker also uses the
// descriptor for a file that may refer to other files. It cannot open them, and libhdf5 would
// return fill values for their elements; through a reader it returns an error.
func (s *suspect) openHDF5(path string) (ndarray.Backend, error) {
	o := &hdf5.OpenOptions{Untrusted: true}
	info, err := s.file.Stat()
	if err != nil {
		return nil, err
	}
	leads := s.Policy.ExternalLinks || s.Policy.VirtualSources || s.Policy.ExternalFiles
	if name, err := filepath.EvalSymlinks(path); err == nil && (s.Direct || !leads) {
		if now, err := os.Stat(name); err == nil && os.SameFile(info, now) {
			return hdf5.Open(path, s.Object, o)
		}
	}
	f, err := h5.OpenReaderAt(s.file, info.Size(), nil)
	if err != nil {
		return nil, err
	}
	return hdf5.OpenIn(f.Root(), s.Object, s.Name, o)
}

func (s *suspect) openBcolz() (ndarray.Backend, error) {
	dir, err := s.freeze()
	if err != nil {
		return nil, err
	}
	l := s.bcolzLimits()
	o := &bcolz.OpenOptions{MaxMetadata: l.Metadata, MaxChunk: l.Chunk}
	column := strings.Trim(s.Object, "/")
	table, err := bcolz.OpenTableFS(dir, ".", o)
	switch {
	case errors.Is(err, ndarray.ErrFormat) && column == "":
		return bcolz.OpenFS(dir, ".", o)
	case errors.Is(err, ndarray.ErrFormat):
		return nil, fmt.Errorf("%w: a bcolz carray is one array, it has no %s", ndarray.ErrParam, s.Object)
	case err != nil:
		return nil, err
	case column == "":
		return table.Records()
	}
	return table.Column(column)
}

// bare returns err without an operation and path if the path is that of a descriptor, which is
// meaningless to users.
func bare(err error) error {
	if e, ok := errors.AsType[*ndarray.Error](err); ok && strings.HasPrefix(e.Path, "/proc/self/fd/") {
		return e.Err
	}
	return err
}

// guard is a backend of a file that this package keeps open.
type guard struct {
	ndarray.Backend
	readOnly
	name string
	s    *suspect // closed with the backend
}

var (
	_ ndarray.StringReader    = (*guard)(nil)
	_ ndarray.AttrReader      = (*guard)(nil)
	_ ndarray.StorageReporter = (*guard)(nil)
	_ ndarray.ChunkMeasurer   = (*guard)(nil)
	_ ndarray.UniformTeller   = (*guard)(nil)
	_ ndarray.NullReader      = (*guard)(nil)
)

func (g *guard) Meta() ndarray.Meta {
	m := g.Backend.Meta()
	m.Path = g.name
	m.ReadOnly = true
	return m
}

func (g *guard) ReadRegion(ctx context.Context, dst []byte, r ndarray.Region, workers int) error {
	return bare(g.Backend.ReadRegion(ctx, dst, r, workers))
}

func (g *guard) ReadStrings(ctx context.Context, dst []string, r ndarray.Region) error {
	return bare(readStrings(ctx, g.Backend, dst, r))
}

func (g *guard) ReadNulls(ctx context.Context, dst []bool, r ndarray.Region) error {
	n, ok := ndarray.As[ndarray.NullReader](g.Backend)
	if !ok {
		return ctx.Err()
	}
	return bare(n.ReadNulls(ctx, dst, r))
}

func (g *guard) Attrs(ctx context.Context) (ndarray.Attrs, error) {
	attrs, err := attrsOf(ctx, g.Backend)
	return attrs, bare(err)
}

func (g *guard) Storage(ctx context.Context) (ndarray.Storage, error) {
	n, err := storageOf(ctx, g.Backend)
	return n, bare(err)
}

func (g *guard) ChunkBytes(ctx context.Context, n int64) (int64, error) {
	size, err := chunkBytes(ctx, g.Backend, []int64{n})
	return size, bare(err)
}

func (g *guard) Uniform(ctx context.Context, within ndarray.Region) (func(ndarray.Region) bool, error) {
	u, ok := ndarray.As[ndarray.UniformTeller](g.Backend)
	if !ok {
		return nil, ctx.Err()
	}
	uniform, err := u.Uniform(ctx, within)
	return uniform, bare(err)
}

func (g *guard) Close() error { return errors.Join(bare(g.Backend.Close()), g.s.close()) }

// readOnly makes every write of a backend return ndarray.ErrReadOnly.
type readOnly struct{}

var (
	_ ndarray.RegionWriter = readOnly{}
	_ ndarray.StringWriter = readOnly{}
	_ ndarray.Resizer      = readOnly{}
	_ ndarray.AttrWriter   = readOnly{}
)

func (readOnly) WriteRegion(context.Context, []byte, ndarray.Region, int) error {
	return ndarray.ErrReadOnly
}

func (readOnly) WriteStrings(context.Context, []string, ndarray.Region) error {
	return ndarray.ErrReadOnly
}

func (readOnly) Resize(context.Context, []int64) error       { return ndarray.ErrReadOnly }
func (readOnly) SetAttr(context.Context, ndarray.Attr) error { return ndarray.ErrReadOnly }
func (readOnly) DeleteAttr(context.Context, string) error    { return ndarray.ErrReadOnly }
