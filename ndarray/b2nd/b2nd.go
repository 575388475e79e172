// Open and Create.

package b2nd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/internal/blosc/caterva"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// backend is one b2nd or Caterva array. It implements every optional interface of ndarray.
type backend struct {
	engine *engine
	meta   ndarray.Meta
	stored string // element type as stored in the file

	special bool // codec or filters have parameters that Compression does not contain

	lossy      string // filter or codec that can change values, "" without any
	allowLossy bool   // OpenOptions.AllowLossy

	mu     sync.Mutex // guards the record and the metalayers of attributes together
	record *record

	partial sync.Mutex // held while chunks with checksums are changed
}

// OpenOptions are the options of Open. nil means the zero value.
type OpenOptions struct {
	// DType is the element type of arrays whose file does not define one that ndarray supports, for
	// example Caterva. nil: the type in the file, and opaque bytes for Caterva.
	DType *ndarray.DType

	// AnyType reads elements of unsupported types as opaque bytes, instead of failing. StoredDType
	// then returns the stored type.
	AnyType bool

	// Metadata also opens arrays whose elements cannot be read, because the file does not contain
	// them or because their codec or filter is not available. Reads then return
	// errors.ErrUnsupported with the reason, which Unreadable of the backend returns too. It does
	// not go with Write, Durable, Library and Allow.
	Metadata bool

	// Checksums compares each stored chunk that is read with its checksum, if the array has current
	// ones: if the last filter of Compression is "crc32c". A chunk with another checksum gives
	// ndarray.ErrCorrupt with the number of the chunk and both values. It does not go with Library.
	// Arrays that are open for writing always compare checksums.
	Checksums bool

	// Write opens for writing, in place. Writes reach the disk at once, so a killed program may
	// leave a write half done.
	Write bool

	// Durable is Write for atomic changes. If the program or the machine stops at any time, the
	// file has all of a call's change or no part of it. When a call returns nil, the change is on
	// disk. Readers can open the file at any time.
	//
	// Replaced chunks and the old index stay in the file as dead bytes until frameio.Compact
	// rewrites the array, or it is copied. Only elements and rows can be changed; changes of
	// attributes and other changes of the shape return errors.ErrUnsupported. With Library, Open
	// returns ndarray.ErrParam, because C-Blosc2 overwrites existing data.
	Durable bool

	// AllowLossy allows writes through filters and codecs that can change values: TruncPrec,
	// IntTrunc, NDMean and ZFP. Otherwise such writes, and growing from a part of a chunk, return
	// errors.ErrUnsupported. ndarray.Array.LossyChanges then counts the changed elements.
	AllowLossy bool

	// Library makes C-Blosc2 move all elements, one call at a time, instead of workers; for
	// comparison.
	Library bool

	// Lock is the lock of the file, which the caller holds, and of which the array keeps a
	// reference until Close. Nil: with Write or Durable, Open takes the lock and waits for other
	// writers: without limit for other processes, 10 seconds for a writer of this process. Then it
	// returns ndarray.ErrLocked.
	Lock *ndarray.Lock

	// Allow lists codecs and filters that may be read in addition to those that are safe for
	// untrusted bytes: [cblosc.DParams.Allow]. C-Blosc2 reads their elements, one call at a time.
	// OpenFS and OpenFrame ignore Allow, because C-Blosc2 does not read their frames.
	Allow cblosc.Allow
}

// CreateOptions are the options of Create. nil means the zero value.
type CreateOptions struct {
	Sparse bool   // create a directory with one file per chunk instead of one file
	Name   string // name of the array in Meta.Path and errors; "": the path

	// Caterva writes the metalayer of Caterva instead of b2nd's. It stores no element type. Null
	// arrays, maximum shapes, dimension names and fill values are errors.ErrUnsupported. The array
	// that Create returns has the type of the Spec, but a later Open must specify it again in
	// OpenOptions.DType.
	Caterva bool

	// Plain writes a plain frame with the elements in row-major order. Its shape and element type
	// are in the metalayer of save_tensor, so that load_tensor of python-blosc2, Open of package
	// hyperslab and OpenFrame read it as an array. Elements are zero until they are written. The
	// length of the chunks is that of whole rows of Spec.ChunkShape. Null arrays, maximum shapes,
	// dimension names, fill values other than zero, structures with padding, rows above 2 GiB, and
	// Sparse, Caterva and Library are errors.ErrUnsupported.
	Plain bool

	Library bool // as in OpenOptions
}

