// Storage of a dataset's elements: chunk index, external files, virtual mappings, allocation of
// space, and cache settings.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// AllocTime is the time when space for elements is allocated (H5D_alloc_time_t).
type AllocTime int

// The allocation times.
const (
	AllocDefault     AllocTime = iota // compact: early; contiguous: late; chunked and virtual: incremental
	AllocEarly                        // all when the dataset is created
	AllocLate                         // all when the first element is written
	AllocIncremental                  // chunk by chunk
)

// FillTime is the time when the fill value is written to allocated space (H5D_fill_time_t).
type FillTime int

// The fill times.
const (
	FillIfSet   FillTime = iota // on allocation, if a fill value was set
	FillOnAlloc                 // on allocation
	FillNever                   // never: unwritten elements are undefined in the file, and zero in a read
)

// ChunkIndex is the index by which libhdf5 finds a chunk (H5D_chunk_index_t). libhdf5 selects it by
// the allowed formats and the dimensions that may grow. Up to 1.8 it is BTree1. From V110 on it is:
//
//   - SingleChunk for a dataset of one chunk
//   - Implicit for early allocation without filters
//   - FixedArray if no dimension is unlimited
//   - ExtensibleArray for one unlimited dimension
//   - BTree2 for more
type ChunkIndex int

// The indexes; NoIndex is for layouts without chunks.
const (
	NoIndex ChunkIndex = iota
	BTree1
	SingleChunk
	Implicit
	FixedArray
	ExtensibleArray
	BTree2
)

func (i ChunkIndex) String() string {
	names := []string{"none", "version 1 B-tree", "single chunk", "implicit", "fixed array", "extensible array", "version 2 B-tree"}
	if i < 0 || int(i) >= len(names) {
		return "unknown"
	}
	return names[i]
}

// ExternalFile is a range of another file that contains elements, consecutively and without a
// header (H5Pset_external).
type ExternalFile struct {
	Name   string // relative to the directory DatasetAccess.ExternalPrefix, or to the working directory
	Offset int64  // bytes
	Size   int64  // bytes, or Unlimited for the last
}

// Mapping maps elements of a source dataset to elements of a virtual dataset (H5Pset_virtual).
//
// Region may be unlimited along one axis: Count is then Unlimited. In that case SourceRegion must
// be unlimited too, or File or Dataset must contain %b, which is replaced by the block number: 0,
// 1, 2 …
//
// A Source of kind Scalar without a SourceRegion stands for all elements of the source, whatever
// its shape, because the file does not store the shape in this case.
//
// libhdf5 reads the elements of a missing source as fill value. Dataset.MissingSources lists
// missing sources.
type Mapping struct {
	Region       Region
	File         string // "." is the file itself; relative: see DatasetAccess.VirtualPrefix
	Dataset      string // path in File
	Source       Dataspace
	SourceRegion Region

	// Irregular is true for a mapping read from a file if one of the regions is not a hyperslab.
	// Region and SourceRegion are then bounding boxes.
	Irregular bool
}

// VirtualView selects the extent of a virtual dataset with unlimited mappings (H5D_vds_view_t).
type VirtualView int

// The views.
const (
	LastAvailable VirtualView = iota // up to the end of the longest source; missing elements are fill value
	FirstMissing                     // up to the first missing element
)

// DatasetAccess are the access properties of an open dataset (H5P_DATASET_ACCESS). They are not
// stored in the file. A nil *DatasetAccess means DatasetAccess{}, which is libhdf5's default.
type DatasetAccess struct {
	ChunkCache     *ChunkCache // nil: the file's
	ExternalPrefix string      // directory of relative external files; "${ORIGIN}" is that of the HDF5 file
	VirtualPrefix  string      // first directory searched for source files of virtual datasets; the second is that of the file
	View           VirtualView // of virtual datasets
	Gap            int64       // of virtual datasets: number of consecutive files of a %b mapping that may be missing; default 0
}

