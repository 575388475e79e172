// HDF5 files: links, storage, filters and sizes of every object, then the whole structure.

package scan

import (
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

func (s *scanner) hdf5(f *h5file.File, r io.ReaderAt, size int64) error {
	if d := f.Driver(); d != nil {
		s.add(FileMember, "", -1, "the driver %q reads a file that consists of several files", d.ID)
		return nil // addresses count through all members
	}
	outward, soft := false, false
	filters := map[h5file.FilterID]bool{}
	for e := range f.Walk() { // File.Check reports its errors
		if err := s.ctx.Err(); err != nil {
			return err
		}
		switch l := e.Link; {
		case e.Object != nil:
			s.objectHDF5(e.Path, e.Object, filters)
		case l.Kind == h5file.ExternalLink:
			outward = true
			s.add(ExternalLink, e.Path, -1, "link to %q in the file %q", l.Path, l.File)
		case l.Kind >= h5file.MinUserLinkKind:
			outward = true
			s.add(UserLink, e.Path, -1, "link of type %d with %d bytes of data", l.Kind, len(l.UserData))
		case l.Kind == h5file.SoftLink:
			soft = true
		}
	}
	if outward && soft {
		if err := s.softLinks(f); err != nil {
			return err
		}
	}
	return s.structure(f, r, size, slices.Collect(maps.Keys(filters)))
}

// objectHDF5 reports what one object needs and declares, and adds its filters to all.
func (s *scanner) objectHDF5(at string, o *h5file.Object, all map[h5file.FilterID]bool) {
	if l := o.Pipeline(); l != nil {
		for _, f := range l.Filters {
			all[f.ID] = true
			s.filter(at, f)
		}
	}
	if o.Kind() != h5file.DatasetKind || o.Err() != nil {
		return // the structure has an error
	}
	l, space, t := o.Layout(), o.Dataspace(), o.Datatype()
	if l == nil || space == nil || t == nil {
		return
	}
	if e := o.ExternalFiles(); e != nil {
		for _, file := range e.Files {
			s.add(ExternalStorage, at, -1, "%s at offset %d of the file %q", length(file.Size), file.Offset, file.Name)
		}
	}
	n, ok := space.Elements()
	hi, declared := bits.Mul64(n, uint64(t.Size))
	if !ok || hi != 0 {
		return
	}
	switch l.Class {
	case h5file.Virtual:
		s.sources(at, o)
		s.size(at, declared, declared) // the ratio is that of the sources
	case h5file.Chunked:
		full, ok := l.ChunkBytes()
		if !ok {
			return
		}
		s.chunkSize(at, full)
		decoded, stored := uint64(0), uint64(0)
		for c := range o.Chunks() {
			decoded, stored = add(decoded, full), add(stored, c.Size)
		}
		s.size(at, max(declared, decoded), stored)
	case h5file.Contiguous:
		stored := declared
		if !l.Addr.Defined() && o.ExternalFiles() == nil {
			stored = 0 // fill values only
		}
		s.size(at, declared, stored)
	}
}

// add returns a + b, or the largest uint64 if the sum overflows.
func add(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// length describes the size of a piece of external storage.
func length(n uint64) string {
	if n == h5file.Unlimited {
		return "all bytes"
	}
	return fmt.Sprintf("%d bytes", n)
}

// filter reports a filter that is not part of libhdf5.
func (s *scanner) filter(at string, f h5file.Filter) {
	if f.ID >= h5file.Deflate && f.ID <= h5file.ScaleOffset {
		return
	}
	level, known := Warning, "not available"
	if s.o.KnownFilter(int(f.ID)) {
		level, known = Note, "available"
	}
	if f.Optional {
		known += ", optional"
	}
	name := f.ID.String()
	if f.Name != "" {
		name += fmt.Sprintf(" (%q)", f.Name)
	}
	s.addLevel(PluginFilter, level, at, -1, "filter %s: %s", name, known)
}

// sources reports the files that contain the elements of a virtual dataset.
func (s *scanner) sources(at string, o *h5file.Object) {
	all, err := o.Mappings()
	if err != nil {
		return // File.Check reports the error
	}
	count := map[string]int{}
	var files []string
	for _, m := range all {
		if m.File == "." {
			continue
		}
		if count[m.File]++; count[m.File] == 1 {
			files = append(files, m.File)
		}
	}
	for _, file := range files {
		first := slices.IndexFunc(all, func(m h5file.Mapping) bool { return m.File == file })
		more := ""
		if n := count[file] - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		s.add(VirtualSource, at, -1, "source %q%s in the file %q", all[first].Dataset, more, file)
	}
}

// structure reports structural errors.
func (s *scanner) structure(f *h5file.File, r io.ReaderAt, size int64, filters []h5file.FilterID) error {
	err := f.Check(h5file.Policy{
		Filters: filters, ExternalLinks: true, UserLinks: true, ExternalFiles: true, VirtualSources: true,
		OtherFile: func(name string, at int64) { s.add(Reference, "", at, "reference to an object in the file %q", name) },
		// Elements after a filter that Go cannot decode count as null references.
		Decode: func(l *h5file.Pipeline, mask uint32, b []byte, n uint64) ([]byte, error) {
			for _, x := range l.Filters {
				if x.ID > h5file.Fletcher32 {
					return make([]byte, n), nil
				}
			}
			return l.Decode(mask, b, n)
		},
	})
	if err == nil || ruleOf(err) != Structure {
		return s.fail("", err)
	}
	// Check stops at the first error; the description continues.
	d, found := h5file.Describe(r, size), false
	for name, c := range d.Complaints() {
		found = true
		_, name, _ = strings.Cut(name, "/") // without the name of the whole
		s.add(Structure, "", c.Offset, "%s: %s", name, c.Complaint)
	}
	if !found {
		return s.fail("", err)
	}
	return s.ctx.Err()
}