// Open opens a file or sparse directory, read-only unless o.Write is set. C-Blosc2 opens it only
// for writing (b2nd_open), and if workers do not support the array.
//
// It returns ndarray.ErrNotFound, ErrFormat for anything except a b2nd or Caterva array,
// ErrCorrupt, or ErrType for an unsupported element type without o.DType or o.AnyType. It returns
// errors.ErrUnsupported for versions and ranks that C-Blosc2 does not read. The same error is
// returned for arrays whose values are not in the file: lazy expressions, lazy functions and
// proxies of python-blosc2. With o.Metadata they are opened.
func Open(path string, o *OpenOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &OpenOptions{}
	}
	if o.Checksums && (o.Library || o.allows()) {
		return nil, ndarray.Wrap("open", path, fmt.Errorf("%w: Checksums with Library or Allow", ndarray.ErrParam))
	}
	if o.Metadata && (o.Write || o.Durable || o.Library || o.allows()) {
		return nil, ndarray.Wrap("open", path, fmt.Errorf("%w: Metadata with Write, Durable, Library or Allow", ndarray.ErrParam))
	}
	if o.Write || o.Durable {
		b, err := openLocked(path, *o)
		return b, ndarray.Wrap("open", path, err)
	}
	r, err := openDirect(path, o)
	if err == nil {
		return r, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, ndarray.Wrap("open", path, err)
	}
	b, err := open(path, o)
	if err != nil {
		return nil, ndarray.Wrap("open", path, err)
	}
	return b, nil
}

// openLocked opens an array for writing under the lock of its file.
func openLocked(path string, o OpenOptions) (_ ndarray.Backend, err error) {
	lock, err := filelock.Hold(o.Lock, path)
	if err != nil {
		if f, oerr := frameio.Open(path, nil); oerr != nil { // it describes a missing or unsuitable file better
			return nil, notFrame(oerr)
		} else if oerr := f.Close(); oerr != nil {
			return nil, oerr
		}
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Release())
		}
	}()
	var b ndarray.Backend
	var e *engine
	if o.Durable {
		d, err := openDurable(path, o)
		if err != nil {
			return nil, err
		}
		b, e = d, d.engine
	} else {
		d, err := open(path, &o)
		if err != nil {
			return nil, err
		}
		b, e = d, d.engine
	}
	e.lock = lock
	if err := e.see(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// limits returns the limits for opening a frame without C-Blosc2.
func (o *OpenOptions) limits() *frameio.Limits {
	return &frameio.Limits{AnyCodec: o != nil && o.Metadata, Checksums: o != nil && o.Checksums}
}

// allows reports whether Allow lists codecs or filters.
func (o *OpenOptions) allows() bool { return len(o.Allow.Codecs)+len(o.Allow.Filters) > 0 }

// openDirect opens an array without C-Blosc2. It returns errors.ErrUnsupported if C-Blosc2 must
// open it.
func openDirect(path string, o *OpenOptions) (*reader, error) {
	if o.Write || o.Library || o.allows() {
		return nil, errors.ErrUnsupported
	}
	r, err := openReader(path, o, func() (*frameio.Frame, error) { return frameio.Open(path, o.limits()) })
	if err != nil {
		return nil, err
	}
	if r.array == nil {
		return nil, errors.Join(fmt.Errorf("%w: a frame without a b2nd or caterva metalayer", ndarray.ErrFormat), r.Close())
	}
	return r, nil
}

func open(path string, o *OpenOptions) (*backend, error) {
	index, _ := os.Stat(filepath.Join(path, cframe.IndexFile)) // before C-Blosc2 opens it; nil for one file
	a, err := openArray(path, cblosc.OpenOptions{Allow: o.Allow})
	if err != nil {
		return nil, err
	}
	b := &backend{engine: newEngine(path, a, o.Library)}
	b.engine.allow, b.engine.compare = o.Allow, o.Checksums
	if !o.Write {
		b.engine.index = index
	}
	if err := b.load(path, o); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	b.meta.ReadOnly = !o.Write
	return b, nil
}

// load reads the record and fills in meta.
func (b *backend) load(path string, o *OpenOptions) error {
	a := b.engine.array
	b.stored = a.DType()
	err := checkStored(a.SChunk().Meta())
	if err != nil {
		return err
	}
	if b.record, err = readRecord(a.SChunk().VLMeta()); err != nil {
		return err
	}
	cp, err := a.SChunk().CParams()
	if err != nil {
		return err
	}
	b.special = hasParameters(cp)
	b.lossy, b.allowLossy = lossyFilter(cp), o.AllowLossy
	if b.meta, err = metaOf(path, a, cp, b.record, o); err != nil || b.engine.fresh {
		return err
	}
	if b.engine.summed, err = hasChecksums(b.engine.path, a.SChunk().VLMeta()); b.engine.summed {
		b.meta.Compression = withChecksum(b.meta.Compression)
	}
	return err
}

// checkStored returns errors.ErrUnsupported for an array whose values are not in the file, such as
// a lazy expression of python-blosc2.
func checkStored(fixed layers) error {
	names, err := fixed.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if ownLayer(name) {
			continue
		}
		content, err := fixed.Get(name)
		if err != nil {
			return err
		}
		if err := b2ndmeta.CheckStored(name, content); err != nil {
			return err
		}
	}
	return nil
}

