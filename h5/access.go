// File access options: driver, locking, caches and block sizes. libhdf5 stores none of them in the
// file.

package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime"
)

// FileAccess contains the options for opening or creating a file (H5P_FILE_ACCESS). A nil
// *FileAccess means DefaultFileAccess(). In a non-nil one, 0 means the default for Align.Bytes, the
// fields of a Direct and a Multi, and some fields of MetadataCache. The other fields are used as
// they are, so FileAccess{} has no chunk cache and no sieve buffer.
type FileAccess struct {
	Driver  Driver // nil: Sec2
	Locking Locking

	Align          Alignment
	MetaBlock      int64 // bytes; size of the blocks that metadata is collected in; default 2048
	SmallDataBlock int64 // bytes; size of the blocks for small contiguous data; default 2048
	SieveBuffer    int64 // bytes; buffer for partial access to contiguous data; default 64 KiB

	ChunkCache   ChunkCache // default for datasets without a chunk cache in their access options
	PageBuffer   PageBuffer // only for files with strategy Paged
	CollectRefs  bool       // free unused heap objects of region references of the oldest kind
	RelaxChecks  bool       // open files with number types that libhdf5 rejects as corrupt
	EvictOnClose bool       // drop an object's metadata from memory when the object is closed

	ReadAttempts  int  // attempts to read metadata with a wrong checksum; 0: 1, SWMR: 100
	ExternalFiles int  // maximum number of external-link target files kept open; default 0
	CacheImage    bool // write the metadata cache into the file on close, and load it on open

	MetadataCache *MetadataCache // nil: libhdf5's default
	CacheLog      *CacheLog      // nil: no log
}

// Locking is the policy for locking a file against other processes (H5Pset_file_locking). The
// environment variable HDF5_USE_FILE_LOCKING takes precedence if it is set.
type Locking int

// Locking policies.
const (
	LockIfPossible Locking = iota // lock, but ignore file systems that cannot lock
	LockAlways                    // or fail with ErrLocked
	LockNever
)

// Alignment places objects of at least Threshold bytes at multiples of Bytes (H5Pset_alignment).
// Bytes 0 means 1.
type Alignment struct{ Threshold, Bytes int64 }

// ChunkCache configures a dataset's cache of decoded chunks (H5Pset_chunk_cache, H5Pset_cache).
// libhdf5 does not cache a chunk larger than Bytes: every access to a part of such a chunk reads
// and decodes it again. DatasetInfo.Uncached reports this case.
type ChunkCache struct {
	Slots   int     // of the hash table; should be a prime of about 100 times the chunks that fit
	Bytes   int64   // maximum size of the decoded chunks
	Preempt float64 // 0 to 1: preference for evicting fully read or written chunks
}

// PageBuffer configures the cache of file pages (H5Pset_page_buffer_size).
type PageBuffer struct {
	Bytes            int64 // at least one page; 0: no page buffer
	MinMeta, MinData int   // percent of Bytes reserved for metadata and for elements
}

// MetadataCache configures the metadata cache (H5AC_cache_config_t). Sizes are in bytes unless a
// field has another unit. 0 means libhdf5's default for the fields with a default in their comment,
// because libhdf5 rejects 0 for them. MetadataCache{} is a cache of fixed size without evictions.
type MetadataCache struct {
	Evictions                     bool // must be true unless automatic resizing is off
	SetInitial                    bool
	Initial                       int64
	MinCleanFraction              float64
	Max, Min                      int64 // 0: 32 MiB and 1 MiB
	EpochLength                   int64 // accesses; 0: 50,000
	GrowMode                      int   // H5C_incr__…: 0 off, 1 by threshold
	LowerHitRate                  float64
	Growth                        float64 // factor; 0: 2
	LimitGrowth                   bool
	MaxGrowth                     int64
	FlashMode                     int     // H5C_flash_incr__…: 0 off, 1 add space
	FlashMultiple, FlashThreshold float64 // 0: 1 and 0.25
	ShrinkMode                    int     // H5C_decr__…: 0 off, 1 threshold, 2 age out, 3 both
	UpperHitRate, Shrink          float64
	LimitShrink                   bool
	MaxShrink                     int64
	EpochsBeforeEviction          int // 0: 3
	KeepReserve                   bool
	Reserve                       float64
	DirtyBytesThreshold           int64 // only for parallel HDF5, which is not supported; 0: 256 KiB
}

// CacheLog logs the operations of the metadata cache to a file (H5Pset_mdc_log_options).
type CacheLog struct {
	Path  string
	Start bool // start at once; otherwise StartCacheLog starts the log
}

// DefaultFileAccess returns libhdf5's defaults.
func DefaultFileAccess() FileAccess {
	return FileAccess{
		Align:     Alignment{1, 1},
		MetaBlock: 2048, SmallDataBlock: 2048, SieveBuffer: 64 << 10,
		ChunkCache: DefaultChunkCache(),
	}
}

