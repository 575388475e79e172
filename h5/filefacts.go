// What a file says about itself while it is open, and what can be changed then.

package h5

// #include "shim.h"
import "C"

import (
	"fmt"
	"runtime"
)

// FileFacts describes an open file.
type FileFacts struct {
	Superblock       int   // version of the superblock, 0 to 3
	SuperblockBytes  int64 // of the superblock
	ExtensionBytes   int64 // of its extension, 0 if none
	FreeSpaceVersion int
	FreeSpaceMeta    int64 // bytes that keep account of the free space in the file
	FreeSpaceStored  int64 // bytes of free space, as stored
	SharedVersion    int
	SharedHeader     int64 // bytes of the table of shared messages
	SharedIndex      int64 // bytes of its indexes
	SharedHeap       int64 // bytes of its heaps

	Size      int64  // bytes the file takes (H5Fget_filesize)
	End       uint64 // address of the end of what is allocated, or NoAddress where the driver cannot do SWMR (H5Fget_eoa)
	Free      int64  // bytes free inside the file (H5Fget_freespace)
	ReadWrite bool
	SWMR      bool
	Number    uint64 // the same for every opening of one file

	// Open ids of the file: the file itself, groups, datasets, committed
	// datatypes, attributes (H5Fget_obj_count).
	OpenFiles, OpenGroups, OpenDatasets, OpenDatatypes, OpenAttributes int

	Minimized       bool   // headers of new datasets leave no room for attributes
	CacheLogging    bool   // the metadata cache is being logged
	CacheImage      uint64 // where a stored image of the metadata cache is, or NoAddress
	CacheImageBytes int64
}

// Facts describes the file as it is now (H5Fget_info2, H5Fget_filesize, H5Fget_eoa,
// H5Fget_freespace, H5Fget_intent, H5Fget_fileno, H5Fget_obj_count).
func (f *File) Facts() (FileFacts, error) {
	r, err := f.ask("describe file", askFacts)
	if err != nil {
		return FileFacts{}, err
	}
	return FileFacts{
		Superblock: int(r.int()), SuperblockBytes: r.int(), ExtensionBytes: r.int(),
		FreeSpaceVersion: int(r.int()), FreeSpaceMeta: r.int(), FreeSpaceStored: r.int(),
		SharedVersion: int(r.int()), SharedHeader: r.int(), SharedIndex: r.int(), SharedHeap: r.int(),
		Size: r.int(), End: r.word(), Free: r.int(), ReadWrite: r.bool(), SWMR: r.bool(), Number: r.word(),
		OpenFiles: int(r.int()), OpenGroups: int(r.int()), OpenDatasets: int(r.int()), OpenDatatypes: int(r.int()),
		OpenAttributes: int(r.int()), Minimized: r.bool(), CacheLogging: r.bool(),
		CacheImage: r.word(), CacheImageBytes: r.int(),
	}, nil
}

// Size is the number of bytes the file takes (H5Fget_filesize).
func (f *File) Size() (int64, error) {
	facts, err := f.Facts()
	return facts.Size, err
}

// Section is a piece of free space.
type Section struct {
	Address uint64
	Bytes   int64
}

// FreeSections are the pieces of free space inside the file, by address
// (H5Fget_free_sections).
func (f *File) FreeSections() ([]Section, error) {
	r, err := f.ask("list free space", askSections)
	if err != nil {
		return nil, err
	}
	sections := make([]Section, r.word())
	for i := range sections {
		sections[i] = Section{Address: r.word(), Bytes: r.int()}
	}
	return sections, nil
}

// CacheState says how the metadata cache is doing, in bytes.
type CacheState struct {
	Config        MetadataCache
	Max, MinClean int64
	Now           int64
	Entries       int
	HitRate       float64 // 0 to 1, since the file was opened or ResetCacheStats
}

// CacheState looks at the metadata cache (H5Fget_mdc_config, H5Fget_mdc_size,
// H5Fget_mdc_hit_rate).
func (f *File) CacheState() (CacheState, error) {
	r, err := f.ask("describe cache", askCache)
	if err != nil {
		return CacheState{}, err
	}
	return CacheState{
		Config: r.metadataCache(), Max: r.int(), MinClean: r.int(), Now: r.int(), Entries: int(r.int()), HitRate: r.float(),
	}, nil
}

// SetMetadataCache changes the metadata cache (H5Fset_mdc_config). The library
// says which values cannot be.
func (f *File) SetMetadataCache(c MetadataCache) error {
	const op = "set up cache"
	spec := c.append(nil)
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_fset_mdc(&cerr, id, cBytes(spec), C.size_t(len(spec)))
	runtime.KeepAlive(f)
	if rc < 0 {
		return newError(op, f.path, rc, &cerr)
	}
	return nil
}

// PageCounts says what the page buffer did for metadata and for elements.
type PageCounts struct{ Accesses, Hits, Misses, Evictions, Bypasses [2]int }

// PageCounts looks at the page buffer (H5Fget_page_buffering_stats); a file without
// one is an error of the library.
func (f *File) PageCounts() (PageCounts, error) {
	r, err := f.ask("describe page buffer", askPages)
	if err != nil {
		return PageCounts{}, err
	}
	pair := func() [2]int { return [2]int{int(r.int()), int(r.int())} }
	return PageCounts{Accesses: pair(), Hits: pair(), Misses: pair(), Evictions: pair(), Bypasses: pair()}, nil
}

// ReadRetries is how often metadata had to be read again because its checksum was
// wrong (H5Fget_metadata_read_retry_info), as a reader beside a writer does.
func (f *File) ReadRetries() (int, error) {
	r, err := f.ask("count retries", askRetries)
	if err != nil {
		return 0, err
	}
	return int(r.int()), nil
}

