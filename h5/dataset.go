// Creating, opening, describing and resizing datasets.

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
	masks          chunkMasks
	filtersChecked bool // checkFiltersLocked found no invalid filter parameters; guarded by the lock

	gaps C.int32_t // argument of goh5_dread, set by the first read; guarded by the lock

	exact []byte // encoded type of the last read that libhdf5 does without loss; guarded by the lock

	elements *elementType // nil before the first use; guarded by the lock

	trusting *trusting // nil if checkFiltersLocked found no filter without bounds checks
}

// LayoutKind is the storage layout of a dataset's elements (H5D_layout_t).
type LayoutKind int

// Layouts.
const (
	Compact    LayoutKind = iota + 1 // in the object header
	Contiguous                       // in one block, or in external files
	Chunked                          // in chunks of one shape, to which filters apply
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

// FillKind defines the contents of elements that were never written (H5D_fill_value_t).
type FillKind int

// Kinds of fill value.
const (
	FillUndefined FillKind = iota // undefined in the file, zero bytes in a read
	FillDefault                   // zero bytes
	FillValue                     // a value given at creation
)

// DatasetOptions contains the options for creating a dataset. nil means DatasetOptions{}:
// contiguous storage, no filters, filled with zero bytes.
type DatasetOptions struct {
	Compact    bool    // store the elements in the object header: less than 64 KiB, no chunks
	ChunkShape []int64 // chunk shape in elements; required for filters and growing dimensions
	Shuffle    bool    // group bytes of equal significance before compression
	Deflate    *int    // zlib level, 0 (no compression) to 9; nil: no deflate filter
	// Filters follow shuffle and deflate. Package h5/filter provides filters that libhdf5 does not
	// have.
	Filters    []Filter
	Fletcher32 bool   // add a checksum to each chunk, as the last filter
	Fill       []byte // one element as stored, with its byte order; only Plain types; nil: zeros
	FillValues Values // or one element of any datatype, see h5/h5value
	NoFill     bool   // no fill value: elements that were never written are undefined in the file and zero in a read
	FillTime   FillTime
	Alloc      AllocTime
	PlainEdges bool // do not filter partial chunks at the edges (H5Pset_chunk_opts)

	External []ExternalFile // store the elements in these files
	Mappings []Mapping      // map the elements to other datasets; not nil: a virtual dataset

	AttributeOrder CreationOrder
	AttributePhase *PhaseChange   // nil: 8 and 6
	Minimize       bool           // reserve no space for attributes (H5Pset_dset_no_attrs_hint)
	Times          bool           // store object times; the file then depends on the time
	Access         *DatasetAccess // nil: DatasetAccess{}
}

// validate returns an error for options that are invalid for a dataset of type dt and shape space.
// Each error wraps ErrParam, ErrSize or ErrType.
func (o DatasetOptions) validate(dt Datatype, space Dataspace) error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("%w: %s", ErrParam, fmt.Sprintf(format, a...))
	}
	filtered := o.Shuffle || o.Deflate != nil || o.Fletcher32 || len(o.Filters) > 0
	switch {
	case o.ChunkShape != nil && o.Compact:
		return bad("compact and chunked")
	case o.ChunkShape == nil && filtered:
		return bad("filters need chunks")
	case o.ChunkShape == nil && len(o.External) == 0 && o.Mappings == nil && !slices.Equal(space.maxDims(), space.Dims):
		return bad("a shape that may grow needs chunks")
	case o.ChunkShape != nil && len(o.ChunkShape) != len(space.Dims):
		return bad("chunk shape %v, dataset shape %v", o.ChunkShape, space.Dims)
	case o.Deflate != nil && (*o.Deflate < 0 || *o.Deflate > 9):
		return bad("deflate level %d", *o.Deflate)
	}
	for _, f := range o.Filters {
		if err := f.validate(); err != nil {
			return err
		}
	}
	for i, c := range o.ChunkShape {
		if c < 1 || (space.maxDims()[i] != Unlimited && c > space.maxDims()[i]) {
			return bad("chunk shape %v in a dataset of shape %v that grows to %v", o.ChunkShape, space.Dims, space.maxDims())
		}
	}
	if n := mul(product(o.ChunkShape), int64(max(dt.Size, 1))); o.ChunkShape != nil && (n < 0 || n > math.MaxUint32) {
		return bad("chunk of shape %v with elements of %d bytes: want at most 4 GiB", o.ChunkShape, dt.Size)
	}
	if err := o.checkFill(dt); err != nil {
		return err
	}
	return o.validateStorage(dt, space)
}

