// Search of the whole file for objects that no link leads to.

package recovery

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// lostAndFound is the group for objects without a name.
const lostAndFound = "/lost+found"

// search finds all groups and datasets of the file.
func (s *source) search(ctx context.Context) (err error) {
	if s.found, err = s.scan(ctx); err != nil {
		return err
	}
	s.guessed = true
	s.seen.begin(s.size, 0)
	s.linked = map[h5file.Addr]bool{}
	enough := s.searchLimit()
	for _, o := range s.found {
		if s.read.Load() > enough {
			break // some linked objects then get a path in lost+found
		}
		if o.Kind() == h5file.GroupKind {
			for l, err := range o.Links() {
				if err == nil && l.Kind == h5file.HardLink && l.Target != o.Addr {
					s.linked[l.Target] = true
				}
			}
		}
	}
	return nil
}

// guessRoot searches the file and returns the only group that is not linked by another, or nil if
// there is not exactly one.
func (s *source) guessRoot(ctx context.Context) (*h5file.Object, error) {
	if err := s.search(ctx); err != nil {
		return nil, err
	}
	var tops []*h5file.Object
	for _, o := range s.found {
		if o.Kind() == h5file.GroupKind && !s.linked[o.Addr] {
			tops = append(tops, o)
		}
	}
	if len(tops) != 1 {
		return nil, nil
	}
	s.r.note(Guessed, "/", "root group", s.place(tops[0]), "the only group without a parent")
	return tops[0], nil
}

// orphans writes the groups and datasets that were not reached from the root group.
func (s *source) orphans(ctx context.Context) error {
	if s.linked == nil {
		if err := s.search(ctx); err != nil {
			return err
		}
	}
	made := false
	// Objects that others link to are written with these. The second pass writes the objects of
	// cycles.
	for _, all := range []bool{false, true} {
		for _, o := range s.found {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, ok := s.out.Placed[uint64(o.Addr)]; ok || !all && s.linked[o.Addr] {
				continue
			}
			if o.Kind() == h5file.GroupKind && empty(o) {
				continue
			}
			if !made {
				g, err := s.out.Group(s.out.Root(), lostAndFound, nil, false)
				if err != nil {
					return err
				}
				if err := g.Close(); err != nil {
					return err
				}
				made = true
			}
			at := fmt.Sprintf("%s/at_%d", lostAndFound, s.place(o))
			s.r.note(Guessed, at, o.Kind().String(), s.place(o), "no path leads to it")
			if err := s.object(ctx, at, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *source) place(o *h5file.Object) int64 { return format.Size(o.Addr) + s.file.UserBlock() }

// empty reports whether a group has no readable link.
func empty(o *h5file.Object) bool {
	for _, err := range o.Links() {
		if err == nil {
			return false
		}
	}
	return true
}

// scan returns all groups and datasets in the file, in ascending order of their addresses.
func (s *source) scan(ctx context.Context) ([]*h5file.Object, error) {
	const window = 1 << 20
	var list []*h5file.Object
	b := make([]byte, window+headerBytes)
	base := s.file.UserBlock()
	s.seen.begin(s.size, 0)
	enough := s.searchLimit()
	for at := base; at < s.size; at += window {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.seen.more(window)
		n, err := s.in.ReadAt(b, at)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		for i := 0; i < window && i+16 <= n; i++ {
			if !header(b[i:min(i+headerBytes, n)], s.size) {
				continue
			}
			if s.read.Load() > enough {
				s.r.note(Lost, "", "bytes", at+int64(i), "%d that were not searched: what looks like objects before them took %d bytes of work", s.size-at-int64(i), s.read.Load())
				return list, nil
			}
			o, err := s.file.Object(h5file.Addr(at + int64(i) - base))
			if o == nil || err != nil && o.Version == 1 && !plausible(o) {
				continue // without a checksum, any bytes can look like an object header
			}
			switch k := o.Kind(); {
			case k == h5file.GroupKind:
				list = append(list, o)
			case k == h5file.DatasetKind && o.Layout() != nil && o.Dataspace() != nil && o.Datatype() != nil:
				list = append(list, o)
			}
		}
	}
	return list, nil
}

// searchLimit returns the limit of bytes to read in a search. Without the limit, bytes that look
// like object headers and each claim the rest of the file would take quadratic time.
func (s *source) searchLimit() int64 { return s.read.Load() + 8*s.size + minWork>>8 }

// plausible reports whether an object header of version 1 with an error, for example a truncated
// one, is an object nevertheless. The messages that define a dataset or a group must be valid.
func plausible(o *h5file.Object) bool {
	types := []h5file.MessageType{h5file.SymbolTableType}
	if o.Kind() == h5file.DatasetKind {
		types = []h5file.MessageType{h5file.DataspaceType, h5file.DatatypeType, h5file.LayoutType}
	}
	for _, t := range types {
		if m := o.Message(t); m == nil || m.Err != nil || m.Body == nil {
			return false
		}
	}
	return true
}

// headerBytes is the length of the prefix of a version 1 header and of the prefix of its first
// message.
const headerBytes = 16 + 8

// header reports whether b, of at most headerBytes, can be the beginning of an object header in a
// file of that size: version 2 with its signature, or version 1 with plausible fields. Headers in
// old files may be unaligned.
func header(b []byte, size int64) bool {
	if bytes.HasPrefix(b, []byte("OHDR\x02")) {
		return true
	}
	if b[0] != 1 || b[1] != 0 || len(b) < headerBytes {
		return false
	}
	messages, links, bytes := binary.LittleEndian.Uint16(b[2:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	kind, first := binary.LittleEndian.Uint16(b[16:]), binary.LittleEndian.Uint16(b[18:])
	return messages > 0 && links < 1<<16 && bytes >= 8 && int64(bytes) <= size && bytes%8 == 0 &&
		kind <= uint16(h5file.FileSpaceInfoType) && first%8 == 0 && uint32(first) <= bytes-8
}
