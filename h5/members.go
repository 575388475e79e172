//go:build cgo

// Files with several members: find the set that a first member belongs to, and the missing member
// of a set.
//
// The first member of a family or multi file identifies the driver: in the driver information block
// (HDF5 File Format II.B) or, with a newer superblock, in the driver information message of the
// superblock extension (IV.A.2.u). The extension of a multi file is in the member of object
// headers. The name of that member is unknown, so only libhdf5's default names can be tried.

package h5

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/regular"
)

// Driver names as stored in a first member, and a substitute for a multi file whose first member
// contains no driver name.
const (
	namedFamily  = "NCSAfami"
	namedMulti   = "NCSAmult"
	unnamedMulti = "multi"
)

// memberSet returns the set whose first member is the file at path, if this is the reason why the
// file could not be opened. Otherwise it may add the reason to why.
func memberSet(path string, why error) (set string, d Driver, ok bool) {
	var e *Error
	if !errors.As(why, &e) || len(e.Stack) == 0 {
		return "", nil, false
	}
	file, _, err := regular.Open(path)
	if err != nil {
		return "", nil, false
	}
	defer file.Close()
	id, info := driverInfo(file)
	switch id {
	case namedFamily:
		set, ok = familyPattern(path)
		return set, Family{}, ok
	case unnamedMulti:
		m := defaultMulti()
		m.Relax = false
		if set, ok = strings.CutSuffix(path, "-s.h5"); !ok {
			e.Err = fmt.Errorf("%w: %w from its first member: from superblock 2 on a multi set stores its names in the member of object headers: "+
				"OpenWith takes a Multi", ErrParam, errors.ErrUnsupported)
		}
		return set, m, ok
	case namedMulti:
		m, known := parseMulti(info)
		if !known {
			return "", nil, false
		}
		before, after, _ := strings.Cut(m.Names[m.member(int(Superblock)-1)], "%s")
		set, ok = strings.CutSuffix(path, after)
		return set, m, ok && before == "" && set != ""
	}
	return "", nil, false
}

// familyPattern replaces the last number of a path that consists of zeros by a %d verb.
func familyPattern(path string) (string, bool) {
	end := len(path)
	for end > 0 {
		for end > 0 && (path[end-1] < '0' || path[end-1] > '9') {
			end--
		}
		start := end
		for start > 0 && path[start-1] >= '0' && path[start-1] <= '9' {
			start--
		}
		if start < end && strings.Trim(path[start:end], "0") == "" && end-start < 100 {
			verb := "%d"
			if end-start > 1 {
				verb = fmt.Sprintf("%%0%dd", end-start)
			}
			escape := func(s string) string { return strings.ReplaceAll(s, "%", "%%") }
			return escape(path[:start]) + verb + escape(path[end:]), true
		}
		end = start
	}
	return "", false
}

// farAddress is an address that only a multi file has, because its members share an address space
// of 2^64 bytes.
const farAddress = 1 << 60

// maxDriverInfo is a limit above the size that any driver writes.
const maxDriverInfo = 4096

// driverInfo returns the name of the driver and its information. The name is "" if there is no
// driver information or the file is invalid.
func driverInfo(r io.ReaderAt) (string, []byte) {
	at := func(off uint64, n int) []byte {
		b := make([]byte, n)
		if off > 1<<62 {
			return nil
		}
		if got, _ := r.ReadAt(b, int64(off)); got < n {
			return nil
		}
		return b
	}
	var base uint64
	for ; base <= 1<<20; base = max(512, 2*base) {
		if bytes.Equal(at(base, 8), []byte("\x89HDF\r\n\x1a\n")) {
			break
		}
	}
	head := at(base, 16)
	if head == nil || base > 1<<20 {
		return "", nil
	}
	number := func(off uint64, size int) (uint64, bool) {
		b := at(off, size)
		if b == nil || size < 1 || size > 8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(append(bytes.Clone(b), make([]byte, 8)...)[:8]), true
	}
	switch version := head[8]; version {
	case 0, 1:
		size := int(head[13])
		addr, ok := number(base+24+4*uint64(version)+3*uint64(size), size)
		block := at(base+addr, 16)
		if !ok || block == nil || block[0] != 0 {
			return "", nil
		}
		n := binary.LittleEndian.Uint32(block[4:])
		if n > maxDriverInfo {
			return "", nil
		}
		return string(block[8:16]), at(base+addr+16, int(n))
	case 2, 3:
		size := int(head[9])
		addr, ok := number(base+12+uint64(size), size)
		switch {
		case !ok:
			return "", nil
		case addr >= farAddress && addr != NoAddress:
			return unnamedMulti, nil
		}
		return driverMessage(func(off uint64, n int) []byte { return at(base+addr+off, n) })
	}
	return "", nil
}