// hasFillValues reports whether FillValues is set. A FillValues without elements counts as set.
func (o *DatasetOptions) hasFillValues() bool {
	return o.FillValues.Block != nil || o.FillValues.N != 0 || o.FillValues.Datatype.Class != 0
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
	case v.N != 1:
		return fmt.Errorf("%w: %d fill values, it must be 1", ErrSize, v.N)
	case !v.Datatype.Equal(dt):
		return fmt.Errorf("%w: fill value of %v for %v", ErrType, v.Datatype, dt)
	case dt.hasStandardReference():
		return fmt.Errorf("%w: fill value of %v: of a standard reference the library makes 64 bytes in the place of those stored", ErrType, dt)
	}
	return nil
}

// hasStandardReference reports whether t contains a standard reference at any depth.
func (t *Datatype) hasStandardReference() bool {
	if t == nil {
		return false // members of an enumeration have no type
	}
	for i := range t.Members {
		if t.Members[i].Type.hasStandardReference() {
			return true
		}
	}
	return t.Class == Reference && t.Ref == StandardReference || t.Base.hasStandardReference()
}

// checkFillIn returns an error if the fill value contains pointers and the file's addresses have
// fewer than 8 bytes, because the stored fill value is then smaller than in memory.
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

// Forms of a fill value. They must match shim_dataset.c.
const (
	fillNone = iota
	fillBytes
	fillValues
)