// filled returns a copy of a with the defaults, and DefaultFileAccess() for nil.
func (a *FileAccess) filled() FileAccess {
	if a == nil {
		return DefaultFileAccess()
	}
	f := *a
	f.Align.Bytes = cmp.Or(a.Align.Bytes, 1)
	switch d := a.Driver.(type) {
	case Direct:
		f.Driver = d.filled()
	case Multi:
		f.Driver = d.filled()
	}
	if a.MetadataCache != nil {
		c := a.MetadataCache.filled()
		f.MetadataCache = &c
	}
	return f
}

// filled returns c with libhdf5's defaults (H5AC__DEFAULT_CACHE_CONFIG) for the fields that must
// not be 0.
func (c MetadataCache) filled() MetadataCache {
	c.Max, c.Min, c.EpochLength = cmp.Or(c.Max, 32<<20), cmp.Or(c.Min, 1<<20), cmp.Or(c.EpochLength, 50_000)
	c.Growth, c.FlashMultiple, c.FlashThreshold = cmp.Or(c.Growth, 2), cmp.Or(c.FlashMultiple, 1), cmp.Or(c.FlashThreshold, 0.25)
	c.EpochsBeforeEviction, c.DirtyBytesThreshold = cmp.Or(c.EpochsBeforeEviction, 3), cmp.Or(c.DirtyBytesThreshold, 256<<10)
	return c
}

// validate reports every invalid field. Each error wraps ErrParam.
func (a FileAccess) validate() error {
	a = a.filled()
	var errs []error
	check := func(ok bool, field string, v any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s = %+v", ErrParam, field, v))
		}
	}
	if a.Driver != nil {
		errs = append(errs, a.Driver.validate())
	}
	check(a.Locking >= LockIfPossible && a.Locking <= LockNever, "Locking", a.Locking)
	check(a.Align.Threshold >= 0 && a.Align.Bytes >= 1, "Align", a.Align)
	check(a.MetaBlock >= 0, "MetaBlock", a.MetaBlock)
	check(a.SmallDataBlock >= 0, "SmallDataBlock", a.SmallDataBlock)
	check(a.SieveBuffer >= 0, "SieveBuffer", a.SieveBuffer)
	check(a.ChunkCache.valid(), "ChunkCache", a.ChunkCache)
	p := a.PageBuffer
	check(p.Bytes >= 0 && p.MinMeta >= 0 && p.MinData >= 0 && p.MinMeta+p.MinData <= 100, "PageBuffer", p)
	check(a.ReadAttempts >= 0 && a.ReadAttempts <= math.MaxInt32, "ReadAttempts", a.ReadAttempts)
	check(a.ExternalFiles >= 0 && a.ExternalFiles <= math.MaxInt32, "ExternalFiles", a.ExternalFiles)
	check(a.CacheLog == nil || a.CacheLog.Path != "" && !hasNUL(a.CacheLog.Path), "CacheLog", a.CacheLog)
	return errors.Join(errs...)
}

func (c ChunkCache) valid() bool {
	return c.Slots >= 0 && c.Bytes >= 0 && c.Preempt >= 0 && c.Preempt <= 1
}

func appendFloat(b []byte, f float64) []byte { return appendWord(b, math.Float64bits(f)) }
func (r *reader) float() float64             { return math.Float64frombits(r.word()) }

func (c ChunkCache) append(b []byte) []byte {
	return appendFloat(appendInt(appendInt(b, int64(c.Slots)), c.Bytes), c.Preempt)
}

func (r *reader) chunkCache() ChunkCache {
	return ChunkCache{Slots: int(r.int()), Bytes: r.int(), Preempt: r.float()}
}

// append encodes the access list in the order in which goh5_fapl_get reads it. The version bounds
// and the image of an in-memory file are arguments because FileAccess has no fields for them.
func (a FileAccess) append(b []byte, low, high LibVer, image []byte) []byte {
	d := a.Driver
	if d == nil {
		d = Sec2{}
	}
	b = d.append(b)
	b = appendInt(appendInt(b, int64(low.number())), int64(high.number()))
	b = appendBool(appendBool(b, a.Locking != LockNever), a.Locking != LockAlways)
	b = appendInt(appendInt(b, a.Align.Threshold), a.Align.Bytes)
	b = appendInt(appendInt(appendInt(b, a.MetaBlock), a.SmallDataBlock), a.SieveBuffer)
	b = a.ChunkCache.append(b)
	b = appendInt(appendInt(appendInt(b, a.PageBuffer.Bytes), int64(a.PageBuffer.MinMeta)), int64(a.PageBuffer.MinData))
	b = appendBool(appendBool(appendBool(b, a.CollectRefs), a.RelaxChecks), a.EvictOnClose)
	b = appendInt(appendInt(b, int64(a.ReadAttempts)), int64(a.ExternalFiles))
	b = appendBool(b, a.CacheImage)
	log := a.CacheLog
	b = appendBool(b, log != nil)
	if log == nil {
		log = &CacheLog{}
	}
	b = appendBool(appendText(b, log.Path), log.Start)
	b = appendBool(b, a.MetadataCache != nil)
	if a.MetadataCache != nil {
		b = a.MetadataCache.append(b)
	}
	b = appendBool(b, image != nil)
	return appendBytes(b, image)
}

