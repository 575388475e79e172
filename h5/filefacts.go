// Properties of an open file, and operations that change them.

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
	SuperblockBytes  int64 // size of the superblock
	ExtensionBytes   int64 // size of the superblock extension; 0 if there is no extension
	FreeSpaceVersion int
	FreeSpaceMeta    int64 // bytes of the free-space managers stored in the file
	FreeSpaceStored  int64 // bytes of free space recorded in the file
	SharedVersion    int
	SharedHeader     int64 // bytes of the shared message table
	SharedIndex      int64 // bytes of the shared message indexes
	SharedHeap       int64 // bytes of the shared message heaps

	Size      int64  // file size in bytes (H5Fget_filesize)
	End       uint64 // address of the end of allocation, or NoAddress if the driver does not support SWMR (H5Fget_eoa)
	Free      int64  // bytes of free space inside the file (H5Fget_freespace)
	ReadWrite bool
	SWMR      bool
	Number    uint64 // file number, the same for every opening of one file

	// Numbers of open ids of the file: the file itself, groups, datasets, committed datatypes,
	// attributes (H5Fget_obj_count).
	OpenFiles, OpenGroups, OpenDatasets, OpenDatatypes, OpenAttributes int

	Minimized       bool   // object headers of new datasets reserve no space for attributes
	CacheLogging    bool   // the log of the metadata cache is active
	CacheImage      uint64 // address of the stored metadata cache image, or NoAddress
	CacheImageBytes int64
}

// Facts returns the current properties of the file (H5Fget_info2, H5Fget_filesize, H5Fget_eoa,
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

// Size returns the file size in bytes (H5Fget_filesize).
func (f *File) Size() (int64, error) {
	facts, err := f.Facts()
	return facts.Size, err
}

// Section is a block of free space.
type Section struct {
	Address uint64
	Bytes   int64
}

// FreeSections returns the blocks of free space inside the file, sorted by address
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

// CacheState describes the metadata cache. Sizes are in bytes.
type CacheState struct {
	Config        MetadataCache
	Max, MinClean int64
	Now           int64
	Entries       int
	HitRate       float64 // 0 to 1, since the file was opened or since ResetCacheStats
}

// CacheState returns the state of the metadata cache (H5Fget_mdc_config, H5Fget_mdc_size,
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

// SetMetadataCache changes the configuration of the metadata cache (H5Fset_mdc_config). libhdf5
// returns an error for invalid values.
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

// PageCounts are the counters of the page buffer. Index 0 is for metadata, index 1 for elements.
type PageCounts struct{ Accesses, Hits, Misses, Evictions, Bypasses [2]int }

// PageCounts returns the counters of the page buffer (H5Fget_page_buffering_stats). It returns a
// libhdf5 error if the file has no page buffer.
func (f *File) PageCounts() (PageCounts, error) {
	r, err := f.ask("describe page buffer", askPages)
	if err != nil {
		return PageCounts{}, err
	}
	pair := func() [2]int { return [2]int{int(r.int()), int(r.int())} }
	return PageCounts{Accesses: pair(), Hits: pair(), Misses: pair(), Evictions: pair(), Bypasses: pair()}, nil
}

// ReadRetries returns how often libhdf5 read metadata again because of a wrong checksum
// (H5Fget_metadata_read_retry_info). This happens to a reader while another process writes.
func (f *File) ReadRetries() (int, error) {
	r, err := f.ask("count retries", askRetries)
	if err != nil {
		return 0, err
	}
	return int(r.int()), nil
}

// Operations of goh5_file_do.
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

// StartSWMR allows other processes to open the file for SWMR reading from now on
// (H5Fstart_swmr_write). The file must have a format of V110 or later, and only datasets and groups
// may be open in it.
func (f *File) StartSWMR() error {
	const op = "start SWMR"
	if err := f.writable(op); err != nil {
		return err
	}
	return f.do(op, doSWMR, 0, 0)
}

// SetFormats changes the bounds of the format of new objects (H5Fset_libver_bounds).
func (f *File) SetFormats(low, high LibVer) error {
	const op = "set formats"
	if err := checkBounds(low, high); err != nil {
		return &Error{Op: op, Path: f.path, Err: err}
	}
	return f.do(op, doBounds, int64(low.number()), int64(high.number()))
}

// CloseExternal closes the files that libhdf5 keeps open for external links
// (H5Fclear_elink_file_cache).
func (f *File) CloseExternal() error { return f.do("close external files", doClearLinks, 0, 0) }

// Grow appends n unused bytes to the file (H5Fincrement_filesize).
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

// ResetCacheStats resets the counters of CacheState.HitRate (H5Freset_mdc_hit_rate_stats).
func (f *File) ResetCacheStats() error { return f.do("reset cache counts", doResetCache, 0, 0) }

// ResetPageCounts resets the counters of PageCounts (H5Freset_page_buffering_stats).
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

// Minimize sets whether object headers of new datasets are minimal: they then reserve no space for
// attributes (H5Fset_dset_no_attrs_hint).
func (f *File) Minimize(on bool) error {
	a := int64(0)
	if on {
		a = 1
	}
	return f.do("minimize headers", doMinimize, a, 0)
}

// writable returns ErrReadOnly if the file was opened for reading.
func (f *File) writable(op string) error {
	if f.mode == ReadOnly {
		return &Error{Op: op, Path: f.path, Err: ErrReadOnly}
	}
	return nil
}

// Reopen opens the file once more (H5Freopen). Closing one of the two Files closes only the objects
// opened through it.
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
	g := &File{h: newHandleLocked(newIDSet(again, f.h.ids.fd), again), path: f.path, mode: f.mode, evict: f.evict, log: f.log}
	if file, ok := lockless[f.h.ids]; ok {
		lockless[g.h.ids] = file
		g.unlocked = file.why
	}
	if info, ok := writers[f.h.ids]; ok {
		writers[g.h.ids] = info
	}
	return g, nil
}

// Delete removes a closed file with all its members (H5Fdelete). A nil access means
// DefaultFileAccess().
func Delete(path string, a *FileAccess) error {
	const op = "delete file"
	if a != nil {
		if err := a.validate(); err != nil {
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
	defer delayStartsLocked(a)()
	var cerr C.goh5_err_t
	if rc := C.goh5_fdelete(&cerr, cPath, cBytes(spec), C.size_t(len(spec))); rc < 0 {
		return newError(op, path, rc, &cerr)
	}
	return nil
}

// Mount replaces the group called name by the root group of another open file (H5Fmount), until
// Unmount or until either file is closed.
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

// Unmount removes the file that Mount put at name (H5Funmount).
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
