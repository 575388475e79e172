// Soft links that lead out of an HDF5 file: through an external or user-defined link.

package scan

import (
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

// maxFollowed is the number of soft links that libhdf5 follows in one lookup (H5L_NUM_LINKS).
const maxFollowed = 16

// entry identifies a link by its group and name.
type entry struct {
	group h5file.Addr
	name  string
}

// resolver follows soft links among the links of a file.
type resolver struct {
	root  h5file.Addr
	links map[entry]h5file.Link
	known map[entry]target // of soft links
}

// target is the object that a link leads to.
type target struct {
	object  h5file.Addr // undefined if there is no such object
	outside bool        // the lookup leaves the file
}

// softLinks reports soft links that lead out of the file.
func (s *scanner) softLinks(f *h5file.File) error {
	r := &resolver{f.Superblock().Root, map[entry]h5file.Link{}, map[entry]target{}}
	type soft struct {
		path string
		at   entry
	}
	var all []soft
	for e := range f.Walk() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if e.Object == nil || e.Object.Kind() != h5file.GroupKind {
			continue
		}
		for l, err := range e.Object.Links() {
			if err != nil {
				break // File.Check reports the error
			}
			at := entry{e.Object.Addr, l.Name}
			r.links[at] = l
			if l.Kind == h5file.SoftLink {
				all = append(all, soft{strings.TrimSuffix(e.Path, "/") + "/" + l.Name, at})
			}
		}
	}
	for _, l := range all {
		if t, _ := r.follow(l.at, 0); t.outside {
			s.add(SoftLink, l.path, -1, "soft link to %q, which leads out of the file", r.links[l.at].Path)
		}
	}
	return nil
}

// follow returns the target of a link. whole is false if the number of soft links, of which depth
// are followed already, exceeds that of a lookup.
func (r *resolver) follow(at entry, depth int) (t target, whole bool) {
	l, ok := r.links[at]
	switch {
	case !ok:
		return target{object: h5file.Undefined}, true
	case l.Kind == h5file.HardLink:
		return target{object: l.Target}, true
	case l.Kind != h5file.SoftLink:
		return target{h5file.Undefined, true}, true
	case depth == maxFollowed:
		return target{object: h5file.Undefined}, false
	}
	if t, ok := r.known[at]; ok {
		return t, true
	}
	t = target{object: at.group}
	if strings.HasPrefix(l.Path, "/") {
		t.object = r.root
	}
	for name := range strings.SplitSeq(l.Path, "/") {
		if name == "" || name == "." {
			continue
		}
		if t, whole = r.follow(entry{t.object, name}, depth+1); !whole {
			return t, false
		}
		if t.outside || !t.object.Defined() {
			break
		}
	}
	r.known[at] = t
	return t, true
}