// metaOf returns the Meta of an array.
func metaOf(path string, a stored, cp *cblosc.CParams, r *record, o *OpenOptions) (ndarray.Meta, error) {
	d, err := dtypeOf(a, o, r)
	if err != nil {
		return ndarray.Meta{}, err
	}
	m := ndarray.Meta{
		Format: "b2nd", Path: path, Shape: a.Shape(), Null: r.null, MaxShape: r.maxShape, AxisNames: r.axes,
		ChunkShape: int64s(a.ChunkShape()), BlockShape: int64s(a.Blocks()), DType: d, Compression: compression(cp),
	}
	if a.DType() == "" {
		m.Format = "caterva"
	}
	if m.Null {
		if !slices.Equal(m.Shape, nullShape) {
			return m, fmt.Errorf("%w: a null array of shape %v", ndarray.ErrCorrupt, m.Shape)
		}
		m.Shape, m.ChunkShape, m.BlockShape = nil, nil, nil
	}
	if r.axes != nil && len(r.axes) != len(m.Shape) {
		return m, fmt.Errorf("%w: %d axis names, array has %d axes", ndarray.ErrCorrupt, len(r.axes), len(m.Shape))
	}
	if r.fill != nil {
		if len(r.fill) != d.Size {
			return m, fmt.Errorf("%w: fill value of %d bytes, element of %d", ndarray.ErrCorrupt, len(r.fill), d.Size)
		}
		m.Fill = bytes.Clone(r.fill)
		d.ToNative(m.Fill)
	}
	return m, nil
}

// nullShape is the stored shape of a null array.
var nullShape = []int64{0}

// Create creates a file, or a directory with o.Sparse, that must not exist (b2nd_zeros). The
// package comment describes the default shapes; the default compression is DefaultCompression.
//
// It returns the errors of spec.Validate, ndarray.ErrExists, ErrNotFound if the parent directory is
// missing, ErrShape for chunks above C-Blosc2's limit of 2 GiB, or errors.ErrUnsupported for a
// rank, codec or filter that C-Blosc2 does not have. After an error Create deletes its files,
// unless deleting fails too.
func Create(path string, spec ndarray.Spec, o *CreateOptions) (ndarray.Backend, error) {
	if o == nil {
		o = &CreateOptions{}
	}
	name := o.Name
	if name == "" {
		name = path
	}
	if o.Plain {
		if o.Sparse || o.Caterva || o.Library || checksummed(spec.Compression) {
			return nil, ndarray.Wrap("create", name, fmt.Errorf("%w: a plain frame with Sparse, Caterva, Library or checksums", errors.ErrUnsupported))
		}
		w, err := createPlain(path, name, spec)
		if err != nil {
			return nil, ndarray.Wrap("create", name, err)
		}
		return w, nil
	}
	b, err := create(path, name, spec, o)
	if err != nil {
		return nil, ndarray.Wrap("create", name, err)
	}
	return b, nil
}

// Check returns the errors that Create would return for spec, without creating anything: the errors
// of spec.Validate, ndarray.ErrShape, ErrParam, or errors.ErrUnsupported.
func Check(spec ndarray.Spec) error {
	_, _, _, err := prepare(spec)
	return err
}

