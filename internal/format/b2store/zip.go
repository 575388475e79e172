// ZIP files whose members are stored without compression.

package b2store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/format"
)

const (
	formatZip = "b2z file"

	localSignature   = "PK\x03\x04"
	centralSignature = "PK\x01\x02"
	endSignature     = "PK\x05\x06"
	end64Signature   = "PK\x06\x06"
	locatorSignature = "PK\x06\x07"

	localSize   = 30
	centralSize = 46
	endSize     = 22
	end64Size   = 56
	locatorSize = 20

	encrypted = 1 << 0  // flag: the member is encrypted
	utf8Name  = 1 << 11 // flag: the name is UTF-8

	madeByUnix = 3
	typeMask   = 0o170000 // of the file mode in the external attributes
	symlink    = 0o120000
)

// IsZip reports whether a file begins with a member of a ZIP file.
func IsZip(head []byte) bool { return bytes.HasPrefix(head, []byte(localSignature)) }

// IsStore reports whether a ZIP file of size bytes is a store: whether one of its members is called
// EmbedFile. The error is that of r.
func IsStore(r io.ReaderAt, size int64) (bool, error) {
	z := &zipReader{r: r, size: size, limits: Limits{}.filled()}
	if z.end() != nil {
		return false, z.failed
	}
	b, err := z.read("central directory", z.dirOffset, z.dirSize)
	if err != nil {
		return false, z.failed
	}
	for len(b) >= centralSize && string(b[:4]) == centralSignature {
		le := binary.LittleEndian
		nameLen := int(le.Uint16(b[28:]))
		n := centralSize + nameLen + int(le.Uint16(b[30:])) + int(le.Uint16(b[32:]))
		if n > len(b) {
			return false, nil
		}
		if string(b[centralSize:][:nameLen]) == EmbedFile {
			return true, nil
		}
		b = b[n:]
	}
	return false, nil
}

// ReadZip lists the members of a ZIP file of size bytes, sorted by name. Directory entries are
// omitted.
//
// Each member must be stored without compression and encryption, lie before the central directory,
// and not overlap another member. Names must be distinct and relative, without the components "."
// and "..". The local header of each member must repeat its name. archive/zip checks none of these
// properties.
//
// It returns format.ErrMagic for a file without an end of central directory, format.ErrUnsupported
// for compression, encryption and several disks, format.ErrLimit, format.ErrTruncated or
// format.ErrCorrupt.
func ReadZip(r io.ReaderAt, size int64, l Limits) ([]Member, error) {
	z := &zipReader{r: r, size: size, limits: l.filled()}
	if err := z.end(); err != nil {
		return nil, err
	}
	members, err := z.directory()
	if err != nil {
		return nil, err
	}
	if err := z.locals(members); err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m zipMember) bool { return strings.HasSuffix(m.Name, "/") })
	out := make([]Member, len(members))
	for i, m := range members {
		out[i] = m.Member
	}
	return sorted(formatZip, out)
}

type zipReader struct {
	r      io.ReaderAt
	size   int64
	limits Limits
	failed error // of the last read that r failed to do

	count, dirSize, dirOffset int64
}

type zipMember struct {
	Member
	header int64 // offset of the local header
	at     int64 // offset of the entry in the central directory
}

func zipError(what string, offset int64, got, want string, err error) error {
	return &format.Error{Format: formatZip, What: what, Offset: offset, Got: got, Want: want, Err: err}
}

// read reads exactly n bytes.
func (z *zipReader) read(what string, offset, n int64) ([]byte, error) {
	if offset < 0 || n < 0 || offset > z.size || n > z.size-offset {
		return nil, zipError(what, offset, fmt.Sprintf("a file of %d bytes", z.size), fmt.Sprintf("%d bytes", n), format.ErrTruncated)
	}
	b := make([]byte, n)
	if k, err := z.r.ReadAt(b, offset); int64(k) < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = format.ErrTruncated
		} else {
			z.failed = err
		}
		return nil, zipError(what, offset, fmt.Sprintf("%d bytes", k), fmt.Sprint(n), err)
	}
	return b, nil
}

