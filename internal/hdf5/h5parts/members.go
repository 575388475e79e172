// Files of several members, of the family, multi and split drivers: the members as one reader.

package h5parts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// Member is a file of a set.
type Member struct {
	Path  string
	Start uint64 // address of its first byte
	At    int64  // offset of its first byte in the File
	Want  int64  // minimum size in bytes
	Have  int64  // size in bytes; -1: it does not exist
}

// Err returns the error of a member that is missing (fs.ErrNotExist) or too short
// (format.ErrTruncated), or nil.
func (m *Member) Err() error {
	switch {
	case m.Have < 0:
		return fmt.Errorf("%w: want at least %d bytes", fs.ErrNotExist, m.Want)
	case m.Have < m.Want:
		return &format.Error{Format: "hdf5", What: "member file", Offset: m.At, Got: fmt.Sprintf("%d bytes", m.Have), Want: fmt.Sprintf("at least %d", m.Want), Err: format.ErrTruncated}
	}
	return nil
}

// File is a file, or the members of a set, one after the other. Reads of missing bytes return
// io.EOF.
type File struct {
	files   []*os.File // nil for a missing member
	members []Member
	apart   bool // the addresses of the members are not contiguous
}

// Join returns the set of the given members, which it then owns. files are the members that exist.
func Join(files []*os.File, members []Member, apart bool) (*File, error) {
	f := &File{members: members, apart: apart}
	for _, m := range members {
		if m.Have < 0 {
			f.files = append(f.files, nil)
		} else if len(files) > 0 {
			f.files, files = append(f.files, files[0]), files[1:]
		}
	}
	if len(files) > 0 || len(f.files) != len(members) {
		return nil, fmt.Errorf("%w: files of %d members", fs.ErrInvalid, len(members))
	}
	return f, nil
}

// Open opens a file, and the other members if it is the first member of a set. In the name of a
// family, the last number that consists of zeros is replaced by 1, 2 and so on. The first member of
// a multi set contains the names of the others. From superblock version 2 on, the names must be
// those that libhdf5 chooses, as for libhdf5 itself. A missing member is part of the result. Open
// returns the errors of regularfile.Open.
func Open(path string) (*File, error) {
	first, _, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := OpenFile(first, path)
	if err != nil {
		err = errors.Join(err, first.Close())
	}
	return f, err
}