// prepare fills in the defaults of spec and converts it to C-Blosc2's parameters.
func prepare(spec ndarray.Spec) (_ ndarray.Spec, params cblosc.ArrayParams, cp *cblosc.CParams, err error) {
	valid := spec
	valid.Attrs = withoutRaw(spec.Attrs)
	if err := valid.Validate(); err != nil {
		return spec, params, nil, err
	}
	if spec.DType.Size == 0 {
		return spec, params, nil, fmt.Errorf("%w: elements of variable size, %v, in a b2nd array", errors.ErrUnsupported, spec.DType)
	}
	if spec.Comment != "" {
		return spec, params, nil, fmt.Errorf("%w: a comment of a b2nd array", errors.ErrUnsupported)
	}
	if len(spec.Shape) > cblosc.MaxDim {
		return spec, params, nil, fmt.Errorf("%w: %d dimensions in a b2nd array, at most %d",
			errors.ErrUnsupported, len(spec.Shape), cblosc.MaxDim)
	}
	if spec.Null {
		spec.Shape = nullShape
	}
	if spec.ChunkShape == nil {
		spec.ChunkShape = grid.AutoChunk(spec.Shape, spec.DType.Size)
	}
	if spec.BlockShape == nil {
		spec.BlockShape = grid.AutoBlocks(spec.ChunkShape, spec.DType.Size)
	}
	params = cblosc.ArrayParams{Shape: spec.Shape, DType: spec.DType.NumPy().String()}
	if params.ChunkShape, err = int32s("chunk", spec.ChunkShape); err != nil {
		return spec, params, nil, err
	}
	if params.Blocks, err = int32s("block", spec.BlockShape); err != nil {
		return spec, params, nil, err
	}
	cp, err = cparams(spec.Compression, spec.DType.Size)
	return spec, params, cp, err
}

// checkCaterva returns an error if spec contains something that Caterva cannot represent.
func checkCaterva(spec ndarray.Spec) error {
	if rank := len(spec.Shape); rank > b2ndmeta.MaxCatervaDims {
		return fmt.Errorf("%w: %d dimensions in a Caterva array, at most %d", errors.ErrUnsupported, rank, b2ndmeta.MaxCatervaDims)
	}
	for what, there := range map[string]bool{
		"null arrays": spec.Null, "a maximum shape": spec.MaxShape != nil, "dimension names": spec.AxisNames != nil,
		"a fill value": len(bytes.Trim(spec.Fill, "\x00")) > 0,
	} {
		if there {
			return fmt.Errorf("%w: %s in a Caterva array", errors.ErrUnsupported, what)
		}
	}
	return nil
}

func create(path, name string, spec ndarray.Spec, o *CreateOptions) (_ *backend, err error) {
	spec, params, cp, err := prepare(spec)
	if err == nil && o.Caterva {
		params.DType = ""
		err = checkCaterva(spec)
	}
	sum := checksummed(spec.Compression)
	if err == nil && sum && (o.Caterva || o.Library) {
		err = fmt.Errorf("%w: checksums of a Caterva array, or of one that C-Blosc2 writes", errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	params.Storage = cblosc.Storage{Path: path, Contiguous: !o.Sparse, CParams: cp}
	params.Meta, spec.Attrs = splitFixed(spec.Attrs)
	createArray := cblosc.CreateArray
	if o.Caterva {
		createArray = caterva.Create
	}
	a, err := createArray(&params)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close(), remove(path))
		}
	}()
	b := &backend{engine: newEngine(path, a, o.Library)}
	b.engine.fresh = true
	r := recordOf(spec)
	opts := &OpenOptions{}
	if o.Caterva {
		r.dtype, opts.DType = nil, &spec.DType
	}
	vl := a.SChunk().VLMeta()
	if sum { // reserves the metalayer
		if err := vl.Add(cframe.ChecksumLayer, cframe.AppendChecksums(nil, nil)); err != nil {
			return nil, err
		}
	}
	for _, attr := range spec.Attrs {
		if err := r.put(vl, attr); err != nil {
			return nil, err
		}
	}
	if err := r.write(vl); err != nil {
		return nil, err
	}
	if err := b.load(name, opts); err != nil {
		return nil, err
	}
	if b.engine.summed = sum; sum {
		b.meta.Compression = withChecksum(b.meta.Compression)
	}
	cp.BlockSize = spec.DType.Size // in bytes: chunks have the array's blocks
	for _, n := range params.Blocks {
		cp.BlockSize *= int(n)
	}
	if b.engine.run, err = runOf(a.SChunk(), cp, r.fill); err != nil {
		return nil, err
	}
	return b, nil
}

// runOf returns a chunk that repeats value, in the byte order of storage. It returns nil for zeros,
// because C-Blosc2 creates chunks of zeros.
func runOf(s *cblosc.SChunk, cp *cblosc.CParams, value []byte) ([]byte, error) {
	if len(bytes.Trim(value, "\x00")) == 0 || s.NumChunks() == 0 {
		return nil, nil
	}
	chunk, err := cblosc.SpecialChunk(cp, cblosc.Repeated, s.ChunkSize(), value)
	return chunk, err
}

// StoredDType returns the element type as stored in the file, or "" for Caterva.
func (b *backend) StoredDType() string { return b.stored }

// Meta describes the array.
func (b *backend) Meta() ndarray.Meta { return b.meta }
