// Datasets: create, open, describe, resize.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"slices"
)

// Dataset is an open dataset.
type Dataset struct {
	object
	masks chunkMasks
	sound bool // soundLocked has found nothing; the lock guards it

	trusting *trusting // nil if soundLocked has not found a filter that is
}

// LayoutKind says how a dataset's elements are stored (H5D_layout_t).
type LayoutKind int

// The layouts.
const (
	Compact    LayoutKind = iota + 1 // in the object header
	Contiguous                       // in one piece, or in external files
	Chunked                          // in pieces of one shape, which filters work on
	Virtual                          // in other datasets
)

func (k LayoutKind) String() string {
	switch k {
	case Compact:
		return "compact"
	case Contiguous:
		return "contiguous"
	case Chunked:
		return "chunked"
	default:
		return "virtual"
	}
}

// FillKind says what elements hold that were never written (H5D_fill_value_t).
type FillKind int

// The kinds of fill value.
const (
	FillUndefined FillKind = iota // anything
	FillDefault                   // zero bytes
	FillValue                     // a value given at creation
)

// DatasetOptions says how a dataset is created. nil means DatasetOptions{}:
// contiguous, no filter, filled with zero bytes.
type DatasetOptions struct {
	Compact    bool     // keep the elements in the object header: less than 64 KiB, no chunks
	Chunks     []int64  // chunk shape in elements; filters and growing dimensions need one
	Shuffle    bool     // gather the bytes of equal weight before compression
	Deflate    *int     // zlib's level, 0 (store) to 9; nil: no compression
	Filters    []Filter // more steps, after shuffle and deflate; those that the library has not are in h5/filter
	Fletcher32 bool     // a checksum for each chunk, the last step
	Fill       []byte   // one element as stored: of a Plain datatype and in its byte order; nil: zero bytes
	FillValues Values   // or one element of any datatype, as EncodeValues makes it
	NoFill     bool     // no fill value: elements that were never written hold anything
	FillTime   FillTime
	Alloc      AllocTime
	PlainEdges bool // do not filter chunks that stick out of the shape (H5Pset_chunk_opts)

	External []ExternalFile // keep the elements in these files
	Mappings []Mapping      // find the elements in other datasets; not nil: a virtual dataset

	AttributeOrder CreationOrder
	AttributePhase *PhaseChange   // nil: 8 and 6
	Minimize       bool           // leave no room for attributes in the header (H5Pset_dset_no_attrs_hint)
	Times          bool           // store when the dataset was changed; never the same bytes twice
	Access         *DatasetAccess // nil: DatasetAccess{}
}

// Validate reports every option that cannot be with a dataset of that type and
// shape; each error wraps ErrParam or ErrSize.
func (o DatasetOptions) Validate(dt Datatype, space Dataspace) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrParam, fmt.Sprintf(format, a...))
	}
	filtered := o.Shuffle || o.Deflate != nil || o.Fletcher32 || len(o.Filters) > 0
	switch {
	case o.Chunks != nil && o.Compact:
		return bad("compact and chunked")
	case o.Chunks == nil && filtered:
		return bad("filters need chunks")
	case o.Chunks == nil && len(o.External) == 0 && o.Mappings == nil && !slices.Equal(space.maxDims(), space.Dims):
		return bad("a shape that may grow needs chunks")
	case o.Chunks != nil && len(o.Chunks) != len(space.Dims):
		return bad("chunk shape %v, dataset shape %v", o.Chunks, space.Dims)
	case o.Deflate != nil && (*o.Deflate < 0 || *o.Deflate > 9):
		return bad("deflate level %d", *o.Deflate)
	}
	for _, f := range o.Filters {
		if err := f.validate(); err != nil {
			return err
		}
	}
	for i, c := range o.Chunks {
		if c < 1 || (space.maxDims()[i] != Unlimited && c > space.maxDims()[i]) {
			return bad("chunk shape %v in a dataset of shape %v that grows to %v", o.Chunks, space.Dims, space.maxDims())
		}
	}
	if n := mul(product(o.Chunks), int64(max(dt.Size, 1))); o.Chunks != nil && (n < 0 || n > math.MaxUint32) {
		return bad("chunk of shape %v with elements of %d bytes: 4 GiB is the most", o.Chunks, dt.Size)
	}
	if err := o.checkFill(dt); err != nil {
		return err
	}
	return o.validateStorage(dt, space)
}

