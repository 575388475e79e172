// How a file is reached: driver, locks, caches, blocks. Nothing of it is stored.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
)

// FileAccess says how a file is reached (H5P_FILE_ACCESS). A nil *FileAccess means
// DefaultFileAccess(); a non-nil one is taken literally, zero fields included.
type FileAccess struct {
	Driver  Driver // nil: Sec2
	Locking Locking

	Align          Alignment
	MetaBlock      int64 // bytes of the blocks that metadata is gathered in; 2048
	SmallDataBlock int64 // bytes of the blocks that small contiguous data is gathered in; 2048
	SieveBuffer    int64 // bytes read and written around small parts of contiguous data; 64 KiB

	ChunkCache   ChunkCache // of each dataset that does not say otherwise
	PageBuffer   PageBuffer // for files of strategy Paged
	CollectRefs  bool       // free global heap objects that region references of the oldest kind no longer use
	RelaxChecks  bool       // open files with number types that the library refuses as corrupt
	EvictOnClose bool       // drop an object's metadata from memory when it is closed

	ReadAttempts  int  // reads of metadata whose checksum is wrong; 0: 1, and 100 for SWMR readers
	ExternalFiles int  // files reached by external links that stay open; 0
	CacheImage    bool // write the metadata cache into the file when it is closed, and load it when opened

	MetadataCache *MetadataCache // nil: the library's own
	CacheLog      *CacheLog      // nil: none
}

// Locking says whether a file is locked against other processes
// (H5Pset_file_locking). The environment's HDF5_USE_FILE_LOCKING goes before it.
type Locking int

// The policies.
const (
	LockIfPossible Locking = iota // and open read-only files without a lock where the file system refuses locks
	LockAlways                    // or fail with ErrLocked
	LockNever
)

// Alignment puts objects of at least Threshold bytes at multiples of Bytes
// (H5Pset_alignment).
type Alignment struct{ Threshold, Bytes int64 }

// ChunkCache is what a dataset keeps of decoded chunks (H5Pset_chunk_cache,
// H5Pset_cache). A chunk larger than Bytes is not kept: every access to a part of
// it reads and decodes it anew, which DatasetInfo.Uncached tells.
type ChunkCache struct {
	Slots   int     // of the hash table; a prime of about 100 times the chunks that fit
	Bytes   int64   // decoded
	Preempt float64 // 0 to 1: how much sooner fully read or written chunks go
}

// PageBuffer keeps pages of the file in memory (H5Pset_page_buffer_size).
type PageBuffer struct {
	Bytes            int64 // at least one page; 0: none
	MinMeta, MinData int   // percent that metadata and elements keep
}

// MetadataCache sets up the cache of metadata (H5AC_cache_config_t), bytes where
// not said otherwise.
type MetadataCache struct {
	Evictions                     bool // false: only with both modes off
	SetInitial                    bool
	Initial                       int64
	MinCleanFraction              float64
	Max, Min                      int64
	EpochLength                   int64 // accesses
	GrowMode                      int   // H5C_incr__…: 0 off, 1 by threshold
	LowerHitRate, Growth          float64
	LimitGrowth                   bool
	MaxGrowth                     int64
	FlashMode                     int // H5C_flash_incr__…: 0 off, 1 add space
	FlashMultiple, FlashThreshold float64
	ShrinkMode                    int // H5C_decr__…: 0 off, 1 threshold, 2 age out, 3 both
	UpperHitRate, Shrink          float64
	LimitShrink                   bool
	MaxShrink                     int64
	EpochsBeforeEviction          int
	KeepReserve                   bool
	Reserve                       float64
	DirtyBytesThreshold           int64 // of parallel HDF5, which this is not
}

// CacheLog writes what the metadata cache does to a file (H5Pset_mdc_log_options).
type CacheLog struct {
	Path  string
	Start bool // at once; else at StartCacheLog
}

// DefaultFileAccess is what the library does by itself.
func DefaultFileAccess() FileAccess {
	return FileAccess{
		Align:     Alignment{1, 1},
		MetaBlock: 2048, SmallDataBlock: 2048, SieveBuffer: 64 << 10,
		ChunkCache: DefaultChunkCache(),
	}
}

// Validate reports every field that cannot be; each error wraps ErrParam.
func (a FileAccess) Validate() error {
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

// append encodes the list as goh5_fapl_get reads it, with the formats and the
// image of a file in memory, which are not the caller's to put there.
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

// DefaultChunkCache returns libhdf5's default cache of a dataset, 8 MiB
// (H5D_CHUNK_CACHE_…).
func DefaultChunkCache() ChunkCache {
	return ChunkCache{Slots: 8191, Bytes: 8 << 20, Preempt: 0.75}
}

// Access says how the file was opened, and the formats that objects in it may use
// (H5Fget_access_plist and the H5Pget_… of a file access list). What is read back
// of ReadAttempts and MetadataCache is what holds, never 0 and nil.
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

// What goh5_file_ask can be asked.
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