func (r *reader) fileAccess() (FileAccess, LibVer, LibVer) {
	a := FileAccess{Driver: r.driver()}
	low, high := LibVer(r.int()), LibVer(r.int())
	use, ignore := r.bool(), r.bool()
	switch {
	case !use:
		a.Locking = LockNever
	case !ignore:
		a.Locking = LockAlways
	}
	a.Align = Alignment{r.int(), r.int()}
	a.MetaBlock, a.SmallDataBlock, a.SieveBuffer = r.int(), r.int(), r.int()
	a.ChunkCache = r.chunkCache()
	a.PageBuffer = PageBuffer{r.int(), int(r.int()), int(r.int())}
	a.CollectRefs, a.RelaxChecks = r.bool(), r.bool()
	a.ReadAttempts, a.ExternalFiles = int(r.int()), int(r.int())
	a.CacheImage = r.bool()
	c := r.metadataCache()
	a.MetadataCache = &c
	return a, low, high
}

func (c MetadataCache) append(b []byte) []byte {
	b = appendBool(appendBool(b, c.Evictions), c.SetInitial)
	b = appendFloat(appendInt(b, c.Initial), c.MinCleanFraction)
	b = appendInt(appendInt(appendInt(b, c.Max), c.Min), c.EpochLength)
	b = appendFloat(appendFloat(appendInt(b, int64(c.GrowMode)), c.LowerHitRate), c.Growth)
	b = appendInt(appendBool(b, c.LimitGrowth), c.MaxGrowth)
	b = appendFloat(appendFloat(appendInt(b, int64(c.FlashMode)), c.FlashMultiple), c.FlashThreshold)
	b = appendFloat(appendFloat(appendInt(b, int64(c.ShrinkMode)), c.UpperHitRate), c.Shrink)
	b = appendInt(appendBool(b, c.LimitShrink), c.MaxShrink)
	b = appendInt(b, int64(c.EpochsBeforeEviction))
	b = appendFloat(appendBool(b, c.KeepReserve), c.Reserve)
	return appendInt(b, c.DirtyBytesThreshold)
}

func (r *reader) metadataCache() MetadataCache {
	return MetadataCache{
		Evictions: r.bool(), SetInitial: r.bool(), Initial: r.int(), MinCleanFraction: r.float(),
		Max: r.int(), Min: r.int(), EpochLength: r.int(), GrowMode: int(r.int()), LowerHitRate: r.float(), Growth: r.float(),
		LimitGrowth: r.bool(), MaxGrowth: r.int(), FlashMode: int(r.int()), FlashMultiple: r.float(), FlashThreshold: r.float(),
		ShrinkMode: int(r.int()), UpperHitRate: r.float(), Shrink: r.float(), LimitShrink: r.bool(), MaxShrink: r.int(),
		EpochsBeforeEviction: int(r.int()), KeepReserve: r.bool(), Reserve: r.float(), DirtyBytesThreshold: r.int(),
	}
}

// DefaultChunkCache returns libhdf5's default chunk cache for a dataset: 8 MiB (H5D_CHUNK_CACHE_…).
func DefaultChunkCache() ChunkCache {
	return ChunkCache{Slots: 8191, Bytes: 8 << 20, Preempt: 0.75}
}

// Access returns the access options of the open file and the bounds of the formats that new objects
// may use (H5Fget_access_plist and the H5Pget_… functions for file access lists). ReadAttempts and
// MetadataCache contain the values in effect, so they are never 0 and nil.
func (f *File) Access() (a FileAccess, low, high LibVer, err error) {
	const op = "describe access"
	r, err := f.ask(op, askAccess)
	if err != nil {
		return a, 0, 0, err
	}
	a, low, high = r.fileAccess()
	a.EvictOnClose, a.CacheLog = f.evict, f.log
	return a, low, high, nil
}

// Queries of goh5_file_ask.
const (
	askAccess = iota
	askCreation
	askFacts
	askImage
	askCache
	askSections
	askPages
	askRetries
)

func (f *File) ask(op string, what C.int32_t) (*reader, error) {
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var blob C.goh5_blob_t
	rc := C.goh5_file_ask(&cerr, id, what, &blob)
	runtime.KeepAlive(f)
	if rc < 0 {
		return nil, newError(op, f.path, rc, &cerr)
	}
	return takeBlob(&blob), nil
}
