//go:build cgo

// Walks over all objects or links below a group, in batches of one group's links. The caller's code
// does not run under the library lock. A walk needs memory for one path and its open groups, and an
// address for each group. It is built on the listing of links.

package h5

import "iter"

// Visited is an object yielded by Visit.
type Visited struct {
	Path    string // relative to the group where the walk began; "." for that group itself
	Kind    ObjectKind
	Address uint64
}

// VisitedLink is a link yielded by VisitLinks.
type VisitedLink struct {
	Path string // relative to the group where the walk began
	Link Link
}

// Visit yields the group itself and every object below it once, by the first path of hard links
// that leads to it. Groups come before their content, and names are sorted. Unlike H5Ovisit3, Visit
// lists a group's links only when the walk reaches the group, and the loop body may change any
// object. Soft, external and user-defined links are not followed. Cycles of hard links end the
// walk.
//
// If an object cannot be read, Visit yields its path with an error and continues.
func (g *Group) Visit() iter.Seq2[Visited, error] { return g.VisitIn(ByName) }

// VisitIn is Visit in another order of the links of each group. With AsStored the first path of an
// object is the one that libhdf5 finds (H5Iget_name).
func (g *Group) VisitIn(o ListOrder) iter.Seq2[Visited, error] {
	return func(yield func(Visited, error) bool) {
		info, err := g.Stat()
		if err != nil {
			yield(Visited{Path: "."}, err)
			return
		}
		if !yield(Visited{".", GroupObject, info.Address}, nil) {
			return
		}
		w := walk{order: o, seen: map[uint64]bool{info.Address: true}, object: yield}
		w.group(g, ".", ".")
	}
}

// VisitLinks yields every link below the group, listing each group once, as H5Lvisit2 does.
// Otherwise it is like Visit.
func (g *Group) VisitLinks() iter.Seq2[VisitedLink, error] {
	return func(yield func(VisitedLink, error) bool) {
		info, err := g.Stat()
		if err != nil {
			yield(VisitedLink{Path: "."}, err)
			return
		}
		w := walk{seen: map[uint64]bool{info.Address: true}, link: yield}
		w.group(g, ".", ".")
	}
}

// A walk yields objects or links.
type walk struct {
	order  ListOrder
	seen   map[uint64]bool // groups, and objects with several hard links, that were yielded
	object func(Visited, error) bool
	link   func(VisitedLink, error) bool
}

// group yields the content of the group with that name in parent, whose path is at, and reports
// whether to go on. It looks up names in an open group, because the cost of a path grows with its
// length.
func (w *walk) group(parent *Group, name, at string) bool {
	r, err := parent.list("visit", name, w.order, 1)
	if err != nil {
		return w.failed(at, err)
	}
	var g *Group // open if the group has members that are groups
	defer func() {
		if g != nil {
			_ = g.Close()
		}
	}()
	for range r.word() {
		l, kind, hard := r.link(), ObjectKind(r.word()), r.word()
		p := l.Name
		if at != "." {
			p = at + "/" + l.Name // not path.Join: ".." is an ordinary name
		}
		if w.link != nil && !w.link(VisitedLink{p, l}, nil) {
			return false
		}
		if l.Kind != HardLink || w.seen[l.Address] {
			continue
		}
		if kind == 0 { // libhdf5 could not read the object, perhaps because memory was short
			info, err := parent.ObjectInfo(name + "/" + l.Name)
			if err != nil {
				if !w.failed(p, err) {
					return false
				}
				continue
			}
			kind, hard = info.Kind, uint64(info.Links)
		}
		if hard > 1 || kind == GroupObject { // in a corrupt file a group can contain itself and count one link
			w.seen[l.Address] = true
		}
		if w.object != nil && !w.object(Visited{p, kind, l.Address}, nil) {
			return false
		}
		if kind != GroupObject {
			continue
		}
		if g == nil {
			if g, err = parent.OpenGroup(name); err != nil {
				return w.failed(at, err)
			}
		}
		if !w.group(g, l.Name, p) {
			return false
		}
	}
	return true
}

// failed yields err.
func (w *walk) failed(name string, err error) bool {
	if w.object != nil {
		return w.object(Visited{Path: name}, err)
	}
	return w.link(VisitedLink{Path: name}, err)
}