// OpenFile is Open for a regular file that is open already. The result owns it; after an error the
// caller still does.
func OpenFile(first *os.File, path string) (_ *File, err error) {
	f := &File{files: []*os.File{first}, members: []Member{{Path: path}}}
	defer func() {
		if err != nil {
			f.files[0] = nil
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := first.Stat()
	if err != nil {
		return nil, err
	}
	f.members[0].Have = info.Size()
	x, err := h5file.Open(first, info.Size(), nil)
	if err != nil || x.Driver() == nil {
		return f, nil // one file, or corrupt
	}
	d := x.Driver()
	switch {
	case d.ID == "NCSAfami" && d.MemberSize == uint64(info.Size()):
		return f, f.family(path, x.Superblock().EndOfFile, info.Size())
	case d.ID != "NCSAmult":
		return f, nil
	}
	if d.Members == nil { // the names are in another member
		if d.Members, err = usual(path); err != nil {
			return nil, err
		}
	}
	return f, f.multi(path, d.Members)
}

// usual returns the members of the set at path if they have the names that libhdf5 chooses, or nil.
func usual(path string) (list []h5file.DriverMember, err error) {
	const last = 1<<64 - 2 // HADDR_MAX
	for i, letter := range "sbrglo" {
		list = append(list, h5file.DriverMember{Usage: uint8(i + 1), Start: h5file.Addr(uint64(i) * (last / 6)), Name: "%s-" + string(letter) + ".h5"})
	}
	f := &File{}
	defer func() { err = errors.Join(err, f.Close()) }()
	first, info, err := regularfile.Open(path)
	if err != nil {
		return nil, err
	}
	f.files, f.members = []*os.File{first}, []Member{{Path: path, Have: info.Size()}}
	if err := f.multi(path, list); err != nil || !f.apart {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	all, err := h5file.Open(f, size, nil)
	if err != nil || all.Driver() == nil || all.Driver().Members == nil { // in a member that is missing or corrupt
		list[len(list)-1].End = 1
		return list, nil
	}
	return all.Driver().Members, nil
}

// lookAhead is the number of missing members of a family after which no later one is searched.
const lookAhead = 64

// family adds the other members of a family of end bytes.
func (f *File) family(path string, end h5file.Addr, step int64) error {
	f.members[0].Want = step
	before, digits, after := number(path)
	missing := 0
	for i := int64(1); digits > 0 && missing < lookAhead; i++ {
		m := Member{Path: fmt.Sprintf("%s%0*d%s", before, digits, i, after), Start: uint64(i * step), At: i * step}
		if uint64(end) > m.Start {
			m.Want = int64(min(uint64(end)-m.Start, uint64(step)))
		}
		if err := f.add(m); err != nil {
			return err
		}
		missing++
		if f.members[len(f.members)-1].Have >= 0 {
			missing = 0
		} else if m.Want == 0 {
			break
		}
	}
	// Of several missing members at the end, only the first is an error, and none after the end.
	for n := len(f.members); n > 1; n-- {
		last, before := &f.members[n-1], &f.members[n-2]
		if last.Have >= 0 || before.Have >= 0 && last.Want > 0 {
			break
		}
		f.files, f.members = f.files[:n-1], f.members[:n-1]
	}
	return nil
}

// multi adds the other members of a multi set, unless a name leads to another directory.
func (f *File) multi(path string, list []h5file.DriverMember) error {
	if len(list) < 2 {
		return nil
	}
	for _, m := range list {
		rest, ok := strings.CutPrefix(m.Name, "%s")
		if !ok || strings.ContainsAny(rest, "/\\%") {
			return nil
		}
	}
	whole, ok := strings.CutSuffix(path, strings.TrimPrefix(list[0].Name, "%s"))
	if !ok || whole == "" {
		return nil
	}
	f.apart = true
	f.members[0].Start, f.members[0].Want = uint64(list[0].Start), int64(min(list[0].End, 1<<62))
	for _, m := range list[1:] {
		next := Member{Path: whole + strings.TrimPrefix(m.Name, "%s"), Start: uint64(m.Start), Want: int64(min(m.End, 1<<62))}
		if err := f.add(next); err != nil {
			return err
		}
		if last := len(f.members) - 1; f.members[last].Have < 0 && next.Want == 0 { // it need not exist
			f.files, f.members = f.files[:last], f.members[:last]
		}
	}
	at := int64(0)
	for i := range f.members {
		f.members[i].At = at
		at += max(f.members[i].Have, 0) + 1 // so that no read continues in the next member
	}
	return nil
}

// add opens a member, which may be missing.
func (f *File) add(m Member) error {
	file, info, err := regularfile.Open(m.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		file, m.Have = nil, -1
	case err != nil:
		return err
	default:
		m.Have = info.Size()
	}
	f.files, f.members = append(f.files, file), append(f.members, m)
	return nil
}

// number divides a path at the last number that consists of zeros.
func number(path string) (before string, digits int, after string) {
	end := strings.LastIndexByte(path, '0') + 1
	for start := end; start > 0; start-- {
		if c := path[start-1]; c != '0' {
			if c >= '1' && c <= '9' {
				return path, 0, ""
			}
			return path[:start], end - start, path[end:]
		}
	}
	return "", end, path[end:]
}

// Files returns the open members. The File still owns them.
func (f *File) Files() []*os.File {
	return slices.DeleteFunc(slices.Clone(f.files), func(x *os.File) bool { return x == nil })
}

// Members returns the members, of which there is one in a file that is no set.
func (f *File) Members() []Member { return f.members }

// Apart reports whether the addresses of the members are not contiguous, as in a multi set.
func (f *File) Apart() bool { return f.apart }

var _ h5file.Segmented = (*File)(nil)

// Segments returns the addresses of the members of a multi set, and nil for other files.
func (f *File) Segments() (list []h5file.Segment) {
	if !f.apart {
		return nil
	}
	for _, m := range f.members {
		list = append(list, h5file.Segment{Start: h5file.Addr(m.Start), At: m.At, Size: max(m.Have, 0)})
	}
	slices.SortFunc(list, func(a, b h5file.Segment) int { return cmp.Compare(a.Start, b.Start) })
	return list
}

// Size returns the number of bytes of all members.
func (f *File) Size() (size int64, err error) {
	for i, m := range f.members {
		if f.files[i] == nil {
			continue
		}
		info, err := f.files[i].Stat()
		if err != nil {
			return 0, err
		}
		size = max(size, m.At+info.Size())
	}
	return size, nil
}

// Rest returns the number of bytes that can be read from an offset on: to the end of the file, or
// to that of a member of a multi set.
func (f *File) Rest(off int64) int64 {
	if size, err := f.Size(); !f.apart && off >= 0 && err == nil {
		return max(size-off, 0)
	}
	for _, m := range f.members {
		if off >= m.At && off <= m.At+m.Have {
			return m.At + m.Have - off
		}
	}
	return 0
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	if len(f.files) == 1 {
		return f.files[0].ReadAt(b, off)
	}
	if off < 0 {
		return 0, fmt.Errorf("%w: offset %d", fs.ErrInvalid, off)
	}
	for n < len(b) {
		i := len(f.members) - 1
		for f.members[i].At > off {
			i--
		}
		if f.files[i] == nil {
			return n, io.EOF
		}
		end := len(b)
		if i+1 < len(f.members) {
			end = n + int(min(int64(len(b)-n), f.members[i+1].At-off))
		}
		k, err := f.files[i].ReadAt(b[n:end], off-f.members[i].At)
		n += k
		off += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Close closes all members.
func (f *File) Close() error {
	var err error
	for _, x := range f.Files() {
		err = errors.Join(err, x.Close())
	}
	return err
}