// hasFillValues reports that FillValues was given; one of no elements was too.
func (o *DatasetOptions) hasFillValues() bool {
	return o.FillValues.block != nil || o.FillValues.n != 0 || o.FillValues.Datatype.Class != 0
}

func (o *DatasetOptions) checkFill(dt Datatype) error {
	v := &o.FillValues
	switch {
	case o.Fill != nil && !dt.Plain():
		return fmt.Errorf("%w: the bytes of a fill value for %v, which takes FillValues", ErrType, dt)
	case o.Fill != nil && len(o.Fill) != dt.Size:
		return fmt.Errorf("%w: fill value has %d bytes, an element %d", ErrSize, len(o.Fill), dt.Size)
	case !o.hasFillValues():
		return nil
	case o.Fill != nil:
		return fmt.Errorf("%w: a fill value as bytes and as values", ErrParam)
	case v.n != 1:
		return fmt.Errorf("%w: %d fill values, it must be 1", ErrSize, v.n)
	case !v.Datatype.Equal(dt):
		return fmt.Errorf("%w: fill value of %v for %v", ErrType, v.Datatype, dt)
	case dt.hasStandardReference():
		return fmt.Errorf("%w: fill value of %v: of a standard reference the library makes 64 bytes in the place of those stored", ErrType, dt)
	}
	return nil
}

// hasStandardReference looks for one at any depth.
func (t *Datatype) hasStandardReference() bool {
	if t == nil {
		return false // of the members of an enumeration
	}
	for i := range t.Members {
		if t.Members[i].Type.hasStandardReference() {
			return true
		}
	}
	return t.Class == Reference && t.Ref == StandardReference || t.Base.hasStandardReference()
}

// checkFillIn finds a file in which the fill value takes fewer bytes than in memory.
func (o *DatasetOptions) checkFillIn(f *File, dt Datatype) error {
	if !o.hasFillValues() || dt.Plain() {
		return nil
	}
	c, err := f.Creation()
	if err == nil && c.OffsetSize < pointerSize {
		err = fmt.Errorf("%w: fill value of %v: the library reads it only where addresses have 8 bytes, here %d", ErrType, dt, c.OffsetSize)
	}
	return err
}

// The forms of a fill value, as in shim_dataset.c.
const (
	fillNone = iota
	fillBytes
	fillValues
)

func (o *DatasetOptions) appendFill(b []byte) []byte {
	switch {
	case o.hasFillValues():
		return appendBytes(appendInt(b, fillValues), o.FillValues.block)
	case o.Fill != nil:
		return appendBytes(appendInt(b, fillBytes), o.Fill)
	default:
		return appendBytes(appendInt(b, fillNone), nil)
	}
}

func (o DatasetOptions) append(b []byte) []byte {
	layout := Contiguous
	if o.Compact {
		layout = Compact
	}
	if o.Chunks != nil {
		layout = Chunked
	}
	b = appendInt(b, int64(layout))
	b = appendInt(b, int64(len(o.Chunks)))
	for _, c := range o.Chunks {
		b = appendInt(b, c)
	}
	b = appendBool(b, o.Shuffle)
	level := int64(-1)
	if o.Deflate != nil {
		level = int64(*o.Deflate)
	}
	b = appendInt(b, level)
	b = appendInt(b, int64(len(o.Filters)))
	for _, f := range o.Filters {
		b = appendBool(appendInt(b, int64(f.ID)), f.Optional)
		b = appendInt(b, int64(len(f.Values)))
		for _, v := range f.Values {
			b = appendInt(b, int64(v))
		}
	}
	return o.appendFill(appendBool(b, o.Fletcher32))
}