// validate reports invalid options. Each error wraps ErrParam.
func (a DatasetAccess) validate() error {
	if a.ChunkCache != nil && !a.ChunkCache.valid() || hasNUL(a.ExternalPrefix) || hasNUL(a.VirtualPrefix) ||
		a.View < LastAvailable || a.View > FirstMissing || a.Gap < 0 {
		return fmt.Errorf("%w: %+v", ErrParam, a)
	}
	return nil
}

func (a *DatasetAccess) append(b []byte) []byte {
	if a == nil {
		a = &DatasetAccess{}
	}
	b = appendBool(b, a.ChunkCache != nil)
	cache := ChunkCache{}
	if a.ChunkCache != nil {
		cache = *a.ChunkCache
	}
	b = appendText(appendText(cache.append(b), a.ExternalPrefix), a.VirtualPrefix)
	return appendInt(appendInt(b, int64(a.View)), a.Gap)
}

func (r *reader) datasetAccess() DatasetAccess {
	c := r.chunkCache()
	return DatasetAccess{
		ChunkCache: &c, ExternalPrefix: r.text(), VirtualPrefix: r.text(), View: VirtualView(r.int()), Gap: r.int(),
	}
}

// Access returns the access properties of the dataset (H5Dget_access_plist). ChunkCache is not nil.
func (d *Dataset) Access() (DatasetAccess, error) {
	var blob C.goh5_blob_t
	err := d.run("describe access", d.path, func(id C.int64_t, cerr *C.goh5_err_t) C.int { return C.goh5_daccess(cerr, id, &blob) })
	if err != nil {
		return DatasetAccess{}, err
	}
	return takeBlob(&blob).datasetAccess(), nil
}

// checkExternal rejects external files that are too small for the dataset.
func checkExternal(files []ExternalFile, dt Datatype, space Dataspace) error {
	var total int64
	for i, f := range files {
		last := i == len(files)-1
		if f.Name == "" || hasNUL(f.Name) || f.Offset < 0 || f.Size < 1 && !(last && f.Size == Unlimited) {
			return fmt.Errorf("%w: external file %q from %d, %d bytes", ErrParam, f.Name, f.Offset, f.Size)
		}
		if f.Size == Unlimited {
			return nil
		}
		if total += f.Size; total < 0 {
			return fmt.Errorf("%w: external files of more than 2^63 bytes", ErrParam)
		}
	}
	most := mul(product(space.maxDims()), int64(dt.Size)) // -1 if a dimension is unlimited
	if most < 0 || most > total {
		return fmt.Errorf("%w: external files hold %d bytes, %v of %d bytes each needs more", ErrSize, total, space, dt.Size)
	}
	return nil
}

// check rejects a mapping that is invalid for a dataset of that shape.
func (m Mapping) check(space Dataspace) error {
	bad := func(what string) error {
		return fmt.Errorf("%w: mapping of %q %q: %s", ErrParam, m.File, m.Dataset, what)
	}
	if m.File == "" || m.Dataset == "" || hasNUL(m.File) || hasNUL(m.Dataset) {
		return bad("no file or dataset")
	}
	if err := m.Source.check(); err != nil {
		return err
	}
	count, open, err := mappedElems(m.Region, space)
	if err != nil {
		return err
	}
	sourceCount, sourceOpen := count, false
	if !m.wholeSource() {
		if sourceCount, sourceOpen, err = mappedElems(m.SourceRegion, m.Source); err != nil {
			return err
		}
	}
	pattern := strings.Contains(strings.ReplaceAll(m.File+"\x00"+m.Dataset, "%%", ""), "%b")
	switch {
	case open && !sourceOpen && !pattern:
		return bad("unlimited, but not its source, nor is there a %b")
	case sourceOpen && !open:
		return bad("an unlimited source of a limited region")
	case pattern && !open:
		return bad("%b in a limited mapping")
	case !open && count != sourceCount:
		return fmt.Errorf("%w: mapping of %q %q: %d elements from %d", ErrSize, m.File, m.Dataset, count, sourceCount)
	}
	return nil
}

