// Drivers: where the bytes of a file are. One file on disk, several, memory, or
// anything that reads at an offset.

package h5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
)

// Driver says how the library reaches the bytes of a file. It is one of Sec2,
// Stdio, Core, Log, Family, Split, Multi and Direct; OpenReaderAt is the one more.
type Driver interface {
	append(b []byte) []byte
	validate() error
}

// The numbers of the drivers between Go and the shim.
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

// Sec2 is one file by the system's own calls: the default (H5Pset_fapl_sec2).
type Sec2 struct{}

// Stdio is one file by C's buffered streams (H5Pset_fapl_stdio).
type Stdio struct{}

// Core is a file in memory (H5Pset_fapl_core). An existing file is read whole.
type Core struct {
	Increment int64 // bytes by which the memory grows; 0: 8 KiB
	Backing   bool  // write the memory to the file when it is flushed and closed
	PageSize  int64 // Backing: write only the pages of that many bytes that changed; 0: everything
}

// Log is Sec2 that keeps an account of what it does (H5Pset_fapl_log).
type Log struct {
	Path   string // of the text it writes
	Flags  uint64 // what it tells of, H5FD_LOG_…; LogAll
	Buffer int64  // bytes of the file that are counted access by access, if Flags ask for it
}

// LogAll is everything a Log can tell of (H5FD_LOG_ALL).
const LogAll uint64 = C.H5FD_LOG_ALL

// Family is a file cut into members of one size (H5Pset_fapl_family). The path has
// one verb for the member's number: "data%05d.h5".
type Family struct {
	MemberSize int64 // bytes; 0 when opening: what the first member says
}

// Split is a Multi of two members, one for the elements and one for the rest
// (H5Pset_fapl_split). It is read back as the Multi that it is.
type Split struct {
	Meta, Raw string // "" for ".meta" and ".raw"; what the path is followed by, or a pattern with %s for it
}

// MemberType is a kind of data that a Multi can keep in a file of its own
// (H5FD_mem_t).
type MemberType int

// The kinds. OwnMember in a map is a kind's own member.
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

// Multi keeps each kind of data in a file of its own, or several kinds in one
// (H5Pset_fapl_multi). The arrays are indexed by kind, less one.
//
// What an existing set says in its first member goes before what is given here.
type Multi struct {
	Map   [memberTypes]MemberType // which kind's member holds this kind
	Names [memberTypes]string     // the member's file, %s standing for the path
	Addrs [memberTypes]uint64     // where in the address space of the whole the member begins
	Relax bool                    // members may be missing when reading
}

// DefaultMulti is a member for each kind, as the library does by itself.
func DefaultMulti() Multi {
	m := Multi{Relax: true}
	for i, letter := range "sbrglo" {
		m.Names[i] = "%s-" + string(letter) + ".h5"
		m.Addrs[i] = uint64(i) * (maxAddress / memberTypes)
	}
	return m
}

// maxAddress is HADDR_MAX.
const maxAddress = 1<<64 - 2

// Direct is one file past the system's page cache (H5Pset_fapl_direct). A library
// that was built without it returns errors.ErrUnsupported.
type Direct struct {
	Alignment int64 // bytes, a power of two: of addresses and buffers; 4096
	Block     int64 // bytes, a multiple of Alignment: of a transfer; 4096
	Copy      int64 // bytes, a multiple of Block: of the buffer in between; 16 MiB
}

// A readerDriver is what OpenReaderAt uses.
type readerDriver struct {
	id   uint64
	size int64
}

// An OtherDriver is one that was found in a file's access list and that this
// package cannot describe. It cannot be chosen: that is ErrParam, and
// errors.ErrUnsupported. So with onion, splitter, mirror, subfiling, MPI and those of
// object stores.
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

// member is the index of the member that holds the kind of index i.
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

// checkPattern finds what must not reach the library's snprintf: any verb but one
// of the wanted kind.
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
			return fmt.Errorf("%w: %q: only %%%c can be", ErrParam, s, verb)
		}
		verbs++
	}
	if verbs > 1 || must && verbs == 0 {
		return fmt.Errorf("%w: %q has %d times %%%c, must have it once", ErrParam, s, verbs, verb)
	}
	return nil
}

// driver reads what goh5_driver_put wrote.
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