// end reads the end of central directory, which is followed by a comment only.
func (z *zipReader) end() error {
	n := min(z.size, endSize+math.MaxUint16)
	b, err := z.read("end of central directory", z.size-n, n)
	if err != nil {
		return err
	}
	at := -1
	for i := len(b) - endSize; i >= 0; i-- {
		if string(b[i:i+4]) == endSignature && int(binary.LittleEndian.Uint16(b[i+20:])) == len(b)-endSize-i {
			at = i
			break
		}
	}
	if at < 0 {
		return zipError("end of central directory", z.size, "none", "one at the end of the file", format.ErrMagic)
	}
	e, offset := b[at:], z.size-n+int64(at)
	le := binary.LittleEndian
	z.count, z.dirSize, z.dirOffset = int64(le.Uint16(e[10:])), int64(le.Uint32(e[12:])), int64(le.Uint32(e[16:]))
	disks := [...]uint64{uint64(le.Uint16(e[4:])), uint64(le.Uint16(e[6:]))}
	total := int64(le.Uint16(e[8:]))
	limit := offset
	if z.count == math.MaxUint16 || z.dirSize == math.MaxUint32 || z.dirOffset == math.MaxUint32 {
		if limit, err = z.end64(offset, &disks, &total); err != nil {
			return err
		}
	}
	switch {
	case disks[0] != 0 || disks[1] != 0 || total != z.count:
		return zipError("disks", offset, "several", "one", format.ErrUnsupported)
	case z.dirSize > z.limits.Directory:
		return zipError("central directory", z.dirOffset, fmt.Sprintf("%d bytes", z.dirSize), fmt.Sprintf("at most %d", z.limits.Directory), format.ErrLimit)
	case z.dirOffset < 0 || z.dirSize < 0 || z.dirOffset > limit || limit-z.dirOffset != z.dirSize:
		return zipError("central directory", offset, fmt.Sprintf("%d bytes at %d", z.dirSize, z.dirOffset), fmt.Sprintf("its end at %d", limit), format.ErrCorrupt)
	case z.count > z.dirSize/centralSize:
		return zipError("number of members", offset, fmt.Sprint(z.count), fmt.Sprintf("at most %d in %d bytes", z.dirSize/centralSize, z.dirSize), format.ErrCorrupt)
	}
	return nil
}

// end64 reads the ZIP64 record that a locator before the end of central directory points to. It
// returns the offset of that record.
func (z *zipReader) end64(end int64, disks *[2]uint64, total *int64) (int64, error) {
	loc, err := z.read("ZIP64 locator", end-locatorSize, locatorSize)
	if err != nil {
		return 0, err
	}
	le := binary.LittleEndian
	at := int64(le.Uint64(loc[8:]))
	if string(loc[:4]) != locatorSignature || at != end-locatorSize-end64Size {
		return 0, zipError("ZIP64 locator", end-locatorSize, fmt.Sprintf("% x", loc[:16]), "the record before the locator", format.ErrCorrupt)
	}
	b, err := z.read("ZIP64 end of central directory", at, end64Size)
	if err != nil {
		return 0, err
	}
	if string(b[:4]) != end64Signature {
		return 0, zipError("ZIP64 end of central directory", at, fmt.Sprintf("% x", b[:4]), "its signature", format.ErrCorrupt)
	}
	disks[0], disks[1] = uint64(le.Uint32(b[16:])), uint64(le.Uint32(b[20:]))
	*total = int64(le.Uint64(b[24:]))
	z.count, z.dirSize, z.dirOffset = int64(le.Uint64(b[32:])), int64(le.Uint64(b[40:])), int64(le.Uint64(b[48:]))
	if z.count < 0 {
		return 0, zipError("number of members", at+32, fmt.Sprint(uint64(z.count)), "a count", format.ErrCorrupt)
	}
	return at, nil
}

// directory reads the central directory.
func (z *zipReader) directory() ([]zipMember, error) {
	b, err := z.read("central directory", z.dirOffset, z.dirSize)
	if err != nil {
		return nil, err
	}
	if z.count > int64(z.limits.Objects) {
		return nil, zipError("number of members", z.dirOffset, fmt.Sprint(z.count), fmt.Sprintf("at most %d", z.limits.Objects), format.ErrLimit)
	}
	members := make([]zipMember, 0, z.count)
	for len(b) > 0 {
		offset := z.dirOffset + z.dirSize - int64(len(b))
		m, rest, err := entry(b, offset)
		if err != nil {
			return nil, err
		}
		members, b = append(members, m), rest
	}
	if int64(len(members)) != z.count {
		return nil, zipError("number of members", z.dirOffset, fmt.Sprint(len(members)), fmt.Sprint(z.count), format.ErrCorrupt)
	}
	return members, nil
}