// mappedElems counts the elements of a mapping's region and reports whether the region is
// unlimited. For an unlimited region, it counts the elements of one block.
func mappedElems(r Region, space Dataspace) (n int64, open bool, err error) {
	if len(r.Start) != len(space.Dims) {
		return 0, false, r.outside(fmt.Sprintf("the shape is %d", space.Dims))
	}
	limited := r
	limited.Count = append([]int64(nil), r.Count...)
	for i, c := range limited.Count {
		if c != Unlimited {
			continue
		}
		if open || i >= len(space.maxDims()) || space.maxDims()[i] != Unlimited {
			return 0, false, r.outside("unlimited along an axis that is not, or along two")
		}
		open, limited.Count[i] = true, 1
	}
	words, n, err := limited.words(nil)
	if err != nil {
		return 0, false, err
	}
	rank := len(r.Start)
	for i := range rank {
		start, count, stride, block := words[i], words[rank+i], words[2*rank+i], words[3*rank+i]
		if r.Count[i] == Unlimited {
			continue
		}
		// words has checked that (count-1)*stride+block does not overflow.
		if top := max(space.Dims[i], space.maxDims()[i]); count > 0 && space.maxDims()[i] != Unlimited && (count-1)*stride+block > top-start {
			return 0, false, r.outside(fmt.Sprintf("the shape is %d", space.Dims))
		}
	}
	return n, open, nil
}

// wholeSource reports whether the mapping covers every element of a source of unknown shape.
func (m Mapping) wholeSource() bool { return m.Source.Kind == Scalar && len(m.SourceRegion.Start) == 0 }

func (m Mapping) append(b []byte) []byte {
	if m.wholeSource() { // a new dataspace selects all elements; its shape is not stored
		if n := m.Region.NumElems(); n >= 0 {
			m.Source = SimpleSpace(n)
		}
	}
	b = appendText(appendText(b, m.File), m.Dataset)
	return m.SourceRegion.append(m.Source.append(m.Region.append(b)))
}

// append encodes start, count, stride and block. Unlimited has the value of libhdf5's
// H5S_UNLIMITED.
func (r Region) append(b []byte) []byte {
	b = appendInt(b, int64(len(r.Start)))
	for _, v := range [][]int64{r.Start, r.Count} {
		for _, n := range v {
			b = appendInt(b, n)
		}
	}
	for _, v := range [][]int64{r.Stride, r.Block} {
		for i := range r.Start {
			n := int64(1)
			if v != nil {
				n = v[i]
			}
			b = appendInt(b, n)
		}
	}
	return b
}

// region decodes a region encoded by put_selection, and whether it is a hyperslab.
func (r *reader) region() (Region, bool) {
	regular, rank := r.bool(), r.word()
	return Region{Start: r.ints(rank), Count: r.ints(rank), Stride: r.ints(rank), Block: r.ints(rank)}, regular
}

func (r *reader) mapping() Mapping {
	m := Mapping{File: r.text(), Dataset: r.text()}
	var a, b bool
	m.Region, a = r.region()
	m.Source = r.dataspace()
	m.SourceRegion, b = r.region()
	m.Irregular = !a || !b
	return m
}

