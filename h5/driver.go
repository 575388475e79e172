// File drivers. A driver stores the bytes of a file in one file on disk, in several files or in
// memory, or reads them with an io.ReaderAt.

package h5

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Driver selects how libhdf5 accesses the bytes of a file. It is one of Sec2, Stdio, Core, Log,
// Family, Split, Multi and Direct. OpenReaderAt uses another, internal driver.
type Driver interface {
	append(b []byte) []byte
	validate() error
}

// Numbers of the drivers in the encoding for the shim.
const (
	driverSec2 = iota
	driverStdio
	driverCore
	driverLog
	driverFamily
	driverSplit
	driverMulti
	driverDirect
	driverReader
	driverOther
)

// Sec2 accesses one file with system calls. It is the default (H5Pset_fapl_sec2).
type Sec2 struct{}

// Stdio accesses one file with C's buffered streams (H5Pset_fapl_stdio).
type Stdio struct{}

// Core stores a file in memory (H5Pset_fapl_core). Opening an existing file reads all of it.
type Core struct {
	Increment int64 // bytes by which the memory grows; 0: 8 KiB
	Backing   bool  // write the memory to the file on flush and on close
	PageSize  int64 // Backing: write only changed pages of this many bytes; 0: write everything
}

// Log is like Sec2, but logs its operations (H5Pset_fapl_log).
type Log struct {
	Path   string // of the log file
	Flags  uint64 // operations to log (H5FD_LOG_…), for example LogAll
	Buffer int64  // number of file bytes with access counters, if Flags enable them
}

// LogAll selects all operations that Log can record (H5FD_LOG_ALL).
const LogAll uint64 = C.H5FD_LOG_ALL

// Family splits a file into members of equal size (H5Pset_fapl_family). The path must contain one
// verb for the member's number, for example "data%05d.h5".
type Family struct {
	MemberSize int64 // bytes; 0 when creating: 100 MiB, when opening: as stored in the first member
}

// defaultMemberSize is the default of libhdf5's family driver.
const defaultMemberSize = 100 << 20

// Split is a Multi with two members, one for elements and one for metadata (H5Pset_fapl_split).
// Access returns it as a Multi.
type Split struct {
	// Meta and Raw are suffixes of the path, or patterns with %s for the path. "" means ".meta" and
	// ".raw".
	Meta, Raw string
}

// MemberType is a kind of data that Multi can store in a separate file (H5FD_mem_t).
type MemberType int

// Kinds of data. OwnMember in Multi.Map means the kind's own member.
const (
	OwnMember MemberType = iota
	Superblock
	BTrees
	RawData
	GlobalHeaps
	LocalHeaps
	ObjectHeaders
)

const memberTypes = 6

// Multi stores each kind of data in a separate file, or several kinds in one file
// (H5Pset_fapl_multi). The arrays are indexed by kind minus one.
//
// The settings stored in the first member of an existing set of files take precedence over these
// fields. An empty name means libhdf5's default, %s-X.h5 with X one of s, b, r, g, l and o for the
// kinds in their order. If Map and Addrs are zero, Addrs means six parts of equal size of the
// address space.
type Multi struct {
	Map   [memberTypes]MemberType // the kind whose member stores this kind
	Names [memberTypes]string     // file name of the member, with %s for the path
	Addrs [memberTypes]uint64     // start of the member in the address space of the whole file
	Relax bool                    // members may be missing when reading
}

// defaultMulti returns libhdf5's default with Relax: one member for each kind.
func defaultMulti() Multi {
	m := Multi{Relax: true}
	for i, letter := range "sbrglo" {
		m.Names[i] = "%s-" + string(letter) + ".h5"
		m.Addrs[i] = uint64(i) * (maxAddress / memberTypes)
	}
	return m
}

func (d Multi) filled() Multi {
	usual := defaultMulti()
	if d.Map == usual.Map && d.Addrs == (Multi{}).Addrs {
		d.Addrs = usual.Addrs
	}
	for i := range d.Names {
		d.Names[i] = cmp.Or(d.Names[i], usual.Names[i])
	}
	return d
}

// maxAddress is HADDR_MAX.
const maxAddress = 1<<64 - 2

// Direct accesses one file without the page cache of the system (H5Pset_fapl_direct). If libhdf5
// was built without this driver, opening returns errors.ErrUnsupported.
type Direct struct {
	Alignment int64 // bytes, a power of two; alignment of addresses and buffers; 0: 4096
	Block     int64 // bytes, a multiple of Alignment; size of a transfer; 0: 4096, or Alignment if it is larger
	Copy      int64 // bytes, a multiple of Block; size of the copy buffer; 0: 16 MiB in whole blocks, at least one
}

func (d Direct) filled() Direct {
	d.Alignment = cmp.Or(d.Alignment, 4096)
	d.Block = cmp.Or(d.Block, max(d.Alignment, 4096))
	if d.Copy == 0 && d.Block > 0 {
		d.Copy = max(16<<20/d.Block, 1) * d.Block
	}
	return d
}

// readerDriver is the driver of OpenReaderAt.
type readerDriver struct {
	id   uint64
	size int64
}

// OtherDriver is a driver of an open file that this package cannot describe: onion, splitter,
// mirror, subfiling, MPI and those of object stores. Selecting it returns an error that is ErrParam
// and errors.ErrUnsupported.
type OtherDriver struct{ Name string }

