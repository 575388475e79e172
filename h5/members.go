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
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/guard"
)

// Driver names as stored in a first member.
const (
	namedFamily = "NCSAfami"
	namedMulti  = "NCSAmult"
)

// memberSet returns the set whose first member is the file at path, if this is the reason why the
// file could not be opened. Otherwise it may add the reason to why.
func memberSet(path string, why error) (set string, d Driver, ok bool) {
	var e *Error
	if !errors.As(why, &e) || len(e.Stack) == 0 {
		return "", nil, false
	}
	file, info, err := regularfile.Open(path)
	if err != nil {
		return "", nil, false
	}
	defer file.Close()
	x := guard.Driver(file, info.Size())
	switch {
	case x == nil:
	case x.ID == namedFamily:
		set, ok = familyPattern(path)
		return set, Family{}, ok
	case x.ID == namedMulti && x.Data == nil: // the information is in another member
		m := defaultMulti()
		m.Relax = false
		if set, ok = strings.CutSuffix(path, "-s.h5"); !ok {
			e.Err = fmt.Errorf("%w: %w from its first member: from superblock 2 on a multi set stores its names in the member of object headers: "+
				"OpenWith takes a Multi", ErrParam, errors.ErrUnsupported)
		}
		return set, m, ok
	case x.ID == namedMulti:
		m, known := multiOf(x)
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

// multiOf returns the driver of a set with the members that its first member names.
func multiOf(d *guard.DriverInfo) (Multi, bool) {
	m := defaultMulti()
	m.Relax = false // because Relax would read a missing member as empty data
	if len(d.Data) < len(m.Map) || len(d.Members) == 0 {
		return m, false
	}
	for i := range m.Map {
		m.Map[i] = MemberType(d.Data[i])
	}
	for _, x := range d.Members {
		if x.Usage < 1 || x.Usage > memberTypes || x.Name == "" {
			return m, false
		}
		m.Addrs[x.Usage-1], m.Names[x.Usage-1] = uint64(x.Start), x.Name
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