// validateStorage rejects options that exclude each other.
func (o DatasetOptions) validateStorage(dt Datatype, space Dataspace) error {
	var errs []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s", ErrParam, fmt.Sprintf(format, a...)))
		}
	}
	check(o.Alloc >= AllocDefault && o.Alloc <= AllocIncremental, "allocation time %d", o.Alloc)
	check(o.FillTime >= FillIfSet && o.FillTime <= FillNever, "fill time %d", o.FillTime)
	check(!o.NoFill || o.Fill == nil && !o.hasFillValues(), "a fill value together with NoFill")
	check(!o.NoFill || o.FillTime != FillOnAlloc, "no fill value, to be written")
	check(!o.PlainEdges || o.ChunkShape != nil, "plain edges without chunks")
	check(o.AttributeOrder >= NoCreationOrder && o.AttributeOrder <= IndexedCreationOrder, "creation order %d", o.AttributeOrder)
	check(!o.Compact || o.Alloc <= AllocEarly, "a compact dataset is allocated early")
	check(o.Alloc != AllocIncremental || o.ChunkShape != nil || o.Mappings != nil, "incremental allocation without chunks")
	kinds := 0
	for _, is := range []bool{o.Compact, o.ChunkShape != nil, o.External != nil, o.Mappings != nil} {
		if is {
			kinds++
		}
	}
	check(kinds <= 1, "compact, chunked, external and virtual exclude each other")
	errs = append(errs, o.AttributePhase.check("attributes"))
	if o.Access != nil {
		errs = append(errs, o.Access.validate())
	}
	if len(o.External) > 0 {
		for i, top := range space.maxDims() {
			check(i == 0 || top == space.Dims[i], "external files: only the first dimension may grow")
		}
		errs = append(errs, checkExternal(o.External, dt, space))
	}
	for _, m := range o.Mappings {
		errs = append(errs, m.check(space))
	}
	return errors.Join(errs...)
}

// appendStorage encodes the options that follow the dataspace.
func (o DatasetOptions) appendStorage(b []byte) []byte {
	b = appendBool(b, o.NoFill)
	b = appendInt(b, []int64{C.H5D_FILL_TIME_IFSET, C.H5D_FILL_TIME_ALLOC, C.H5D_FILL_TIME_NEVER}[o.FillTime])
	b = appendInt(b, int64(o.Alloc))
	b = appendBool(appendBool(b, o.PlainEdges), o.Times)
	b = appendInt(b, int64(o.AttributeOrder.flags()))
	phase := PhaseChange{MaxCompact: 8, MinDense: 6}
	if o.AttributePhase != nil {
		phase = *o.AttributePhase
	}
	b = appendBool(phase.append(b), o.Minimize)
	b = appendInt(b, int64(len(o.External)))
	for _, f := range o.External {
		b = appendInt(appendInt(appendText(b, f.Name), f.Offset), f.Size)
	}
	b = appendBool(b, o.Mappings != nil)
	b = appendInt(b, int64(len(o.Mappings)))
	for _, m := range o.Mappings {
		b = m.append(b)
	}
	return o.Access.append(b)
}

// storage decodes the properties encoded by put_storage.
func (r *reader) storage(info *DatasetInfo) {
	info.Index = ChunkIndex(r.int())
	switch r.int() {
	case C.H5D_FILL_TIME_ALLOC:
		info.FillTime = FillOnAlloc
	case C.H5D_FILL_TIME_NEVER:
		info.FillTime = FillNever
	}
	info.Alloc = AllocTime(r.int())
	info.PlainEdges, info.Times = r.bool(), r.bool()
	info.AttributeOrder = creationOrder(C.uint64_t(r.word()))
	info.AttributePhase = r.phaseChange()
	info.FiltersAvailable = r.bool()
	info.CacheBytes = r.int()
	n := mul(product(info.ChunkShape), int64(info.Datatype.Size))
	info.Uncached = info.ChunkShape != nil && (n < 0 || n > info.CacheBytes)
	for range r.word() {
		f := ExternalFile{Name: r.text(), Offset: r.int(), Size: r.int()}
		info.External = append(info.External, f)
	}
	for range r.word() {
		info.Mappings = append(info.Mappings, r.mapping())
	}
	if info.CacheBytes < 0 {
		info.CacheBytes = math.MaxInt64
	}
}