func (Sec2) append(b []byte) []byte  { return appendInt(b, driverSec2) }
func (Stdio) append(b []byte) []byte { return appendInt(b, driverStdio) }

func (d Core) append(b []byte) []byte {
	b = appendInt(appendInt(b, driverCore), d.Increment)
	return appendInt(appendBool(b, d.Backing), d.PageSize)
}

func (d Log) append(b []byte) []byte {
	b = appendText(appendInt(b, driverLog), d.Path)
	return appendInt(appendWord(b, d.Flags), d.Buffer)
}

func (d Family) append(b []byte) []byte { return appendInt(appendInt(b, driverFamily), d.MemberSize) }

func (d Split) append(b []byte) []byte {
	return appendText(appendText(appendInt(b, driverSplit), d.Meta), d.Raw)
}

func (d Multi) append(b []byte) []byte {
	b = appendInt(b, driverMulti)
	for i := range d.Map {
		b = appendText(appendInt(b, int64(d.Map[i])), d.Names[i])
		b = appendWord(b, d.Addrs[i])
	}
	return appendBool(b, d.Relax)
}

func (d Direct) append(b []byte) []byte {
	return appendInt(appendInt(appendInt(appendInt(b, driverDirect), d.Alignment), d.Block), d.Copy)
}

func (d readerDriver) append(b []byte) []byte {
	return appendInt(appendWord(appendInt(b, driverReader), d.id), d.size)
}

func (d OtherDriver) append(b []byte) []byte { return appendText(appendInt(b, driverOther), d.Name) }

func (Sec2) validate() error         { return nil }
func (Stdio) validate() error        { return nil }
func (readerDriver) validate() error { return nil }

func (d Core) validate() error {
	if d.Increment < 0 || d.PageSize < 0 {
		return fmt.Errorf("%w: %+v", ErrParam, d)
	}
	return nil
}

func (d Log) validate() error {
	if d.Path == "" || hasNUL(d.Path) || d.Flags&^LogAll != 0 || d.Buffer < 0 {
		return fmt.Errorf("%w: %+v", ErrParam, d)
	}
	return nil
}

func (d Family) validate() error {
	if d.MemberSize < 0 {
		return fmt.Errorf("%w: members of %d bytes", ErrParam, d.MemberSize)
	}
	return nil
}

func (d Split) validate() error {
	for _, name := range []string{d.Meta, d.Raw} {
		if err := checkPattern(name, 's', false); err != nil {
			return err
		}
	}
	return nil
}

func (d Multi) validate() error {
	for i, to := range d.Map {
		if to < OwnMember || to > ObjectHeaders {
			return fmt.Errorf("%w: kind %d in member %d", ErrParam, i+1, to)
		}
		if err := checkPattern(d.Names[d.member(i)], 's', true); err != nil {
			return err
		}
	}
	return nil
}

// member returns the index of the member that stores the kind with index i.
func (d Multi) member(i int) int {
	if d.Map[i] == OwnMember {
		return i
	}
	return int(d.Map[i]) - 1
}

func (d Direct) validate() error {
	if d.Alignment < 1 || d.Alignment&(d.Alignment-1) != 0 || d.Block < 1 || d.Block%d.Alignment != 0 || d.Copy < 1 || d.Copy%d.Block != 0 {
		return fmt.Errorf("%w: %+v: alignment divides block divides copy", ErrParam, d)
	}
	return nil
}

func (d OtherDriver) validate() error {
	return fmt.Errorf("%w: driver %q: %w by this package", ErrParam, d.Name, errors.ErrUnsupported)
}

// checkPattern rejects strings that must not be passed to libhdf5's snprintf: the only verb allowed
// is %s or %d, as given by verb, at most once. If must is true, the verb is required.
func checkPattern(s string, verb byte, must bool) error {
	if hasNUL(s) {
		return fmt.Errorf("%w: zero byte in %q", ErrParam, s)
	}
	verbs := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		i++
		if i < len(s) && s[i] == '%' {
			continue
		}
		if verb == 'd' {
			digits := strings.TrimLeft(s[i:], "0123456789")
			if len(s)-i-len(digits) > 2 {
				return fmt.Errorf("%w: too wide a number in %q", ErrParam, s)
			}
			i = len(s) - len(digits)
		}
		if i >= len(s) || s[i] != verb {
			return fmt.Errorf("%w: %q: want only %%%c", ErrParam, s, verb)
		}
		verbs++
	}
	if verbs > 1 || must && verbs == 0 {
		return fmt.Errorf("%w: %q has %d times %%%c, must have it once", ErrParam, s, verbs, verb)
	}
	return nil
}

// driver decodes the output of goh5_driver_put.
func (r *reader) driver() Driver {
	switch r.int() {
	case driverSec2:
		return Sec2{}
	case driverStdio:
		return Stdio{}
	case driverCore:
		return Core{Increment: r.int(), Backing: r.bool(), PageSize: r.int()}
	case driverFamily:
		return Family{MemberSize: r.int()}
	case driverMulti:
		var m Multi
		for i := range m.Map {
			m.Map[i], m.Names[i], m.Addrs[i] = MemberType(r.int()), r.text(), r.word()
		}
		m.Relax = r.bool()
		return m
	case driverDirect:
		return Direct{Alignment: r.int(), Block: r.int(), Copy: r.int()}
	default:
		return OtherDriver{Name: r.text()}
	}
}
