// Tree: the objects of a store in groups.

package b2store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Tree arranges objects in groups.
type Tree[T any] struct {
	objects map[string]T
	groups  map[string][]string // names of the members, sorted
}

// NewTree arranges objects by their keys. The root "/" and the parents of all objects are groups,
// and so are the keys in groups. It returns format.ErrUnsupported if the key of an object is also
// a group, which a DictStore allows, or format.ErrLimit.
func NewTree[T any](objects map[string]T, groups []string, l Limits) (*Tree[T], error) {
	l = l.filled()
	t := &Tree[T]{objects: objects, groups: map[string][]string{"/": nil}}
	add := func(key string) error {
		for key != "/" {
			i := strings.LastIndexByte(key, '/')
			parent, name := key[:max(i, 1)], key[i+1:]
			if _, both := objects[parent]; both {
				return &format.Error{Format: "blosc2 store", What: fmt.Sprintf("key %.60q", parent), Got: "an object that has members", Want: "an object or a group", Err: format.ErrUnsupported}
			}
			_, known := t.groups[parent]
			t.groups[parent] = append(t.groups[parent], name)
			if len(objects)+len(t.groups) > l.Objects {
				return &format.Error{Format: "blosc2 store", What: "number of objects and groups", Got: fmt.Sprint(len(objects) + len(t.groups)), Want: fmt.Sprintf("at most %d", l.Objects), Err: format.ErrLimit}
			}
			if known {
				return nil
			}
			key = parent
		}
		return nil
	}
	for key := range objects {
		if err := add(key); err != nil {
			return nil, err
		}
	}
	for _, key := range groups {
		if _, known := t.groups[key]; known {
			continue
		}
		if _, both := objects[key]; both {
			return nil, &format.Error{Format: "blosc2 store", What: fmt.Sprintf("key %.60q", key), Got: "an object with the attributes of a group", Want: "an object or a group", Err: format.ErrUnsupported}
		}
		t.groups[key] = nil
		if err := add(key); err != nil {
			return nil, err
		}
	}
	for _, names := range t.groups {
		slices.Sort(names)
	}
	return t, nil
}

// Order arranges the members of the group at a key, and of the groups in it, in the order of keys
// below it. Other members follow, sorted.
func (t *Tree[T]) Order(group string, keys []string) {
	prefix := strings.TrimSuffix(group, "/") + "/"
	rank := make(map[string]int)
	groups := map[string]bool{group: true}
	for _, key := range keys {
		for at := key; strings.HasPrefix(at, prefix); at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
			if _, known := rank[at]; !known {
				rank[at] = len(rank)
			}
			if at != key {
				groups[at] = true
			}
		}
	}
	for at := range groups {
		place := func(name string) int {
			if n, known := rank[strings.TrimSuffix(at, "/")+"/"+name]; known {
				return n
			}
			return len(rank)
		}
		slices.SortStableFunc(t.groups[at], func(a, b string) int { return place(a) - place(b) })
	}
}

// Object returns the object of a key.
func (t *Tree[T]) Object(key string) (T, bool) {
	x, ok := t.objects[key]
	return x, ok
}

// Members returns the names of the members of a group, sorted or in the order of Order, and whether
// the key is a group.
func (t *Tree[T]) Members(key string) ([]string, bool) {
	names, ok := t.groups[key]
	return names, ok
}