// driverMessage finds the message in the first chunk of the extension's object header (IV.A.1.b).
func driverMessage(at func(uint64, int) []byte) (string, []byte) {
	head := at(0, 6)
	if head == nil || string(head[:4]) != "OHDR" {
		return "", nil
	}
	flags, pos := head[5], uint64(6)
	if flags&0x20 != 0 {
		pos += 16
	}
	if flags&0x10 != 0 {
		pos += 4
	}
	width := 1 << (flags & 3)
	b := at(pos, width)
	if b == nil {
		return "", nil
	}
	left := binary.LittleEndian.Uint64(append(b, make([]byte, 8)...)[:8])
	pos += uint64(width)
	header := uint64(4)
	if flags&4 != 0 {
		header = 6
	}
	for left >= header && left < 1<<20 {
		m := at(pos, 4)
		if m == nil {
			break
		}
		n := uint64(binary.LittleEndian.Uint16(m[1:]))
		if m[0] == 0x14 {
			if info := at(pos+header, int(n)); n >= 11 && info != nil && info[0] == 0 {
				return string(info[1:9]), info[11:]
			}
			break
		}
		if header+n > left {
			break
		}
		pos, left = pos+header+n, left-header-n
	}
	return "", nil
}

// parseMulti decodes the multi driver's information about its members.
func parseMulti(b []byte) (Multi, bool) {
	m := defaultMulti()
	m.Relax = false // because Relax would read a missing member as empty data
	if len(b) < 8 {
		return m, false
	}
	for i := range m.Map {
		if m.Map[i] = MemberType(b[i]); m.Map[i] > ObjectHeaders {
			return m, false
		}
	}
	b = b[8:]
	var members []int
	seen := map[int]bool{}
	for i := range m.Map {
		if member := m.member(i); !seen[member] {
			seen[member] = true
			members = append(members, member)
		}
	}
	if len(b) < 16*len(members) {
		return m, false
	}
	for i, member := range members {
		m.Addrs[member] = binary.LittleEndian.Uint64(b[16*i:])
	}
	b = b[16*len(members):]
	for _, member := range members {
		n := bytes.IndexByte(b, 0)
		if n < 0 {
			return m, false
		}
		m.Names[member] = string(b[:n])
		b = b[min(len(b), (n+8)/8*8):]
	}
	return m, m.validate() == nil
}

// explainMembers adds the name of the missing member to the error of a set that could not be
// opened.
func explainMembers(err error, path string, d Driver) error {
	var e *Error
	if !errors.As(err, &e) || e.Err != nil {
		return err
	}
	var missing string
	switch d := d.(type) {
	case Family:
		missing = missingOfFamily(path, errors.Is(err, ErrTruncated))
	case Multi:
		for i := range d.Map {
			missing = missingFile(missing, strings.Replace(d.Names[d.member(i)], "%s", path, 1))
		}
	case Split:
		for _, name := range d.files(path) {
			missing = missingFile(missing, name)
		}
	}
	if missing != "" {
		e.Err = fmt.Errorf("%w: member %s", ErrNotFound, missing)
	}
	return err
}

// files returns the names of the two members.
func (d Split) files(path string) [2]string {
	names := [2]string{d.Meta, d.Raw}
	for i, usual := range [2]string{".meta", ".raw"} {
		name := cmp.Or(names[i], usual)
		if !strings.Contains(name, "%s") {
			name = "%s" + name
		}
		names[i] = strings.Replace(name, "%s", path, 1)
	}
	return names
}

// missingFile returns before if it is not empty, otherwise name if that file does not exist.
func missingFile(before, name string) string {
	if before != "" {
		return before
	}
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		return name
	}
	return ""
}

// missingOfFamily returns the first member that does not exist, if it is required. It is required
// if it is member 0, if a later member exists, or if the set is too short.
func missingOfFamily(pattern string, short bool) string {
	const look = 64
	exists := func(i int) bool { return missingFile("", memberName(pattern, i)) == "" }
	first := 0
	for exists(first) {
		first++
	}
	later := false
	for i := 1; i <= look && !later; i++ {
		later = exists(first + i)
	}
	if first == 0 || later || short {
		return memberName(pattern, first)
	}
	return ""
}

// memberName expands a checked pattern as libhdf5's family driver does.
func memberName(pattern string, i int) string {
	var b strings.Builder
	for at := 0; at < len(pattern); at++ {
		if pattern[at] != '%' {
			b.WriteByte(pattern[at])
			continue
		}
		if at++; pattern[at] == '%' {
			b.WriteByte('%')
			continue
		}
		end := at + strings.IndexByte(pattern[at:], 'd')
		width, _ := strconv.Atoi(strings.TrimLeft(pattern[at:end], "0"))
		if strings.HasPrefix(pattern[at:end], "0") {
			fmt.Fprintf(&b, "%0*d", width, i)
		} else {
			fmt.Fprintf(&b, "%*d", width, i)
		}
		at = end
	}
	return b.String()
}