// entry reads the entry of the central directory at the beginning of b.
func entry(b []byte, offset int64) (m zipMember, rest []byte, err error) {
	fail := func(what, got, want string, err error) (zipMember, []byte, error) {
		return m, nil, zipError(what, offset, got, want, err)
	}
	if len(b) < centralSize || string(b[:4]) != centralSignature {
		return fail("entry", fmt.Sprintf("% x", b[:min(len(b), 4)]), "an entry of the central directory", format.ErrCorrupt)
	}
	le := binary.LittleEndian
	flags, method := le.Uint16(b[8:]), le.Uint16(b[10:])
	nameLen, extraLen, commentLen := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	if len(b) < centralSize+nameLen+extraLen+commentLen {
		return fail("entry", fmt.Sprintf("%d bytes", len(b)), fmt.Sprint(centralSize+nameLen+extraLen+commentLen), format.ErrTruncated)
	}
	m = zipMember{Member: Member{Name: string(b[centralSize:][:nameLen]), CRC: le.Uint32(b[16:])}, at: offset}
	stored, size, header := int64(le.Uint32(b[20:])), int64(le.Uint32(b[24:])), int64(le.Uint32(b[42:]))
	if err := wide(b[centralSize+nameLen:][:extraLen], &size, &stored, &header); err != nil {
		return fail("ZIP64 sizes", err.Error(), "8 bytes for each", format.ErrCorrupt)
	}
	what := fmt.Sprintf("member %.60q", m.Name)
	switch {
	case flags&encrypted != 0:
		return fail(what, "encryption", "none", format.ErrUnsupported)
	case method != 0:
		return fail(what, fmt.Sprintf("compression method %d", method), "0 (stored), so that it is read in place", format.ErrUnsupported)
	case stored != size || size < 0 || header < 0:
		return fail(what, fmt.Sprintf("%d stored bytes of %d at %d", stored, size, header), "equal sizes", format.ErrCorrupt)
	case le.Uint16(b[34:]) != 0 && le.Uint16(b[34:]) != math.MaxUint16:
		return fail(what, fmt.Sprintf("disk %d", le.Uint16(b[34:])), "0", format.ErrUnsupported)
	case b[5] == madeByUnix && le.Uint32(b[38:])>>16&typeMask == symlink:
		return fail(what, "a symbolic link", "a regular file", format.ErrCorrupt)
	}
	if err := checkName(m.Name, flags&utf8Name != 0); err != nil {
		return fail(what, err.Error(), "a relative path", format.ErrCorrupt)
	}
	if strings.HasSuffix(m.Name, "/") && size != 0 {
		return fail(what, fmt.Sprintf("%d bytes", size), "an empty directory entry", format.ErrCorrupt)
	}
	m.Size, m.header = size, header
	return m, b[centralSize+nameLen+extraLen+commentLen:], nil
}

// wide replaces the sizes that do not fit 32 bits by those of the ZIP64 field in extra.
func wide(extra []byte, fields ...*int64) error {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return fmt.Errorf("an extra field of %d bytes in %d", n, len(extra)-4)
		}
		b := extra[4:][:n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for _, f := range fields {
			if *f != math.MaxUint32 {
				continue
			}
			if len(b) < 8 {
				return fmt.Errorf("a field of %d bytes", n)
			}
			*f = int64(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		return nil
	}
	return nil
}

// checkName returns an error for a name that is not a path below the store.
func checkName(name string, isUTF8 bool) error {
	ascii := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	if !utf8.ValidString(name) || !ascii && !isUTF8 {
		return errors.New("a name that is not marked as UTF-8")
	}
	return checkPath(strings.TrimSuffix(name, "/"))
}

// locals reads the local header of each member, which determines where its data begins.
func (z *zipReader) locals(members []zipMember) error {
	slices.SortFunc(members, func(a, b zipMember) int { return int(min(max(a.header-b.header, -1), 1)) })
	end := int64(0)
	for i := range members {
		m := &members[i]
		what := fmt.Sprintf("member %.60q", m.Name)
		if m.header < end {
			return zipError(what, m.at, fmt.Sprintf("its header at %d", m.header), fmt.Sprintf("no overlap with bytes before %d", end), format.ErrCorrupt)
		}
		b, err := z.read(what, m.header, localSize+int64(len(m.Name)))
		if err != nil {
			return err
		}
		le := binary.LittleEndian
		if string(b[:4]) != localSignature || string(b[localSize:]) != m.Name || int(le.Uint16(b[26:])) != len(m.Name) || le.Uint16(b[8:]) != 0 {
			return zipError(what, m.header, fmt.Sprintf("header % x of %.60q", b[:4], b[localSize:]), "a header with the name in the central directory, stored", format.ErrCorrupt)
		}
		m.Offset = m.header + localSize + int64(len(m.Name)) + int64(le.Uint16(b[28:]))
		if m.Offset > z.dirOffset || m.Size > z.dirOffset-m.Offset {
			return zipError(what, m.at, fmt.Sprintf("%d bytes at %d", m.Size, m.Offset), fmt.Sprintf("an end before %d", z.dirOffset), format.ErrCorrupt)
		}
		end = m.Offset + m.Size
	}
	return nil
}