func (o *DatasetOptions) appendFill(b []byte) []byte {
	switch {
	case o.hasFillValues():
		return appendBytes(appendInt(b, fillValues), o.FillValues.Block)
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
	if o.ChunkShape != nil {
		layout = Chunked
	}
	b = appendInt(b, int64(layout))
	b = appendInt(b, int64(len(o.ChunkShape)))
	for _, c := range o.ChunkShape {
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

// CreateDataset creates a dataset and missing intermediate groups (H5Dcreate2). By default object
// times are not stored, so equal input produces equal files.
//
// It returns ErrExists, ErrReadOnly, ErrType for an invalid datatype, or ErrParam for options that
// are incompatible with the type and shape. It also returns ErrType for a fill value of standard
// references, and for one with pointers in a file whose addresses have less than 8 bytes, because
// libhdf5 could not read it (see docs/defects.md).
func (g *Group) CreateDataset(name string, dt Datatype, space Dataspace, o *DatasetOptions) (*Dataset, error) {
	const op = "create dataset"
	path := g.join(name)
	cname, utf8, err := cName(op, path, name)
	if err != nil {
		return nil, err
	}
	return g.createDataset(op, path, cname, utf8, dt, space, o)
}

// CreateAnonymousDataset creates a dataset without a link and therefore without a path
// (H5Dcreate_anon). The dataset is deleted when it is closed, unless LinkObject has linked it. The
// errors are those of CreateDataset.
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
	for _, err := range []error{dt.check(), space.check(), opts.validate(dt, space), opts.checkFillIn(g.file, dt)} {
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

// OpenDataset opens the dataset called name (H5Dopen2). It returns ErrNotFound, or an error of
// libhdf5 if name is another kind of object.
func (g *Group) OpenDataset(name string) (*Dataset, error) { return g.OpenDatasetWith(name, nil) }

// OpenDatasetWith opens the dataset called name with the given access options (H5Dopen2). A dataset
// that is already open keeps its chunk cache.
func (g *Group) OpenDatasetWith(name string, a *DatasetAccess) (*Dataset, error) {
	const op = "open dataset"
	path := g.join(name)
	var spec []byte // empty: the default properties, without a property list
	if a != nil {
		if err := a.validate(); err != nil {
			return nil, &Error{Op: op, Path: path, Err: err}
		}
		spec = a.append(nil)
	}
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
	cerr := errorLocked()
	var id C.int64_t
	rc := C.goh5_dopen(cerr, loc, cname, cBytes(spec), C.size_t(len(spec)), &id)
	runtime.KeepAlive(g)
	if rc < 0 {
		return nil, newError(op, path, rc, cerr)
	}
	return &Dataset{object: object{h: newHandleLocked(g.h.ids, id), file: g.file, path: path}}, nil
}

// DatasetInfo describes a dataset at the time of the call.
type DatasetInfo struct {
	Datatype         Datatype
	Space            Dataspace
	Layout           LayoutKind
	ChunkShape       []int64        // Chunked: chunk shape in elements
	External         []ExternalFile // Contiguous: files that store the elements, if any
	Mappings         []Mapping      // Virtual: mapping of elements to source datasets
	Index            ChunkIndex     // Chunked: kind of chunk index
	Address          uint64         // Contiguous: offset of the elements in the file, or NoAddress
	Filters          []Filter       // in the order in which a write applies them
	FiltersAvailable bool           // this process can decode all filters (H5Pall_filters_avail)
	FillKind         FillKind
	Fill             []byte // FillValue of a Plain datatype: one element as stored
	FillValues       Values // FillValue of any other datatype: one element
	FillTime         FillTime
	Alloc            AllocTime
	PlainEdges       bool  // Chunked: partial chunks at the edges are not filtered
	CacheBytes       int64 // Chunked: size of the cache of decoded chunks
	Uncached         bool  // Chunked: a chunk exceeds CacheBytes; each partial access decodes it
	Times            bool
	AttributeOrder   CreationOrder
	AttributePhase   PhaseChange
}

// Unwritten returns the bytes of an element that was never written, as a read returns it: Fill, or
// zeros if there is no fill value or it is never used (FillNever). Only a virtual dataset uses its
// fill value also with FillNever. The Datatype must be Plain.
func (i *DatasetInfo) Unwritten() []byte {
	b := make([]byte, i.Datatype.Size)
	if i.FillTime != FillNever || i.Layout == Virtual {
		copy(b, i.Fill)
	}
	return b
}

// maxFilter is the highest filter number (H5Z_FILTER_MAX).
const maxFilter = 65535

// NoAddress is the address of an object that is not stored.
const NoAddress = math.MaxUint64

// Filter is one filter of a dataset's pipeline.
type Filter struct {
	ID       int      // registered filter number
	Name     string   // from the file; the functions of RegisterFilterCheck are only for filters without a name
	Optional bool     // a chunk may be stored without this filter (H5Z_FLAG_OPTIONAL)
	Values   []uint32 // parameters of the filter (cd_values)
}

// Info describes the dataset in one call (H5Dget_type, H5Dget_space, H5Dget_create_plist,
// H5Dget_access_plist, H5Dget_offset, H5Dget_chunk_index_type, H5Pall_filters_avail). It does not
// read the chunk index.
func (d *Dataset) Info() (DatasetInfo, error) {
	r, err := d.info()
	if err != nil {
		return DatasetInfo{}, err
	}
	info := DatasetInfo{Datatype: r.datatype(), Space: r.dataspace(), Layout: LayoutKind(r.int())}
	if rank := r.word(); rank > 0 {
		info.ChunkShape = r.ints(rank)
	}
	info.Address = r.word()
	info.Filters = r.filters()
	r.fill(&info)
	r.storage(&info)
	return info, nil
}

// Stored returns the size in bytes of the stored elements after the filters, and whether all
// storage is allocated (H5Dget_storage_size, H5Dget_space_status). libhdf5 reads the whole chunk
// index.
func (d *Dataset) Stored() (bytes int64, allocated bool, err error) {
	var n C.uint64_t
	var all C.int32_t
	err = d.run("measure", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dstored(cerr, id, &n, &all) })
	return int64(n), all != 0, err
}

// filters decodes the output of put_filters.
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

// fill decodes the output of put_fill.
func (r *reader) fill(info *DatasetInfo) {
	if info.FillKind = FillKind(r.int()); info.FillKind != FillValue {
		return
	}
	if r.int() == fillBytes {
		info.Fill = r.bytes()
	} else {
		info.FillValues = Values{Datatype: info.Datatype, N: 1, Block: r.bytes()}
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
	cerr := errorLocked()
	var blob C.goh5_blob_t
	rc := C.goh5_dinfo(cerr, id, &blob)
	runtime.KeepAlive(d)
	if rc < 0 {
		return nil, newError(op, d.path, rc, cerr)
	}
	return takeBlob(&blob), outsideLocked(op, d.path)
}

// Resize changes the shape (H5Dset_extent). Elements outside the new shape are deleted; new
// elements have the fill value.
//
// It returns ErrSize if the number of dimensions differs, ErrParam if a dimension is negative,
// ErrReadOnly, or ErrCorrupt for filter parameters that would make libhdf5 read or write out of
// bounds (see docs/defects.md). It returns an error of libhdf5 for a shape beyond the maximum shape
// or a dataset without chunks.
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
	if err := d.checkFiltersLocked(op, id); err != nil {
		return err // resizing runs the filters on chunks at the edges
	}
	if err := d.longShapeLocked(op, id, dims); err != nil {
		return err
	}
	if err := d.masksShapeLocked(op, id, dims); err != nil {
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

// Flush passes written data of the dataset to the operating system (H5Dflush).
func (d *Dataset) Flush() error {
	return d.run("flush", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_dflush(cerr, id) })
}

// Refresh discards cached metadata of the dataset and reads it again (H5Drefresh). A reader must
// call it to see changes of another process. Package chunkio, for a file that is open for reading
// only, sees them in a new Dataset.
func (d *Dataset) Refresh() error {
	return d.run("refresh", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int {
		lib.stored++
		return C.goh5_drefresh(cerr, id)
	})
}