// CreateDataset makes a dataset, and the groups on the way to it that are missing
// (H5Dcreate2). Object times are not stored, so that equal input makes equal
// files.
//
// It returns ErrExists, ErrReadOnly, ErrType for a datatype that cannot be
// created, or ErrParam for options that do not go with type and shape. A fill value of
// standard references, or of pointers in a file whose addresses have less than 8 bytes,
// is ErrType: the library would not read it (see Defects).
func (g *Group) CreateDataset(name string, dt Datatype, space Dataspace, o *DatasetOptions) (*Dataset, error) {
	const op = "create dataset"
	path := g.join(name)
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.createDataset(op, path, cname, utf8, dt, space, o)
}

// CreateAnonymousDataset makes a dataset without a link and so without a path
// (H5Dcreate_anon). It is gone when it is closed, unless LinkObject gave it a name.
// Errors are those of CreateDataset.
func (g *Group) CreateAnonymousDataset(dt Datatype, space Dataspace, o *DatasetOptions) (*Dataset, error) {
	return g.createDataset("create dataset", "", nil, 0, dt, space, o)
}

func (g *Group) createDataset(op, path string, cname *C.char, utf8 C.int32_t, dt Datatype, space Dataspace, o *DatasetOptions) (*Dataset, error) {
	if err := g.writable(op, path); err != nil {
		return nil, err
	}
	var opts DatasetOptions
	if o != nil {
		opts = *o
	}
	for _, err := range []error{dt.check(), space.check(), opts.Validate(dt, space), opts.checkFillIn(g.file, dt)} {
		if err != nil {
			return nil, &Error{Op: op, Path: path, Err: err}
		}
	}
	spec := dt.append(opts.appendStorage(space.append(opts.append(nil))))
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := C.goh5_dcreate(&cerr, loc, cname, utf8, cBytes(spec), C.size_t(len(spec)), &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &Dataset{object: object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// OpenDataset opens the dataset called name (H5Dopen2). It returns ErrNotFound,
// or an error of the library if name is something else.
func (g *Group) OpenDataset(name string) (*Dataset, error) { return g.OpenDatasetWith(name, nil) }

// OpenDatasetWith opens the dataset called name as a says (H5Dopen2). A dataset
// that is open already keeps the chunk cache it has.
func (g *Group) OpenDatasetWith(name string, a *DatasetAccess) (*Dataset, error) {
	const op = "open dataset"
	path := g.join(name)
	if a != nil {
		if err := a.Validate(); err != nil {
			return nil, &Error{Op: op, Path: path, Err: err}
		}
	}
	spec := a.append(nil)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var id C.int64_t
	rc := C.goh5_dopen(&cerr, loc, cname, cBytes(spec), C.size_t(len(spec)), &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, &cerr)
	}
	return &Dataset{object: object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// DatasetInfo describes a dataset at one moment.
type DatasetInfo struct {
	Datatype         Datatype
	Space            Dataspace
	Layout           LayoutKind
	Chunks           []int64        // Chunked: chunk shape in elements
	External         []ExternalFile // Contiguous: the files that hold the elements, if not this one
	Mappings         []Mapping      // Virtual: what is where
	Index            ChunkIndex     // Chunked: how chunks are found
	Address          uint64         // Contiguous: where in the file the elements begin; NoAddress if nowhere yet
	StorageBytes     int64          // bytes that the elements take in the file, after the filters; 0 if none are stored
	Filters          []Filter       // in the order of writing
	FiltersAvailable bool           // this process can decode them all (H5Pall_filters_avail)
	FillKind         FillKind
	Fill             []byte // FillValue of a Plain datatype: one element as stored
	FillValues       Values // FillValue of any other: one element, for DecodeValues
	FillTime         FillTime
	Alloc            AllocTime
	Allocated        bool  // all space is taken
	PlainEdges       bool  // Chunked: chunks that stick out of the shape pass no filter
	CacheBytes       int64 // Chunked: what may be kept of decoded chunks
	Uncached         bool  // Chunked: a chunk is larger than that, and decoded for each access to a part of it
	Times            bool
	AttributeOrder   CreationOrder
	AttributePhase   PhaseChange
}

// maxFilter is the highest number of a filter (H5Z_FILTER_MAX).
const maxFilter = 65535

// NoAddress is the address of what is not stored.
const NoAddress = math.MaxUint64

// Filter is a step of a dataset's pipeline.
type Filter struct {
	ID       int      // registered filter number
	Name     string   // as the file has it
	Optional bool     // a chunk may be stored without it (H5Z_FLAG_OPTIONAL)
	Values   []uint32 // the filter's own parameters (cd_values)
}

// Info describes the dataset, all in one call (H5Dget_type, H5Dget_space,
// H5Dget_create_plist, H5Dget_access_plist, H5Dget_storage_size, H5Dget_offset,
// H5Dget_chunk_index_type, H5Dget_space_status, H5Pall_filters_avail).
func (d *Dataset) Info() (DatasetInfo, error) {
	r, err := d.info()
	if err != nil {
		return DatasetInfo{}, err
	}
	info := DatasetInfo{Datatype: r.datatype(), Space: r.dataspace(), Layout: LayoutKind(r.int())}
	if rank := r.word(); rank > 0 {
		info.Chunks = r.ints(rank)
	}
	info.Address = r.word()
	info.StorageBytes = r.int()
	info.Filters = r.filters()
	r.fill(&info)
	r.storage(&info)
	return info, nil
}

// filters reads what put_filters wrote.
func (r *reader) filters() (all []Filter) {
	for range r.word() {
		f := Filter{ID: int(r.int()), Optional: r.word()&C.H5Z_FLAG_OPTIONAL != 0, Name: r.text()}
		f.Values = make([]uint32, r.word())
		for i := range f.Values {
			f.Values[i] = uint32(r.word())
		}
		all = append(all, f)
	}
	return all
}

// fill reads what put_fill wrote.
func (r *reader) fill(info *DatasetInfo) {
	if info.FillKind = FillKind(r.int()); info.FillKind != FillValue {
		return
	}
	if r.int() == fillBytes {
		info.Fill = r.bytes()
	} else {
		info.FillValues = Values{Datatype: info.Datatype, n: 1, block: r.bytes()}
	}
}

func (d *Dataset) info() (*reader, error) {
	const op = "describe"
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_dinfo(&cerr, id, &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return nil, newError(op, d.path, rc, &cerr)
	}
	return takeBlob(&blob), outsideLocked(op, d.path)
}

// Resize changes the shape (H5Dset_extent). Elements outside the new shape are
// gone, new ones hold the fill value.
//
// It returns ErrSize if the number of dimensions differs, ErrParam if one is
// negative, ErrReadOnly, ErrCorrupt for parameters of filters that the library would
// be led astray by (see Defects), or an error of the library for a shape beyond the
// maximum or a dataset without chunks.
func (d *Dataset) Resize(dims ...int64) error {
	const op = "resize"
	if err := d.writable(op, d.path); err != nil {
		return err
	}
	if slices.ContainsFunc(dims, func(n int64) bool { return n < 0 }) {
		return &Error{Op: op, Path: d.path, Err: fmt.Errorf("%w: shape %v", ErrParam, dims)}
	}
	lock()
	defer unlock()
	id, err := d.h.idLocked(op, d.path)
	if err != nil {
		return err
	}
	if err := d.soundLocked(op, id); err != nil {
		return err // chunks at the edge go through the filters
	}
	if err := d.longShapeLocked(op, id, dims); err != nil {
		return err
	}
	if err := d.settleShapeLocked(op, id, dims); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_dset_extent(&cerr, id, cInts(dims), C.size_t(len(dims)))
	runtime.KeepAlive(d)
	if rc < 0 {
		return newError(op, d.path, rc, &cerr)
	}
	return nil
}

// Flush hands what was written to the dataset to the operating system (H5Dflush).
func (d *Dataset) Flush() error {
	return d.run("flush", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dflush(cerr, id) })
}

// Refresh forgets what is known of the dataset and reads it anew, as a reader must
// while another process writes (H5Drefresh).
func (d *Dataset) Refresh() error {
	return d.run("refresh", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		lib.stored++
		return C.goh5_drefresh(cerr, id)
	})
}
