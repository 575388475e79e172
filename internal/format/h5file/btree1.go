// Version 1 B-trees: nodes of both types, their keys and siblings (File Format, III.A.1).

package h5file

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
)

// Types of version 1 nodes.
const (
	groupNodes = 0
	chunkNodes = 1
)

// A walk1 traverses a version 1 B-tree in order. It reads as much of a corrupt tree as possible and
// records the errors.
type walk1 struct {
	r        *reader
	nodeType uint8
	keySize  int
	rank     int                                             // K: a node has at most 2 K children
	key      func(p *part) any                               // reads a key
	leaf     func(p *part, child Addr, left, right any) bool // visits a child of a node of level 0

	// want reports whether chunks between two encoded keys are visited. nil: all are visited, and
	// the siblings of all nodes are checked.
	want func(left, right []byte) bool

	levels map[uint8]*level1
	unsure error // first error of the nodes above the current one
}

// level1 is the last node that was read on one level.
type level1 struct {
	addr, right Addr
}

// run walks the tree whose root is at a.
func (w *walk1) run(a Addr) {
	w.levels = map[uint8]*level1{}
	w.node(a, -1)
	for _, l := range w.levels {
		if l.right.Defined() && w.want == nil {
			w.r.note(w.r.corrupt("v1 B-tree node", l.addr, "right sibling "+l.right.String()+" of the last node", "none"))
		}
	}
}

// node walks the node at a. level is the expected level, -1 for the root. It returns false if the
// visitor has stopped. Levels decrease from parent to child, so there are at most 256 of them. A
// tree with K = 1 may be that deep.
func (w *walk1) node(a Addr, level int) bool {
	const what = "v1 B-tree node"
	r := w.r
	if err := r.once(what, a); err != nil {
		r.note(err)
		return true
	}
	o := r.f.super.OffsetSize
	p := r.part(what, a, int64(8+2*o+2*w.rank*(w.keySize+o)+w.keySize))
	if !p.signature("TREE") {
		r.note(p.done())
		return true
	}
	t := p.u8("node type")
	good := p.check(t == w.nodeType, t, fmt.Sprint(w.nodeType))
	l := p.u8("node level")
	good = p.check(level < 0 || int(l) == level, l, fmt.Sprint(level)) && good
	n := int(p.u16("entries used"))
	// libhdf5 follows the first child of a node above level 0 without checking that there is one.
	good = p.check(n > 0 || l == 0, n, fmt.Sprintf("at least 1 at level %d", l)) && good
	good = p.check(n <= 2*w.rank, n, fmt.Sprintf("at most %d, twice K", 2*w.rank)) && good
	if !good || !p.ok() {
		r.note(p.done())
		return true
	}
	w.siblings(p, a, l)
	if l > 0 || w.nodeType == groupNodes {
		next := w.children(p.b, p.pos, n)
		r.hint(next, int64(len(p.b)))
		if level < 0 && l > 0 {
			var nodes atomic.Int64
			w.below(next, len(p.b), int(l)-1, &nodes)
		}
	}
	more := true
	var left any
	for i := 0; i < n && p.ok() && more; i++ {
		end := p.group("key", i)
		if key := w.key(p); i == 0 {
			left = key
		}
		end()
		from := p.pos - w.keySize
		child := p.addr("child address")
		to := p.pos
		// The key after the child is needed first. It is read again as the left key of the next
		// child.
		q := *p
		q.field, q.last, q.open = nil, nil, nil
		right := w.key(&q)
		if !p.ok() {
			break
		}
		if !q.ok() { // the child is complete even if the file ends after it
			p.fail(q.err)
		}
		if w.want != nil && q.ok() && !w.want(p.b[from:from+w.keySize], p.b[to:to+w.keySize]) {
			left = right
			continue
		}
		if l > 0 {
			above := w.unsure
			if w.unsure == nil {
				w.unsure = p.err
			}
			more = w.node(child, int(l)-1)
			w.unsure = above
		} else {
			more = w.leaf(p, child, left, right)
		}
		left = right
	}
	if n > 0 && p.ok() && more {
		end := p.group("key", n)
		w.key(p)
		end()
	}
	r.note(p.done())
	return more
}

// below hints the children of nodes at a level, if the file is remote. Unlike the traversal, it
// reads the nodes of a level at the same time. nodes counts them, up to hinted.
func (w *walk1) below(list []Addr, size, level int, nodes *atomic.Int64) {
	src := readahead.Of(w.r.f.src)
	if src == nil || level == 0 && w.nodeType == chunkNodes {
		return
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, a := range list {
		if !a.Defined() || nodes.Add(1) > hinted {
			break
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			b := make([]byte, size)
			n, err := src.ReadAt(b, w.r.f.place(a)) // the traversal returns the error
			first := 8 + 2*w.r.f.super.OffsetSize
			if err != nil || n < first || string(b[:4]) != "TREE" || int(b[5]) != level {
				return
			}
			next := w.children(b, first, min(int(b[6])|int(b[7])<<8, 2*w.rank))
			w.r.hint(next, int64(size))
			if level > 0 {
				w.below(next, size, level-1, nodes)
			}
		})
	}
	all.Wait()
}

// children returns the addresses of the first n children of a node that are visited, without other
// checks. at is the position of the first key.
func (w *walk1) children(b []byte, at, n int) (list []Addr) {
	o := w.r.f.super.OffsetSize
	for at += w.keySize; n > 0 && at+o <= len(b); at += w.keySize + o {
		n--
		if w.want != nil && (at+o+w.keySize > len(b) || !w.want(b[at-w.keySize:at], b[at+o:at+o+w.keySize])) {
			continue
		}
		list = append(list, addresses(b[at:at+o], o)...)
	}
	return list
}

// siblings checks that the nodes of a level are chained in order.
func (w *walk1) siblings(p *part, a Addr, l uint8) {
	before := w.levels[l]
	want := Undefined
	if before != nil {
		want = before.addr
	}
	left := p.addr("address of left sibling")
	if w.want != nil {
		p.addr("address of right sibling")
		return
	}
	p.check(left == want, left, want.String())
	if before != nil && before.right != a {
		p.check(false, "right sibling "+before.right.String()+" of the node before", a.String())
	}
	w.levels[l] = &level1{addr: a, right: p.addr("address of right sibling")}
}
