// Causes and consequences: an error that follows from another one is listed below it.

package verify

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// checksum is the end of Finding.What for the checksum of a structure.
const checksum = "/checksum"

// group is a cause with its consequences.
type group []Finding

// complaint is the error of a field in a description.
type complaint string

func (c complaint) Error() string { return string(c) }

func (c complaint) Is(target error) bool {
	return target == format.ErrCorrupt || target == format.ErrTruncated && strings.HasSuffix(string(c), ": "+format.ErrTruncated.Error())
}

// mostSeen is the maximum number of errors among which duplicates are found.
const mostSeen = 1 << 20

// structures collects the errors in the structures of an HDF5 file, in the order of the traversal,
// in which a structure comes after the one that refers to it.
type structures struct {
	most   int // maximum number of findings in groups
	groups []group
	all    int64          // number of different errors
	latest map[string]int // group of the last cause in each object, by its path
	seen   map[place]bool // errors, because a traversal can reach a structure several times
}

// place identifies an error.
type place struct {
	offset int64
	text   string
}

// add adds the errors of one structure. Their cause is a wrong checksum, or else the first one.
func (s *structures) add(object string, f format.Field) {
	var list []Finding
	for name, c := range f.Complaints() {
		p := Finding{Object: object, What: purpose(f) + name, Offset: c.Offset, Chunk: -1, Err: complaint(c.Complaint)}
		at := place{c.Offset, name + c.Complaint}
		if s.seen[at] {
			continue
		}
		if len(s.seen) < mostSeen {
			s.seen[at] = true
		}
		if strings.HasSuffix(name, checksum) {
			list = slices.Insert(list, 0, p)
		} else {
			list = append(list, p)
		}
	}
	for i, p := range list {
		s.one(p, i > 0)
	}
}

// one adds an error. below reports whether the last error is in the same structure.
func (s *structures) one(p Finding, below bool) {
	s.all++
	k, known := s.latest[p.Object]
	if !known && lost(p) && strings.HasPrefix(p.What, "object header") {
		k, known = s.latest[path.Dir(p.Object)] // the group with the address of the object
	}
	if s.all > int64(s.most) {
		return
	}
	if known && (below || follows(p, s.groups[k][0])) {
		p.Consequence = true
		s.groups[k] = append(s.groups[k], p)
		return
	}
	s.latest[p.Object] = len(s.groups)
	s.groups = append(s.groups, group{p})
}

// follows reports whether the error p in a structure follows from an earlier one in a structure of
// the same object: its address may come from there, or its content was compared with it. A wrong
// checksum is an error of its own.
func follows(p, cause Finding) bool {
	return lost(p) || strings.HasSuffix(cause.What, checksum) && !strings.HasSuffix(p.What, checksum)
}

// lost reports whether there is no structure at the address where p expects one.
func lost(p Finding) bool {
	return errors.Is(p.Err, format.ErrTruncated) || strings.HasSuffix(p.What, "/signature")
}

// purpose returns a prefix for the name of a structure that several kinds of indexes have.
func purpose(f format.Field) string {
	for _, x := range f.Fields {
		switch {
		case x.Name != "type" || !strings.HasPrefix(f.Name, "v2 B-tree"):
		case x.Value == "5", x.Value == "6":
			return "link index: "
		case x.Value == "8", x.Value == "9":
			return "attribute index: "
		}
	}
	return ""
}

// complaints lists all errors in the structures of the file. It reports whether there are any.
func (u *h5File) complaints() (found bool, object string, err error) {
	s := &structures{most: u.job.opts.MaxDamages, latest: map[string]int{}, seen: map[place]bool{}}
	object, first := h5file.ObjectStructures(u.f, u.size, s.add)
	if first != nil && object == "" && !slices.ContainsFunc(s.groups, func(g group) bool { return g[0].Object == "" }) {
		what := "metadata" // an error without a field
		if e, ok := errors.AsType[*format.Error](first); ok && e.What == "end of file address" {
			what = "superblock"
		}
		s.all++
		s.groups = slices.Insert(s.groups, 0, group{{What: what, Offset: -1, Chunk: -1, Err: first}})
	}
	listed := int64(0)
	for _, g := range s.groups {
		for _, p := range g {
			listed++
			if err := u.job.note(p); err != nil {
				return false, "", err
			}
		}
	}
	u.job.mu.Lock()
	u.job.report.NumDamages += s.all - listed
	u.job.mu.Unlock()
	return s.all > 0, object, nil
}

// fold moves errors that follow from another one below it, and sorts the causes by object, chunk
// and offset. The result of fold(fold(list)) is that of fold(list).
func fold(list []Finding) {
	var groups []group
	causes := make(map[origin]int)
	last := -1 // group of the finding before
	for _, p := range list {
		k, known := last, p.Consequence && last >= 0
		for _, c := range causesOf(p) {
			if !known {
				k, known = causes[c]
			}
		}
		if p.Consequence = known; known {
			groups[k], last = append(groups[k], p), k
			continue
		}
		last = len(groups)
		for _, c := range effects(p) {
			causes[c] = last
		}
		groups = append(groups, group{p})
	}
	slices.SortStableFunc(groups, func(a, b group) int { return byPlace(a[0], b[0]) })
	for _, g := range groups {
		slices.SortStableFunc(g[1:], byPlace)
	}
	copy(list, slices.Concat(groups...))
}

func byPlace(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Offset, b.Offset))
}

// origin is an error on which others depend.
type origin struct {
	kind         originKind
	file, object string
	chunk        int64
}

type originKind int

const (
	badChunk  originKind = iota // a chunk has an error
	badIndex                    // the index or the header of a dataset has an error, so that addresses of chunks are wrong
	cutFile                     // the file is shorter than its superblock requires
	badMember                   // the CRC of a member of a ZIP file is wrong, so that its frame has errors
)

// effects returns the causes that p is for other errors.
func effects(p Finding) (list []origin) {
	switch {
	case p.Chunk >= 0:
		list = append(list, origin{badChunk, p.File, p.Object, p.Chunk})
	case p.What == zipMember:
		list = append(list, origin{badMember, p.File, strings.TrimSuffix(p.Object, detect.ArrayExt), -1})
	case strings.HasPrefix(p.What, "superblock") && errors.Is(p.Err, format.ErrTruncated):
		list = append(list, origin{cutFile, p.File, "", -1})
	case slices.ContainsFunc(indexes, func(name string) bool { return strings.HasPrefix(p.What, name) }):
		list = append(list, origin{badIndex, p.File, p.Object, -1})
	}
	return list
}

// indexes are the beginnings of the names of structures that contain addresses of chunks.
var indexes = []string{"metadata", "object header", "fixed array", "extensible array", "v1 B-tree", "v2 B-tree"}

// causesOf returns the causes that p can have.
func causesOf(p Finding) (list []origin) {
	if p.Chunk >= 0 {
		list = append(list, origin{badChunk, p.File, p.Object, p.Chunk})
	}
	if p.Chunk >= 0 || p.What == "elements" {
		list = append(list, origin{badIndex, p.File, p.Object, -1})
	}
	if errors.Is(p.Err, format.ErrTruncated) {
		list = append(list, origin{cutFile, p.File, "", -1})
	}
	return append(list, origin{badMember, p.File, p.Object, -1})
}
