// The tree of objects.

package view

import "strings"

// node is an object in the tree.
type node struct {
	item     Item
	parent   *node
	children []*node
	depth    int
	open     bool // its members are displayed
	listed   bool // its members were requested
	listing  bool // the request is in progress
	err      string
}

// tree is the tree and the cursor in it.
type tree struct {
	root   *node
	rows   []*node // the visible nodes
	cursor int
	top    int // first displayed row
}

func newTree() *tree {
	return &tree{root: &node{depth: -1, open: true}}
}

// refresh lists the visible rows again. The cursor stays on its node, or moves to the nearest
// visible ancestor.
func (t *tree) refresh() {
	at := t.current()
	for n := at; n != nil && n != t.root; n = n.parent {
		if !n.open && n != at {
			at = n
		}
	}
	t.rows = t.rows[:0]
	t.cursor = 0
	var walk func(n *node)
	walk = func(n *node) {
		for _, c := range n.children {
			if c == at {
				t.cursor = len(t.rows)
			}
			t.rows = append(t.rows, c)
			if c.open {
				walk(c)
			}
		}
	}
	walk(t.root)
}

// current returns the node at the cursor, or nil if the tree is empty.
func (t *tree) current() *node {
	if t.cursor >= len(t.rows) {
		return nil
	}
	return t.rows[t.cursor]
}

// add appends members to a node.
func (n *node) add(items []Item) {
	for _, it := range items {
		n.children = append(n.children, &node{item: it, parent: n, depth: n.depth + 1})
	}
}

// matches reports whether an item matches a search. A pattern with a slash is compared with the
// whole path, any other with the name; both ignore case.
func matches(it *Item, pattern string) bool {
	in := it.Path[strings.LastIndexByte(it.Path, '/')+1:]
	if strings.Contains(pattern, "/") {
		in = it.Path
	}
	return strings.Contains(strings.ToLower(in), strings.ToLower(pattern))
}