// What goh5_file_do can do.
const (
	doSWMR = iota
	doBounds
	doClearLinks
	doGrow
	doResetCache
	doLog
	doResetPages
	doMinimize
)

func (f *File) do(op string, what C.int32_t, a, b int64) error {
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_file_do(&cerr, id, what, C.int64_t(a), C.int64_t(b))
	runtime.KeepAlive(f)
	if rc < 0 {
		return newError(op, f.path, rc, &cerr)
	}
	return nil
}

// StartSWMR lets other processes open the file for reading with SWMR from now on
// (H5Fstart_swmr_write). The file must be of a format from V110, and nothing may
// be open in it but datasets and groups.
func (f *File) StartSWMR() error {
	const op = "start SWMR"
	if err := f.writable(op); err != nil {
		return err
	}
	return f.do(op, doSWMR, 0, 0)
}

// SetFormats changes which formats new objects may use (H5Fset_libver_bounds).
func (f *File) SetFormats(low, high LibVer) error {
	const op = "set formats"
	if err := checkBounds(low, high); err != nil {
		return &Error{Op: op, Path: f.path, Err: err}
	}
	return f.do(op, doBounds, int64(low.number()), int64(high.number()))
}

// CloseExternal closes the files that are kept open for external links
// (H5Fclear_elink_file_cache).
func (f *File) CloseExternal() error { return f.do("close external files", doClearLinks, 0, 0) }

// Grow puts n bytes of nothing at the end of the file (H5Fincrement_filesize).
func (f *File) Grow(n int64) error {
	const op = "grow file"
	if n < 0 {
		return &Error{Op: op, Path: f.path, Err: fmt.Errorf("%w: %d bytes", ErrParam, n)}
	}
	if err := f.writable(op); err != nil {
		return err
	}
	return f.do(op, doGrow, n, 0)
}

// ResetCacheStats starts the count of CacheState.HitRate anew
// (H5Freset_mdc_hit_rate_stats).
func (f *File) ResetCacheStats() error { return f.do("reset cache counts", doResetCache, 0, 0) }

// ResetPageCounts starts the counts of PageCounts anew
// (H5Freset_page_buffering_stats).
func (f *File) ResetPageCounts() error { return f.do("reset page counts", doResetPages, 0, 0) }

// LogCache starts or stops the log of FileAccess.CacheLog (H5Fstart_mdc_logging,
// H5Fstop_mdc_logging).
func (f *File) LogCache(on bool) error {
	a := int64(0)
	if on {
		a = 1
	}
	return f.do("log cache", doLog, a, 0)
}

// Minimize makes the headers of new datasets small: no room is left for
// attributes (H5Fset_dset_no_attrs_hint).
func (f *File) Minimize(on bool) error {
	a := int64(0)
	if on {
		a = 1
	}
	return f.do("minimize headers", doMinimize, a, 0)
}

// writable is ErrReadOnly if the file was opened for reading.
func (f *File) writable(op string) error {
	if f.mode == ReadOnly {
		return &Error{Op: op, Path: f.path, Err: ErrReadOnly}
	}
	return nil
}

// Reopen opens the file once more (H5Freopen). Each owner closes what was opened
// through it.
func (f *File) Reopen() (*File, error) {
	const op = "reopen file"
	lock()
	defer unlock()
	id, err := f.h.idLocked(op, f.path)
	if err != nil {
		return nil, err
	}
	var cerr C.goh5_err_t
	var again C.int64_t
	rc := C.goh5_freopen(&cerr, id, &again)
	runtime.KeepAlive(f)
	if rc < 0 {
		return nil, newError(op, f.path, rc, &cerr)
	}
	g := &File{h: newHandleLocked(newIDSet(again), again), path: f.path, mode: f.mode, evict: f.evict, log: f.log}
	if info, ok := writers[f.h.ids]; ok {
		writers[g.h.ids] = info
	}
	return g, nil
}

// Delete removes a file that is closed, all of its members (H5Fdelete). A nil
// access means DefaultFileAccess().
func Delete(path string, a *FileAccess) error {
	const op = "delete file"
	if a != nil {
		if err := a.Validate(); err != nil {
			return &Error{Op: op, Path: path, Err: err}
		}
	}
	if err := checkPath(path, a); err != nil {
		return &Error{Op: op, Path: path, Err: err}
	}
	if err := checkFile(path, a); err != nil {
		return &Error{Op: op, Path: path, Err: err}
	}
	cPath, err := cString(op, path, path)
	if err != nil {
		return err
	}
	spec := access(a, Earliest, LatestFormat, nil)
	lock()
	defer unlock()
	if err := readyLocked(op, path); err != nil {
		return err
	}
	var cerr C.goh5_err_t
	if rc := C.goh5_fdelete(&cerr, cPath, cBytes(spec), C.size_t(len(spec))); rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// Mount puts the root group of another open file in the place of the group called
// name (H5Fmount), until Unmount or until either file is closed.
func (g *Group) Mount(name string, child *File) error {
	const op = "mount"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	childID, err := child.h.idLocked(op, child.path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_fmount(&cerr, loc, cname, childID)
	runtime.KeepAlive(g)
	runtime.KeepAlive(child)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// Unmount takes the file off that Mount put at name (H5Funmount).
func (g *Group) Unmount(name string) error {
	const op = "unmount"
	path := g.join(name)
	cname, _, err := cName(op, path, name)
	if err != nil {
		return err
	}
	lock()
	defer unlock()
	loc, err := g.h.idLocked(op, path)
	if err != nil {
		return err
	}
	var cerr C.goh5_err_t
	rc := C.goh5_funmount(&cerr, loc, cname)
	runtime.KeepAlive(g)
	if rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}
