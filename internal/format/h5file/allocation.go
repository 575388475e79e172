// Allocation types of structures.

package h5file

import "strings"

// allocationOf maps the beginning of a name of a structure to its type.
var allocationOf = []struct{ name, kind string }{
	{"superblock", "superblock"}, {"driver information", "superblock"}, {"metadata cache image", "superblock"},
	{"object header", "ohdr"}, {"global heap", "gheap"}, {"local heap", "lheap"},
	{"fractal heap direct", "lheap"}, {"fractal heap", "ohdr"},
	{"free-space section", "lheap"}, {"free-space manager", "ohdr"},
	{"shared message record", "btree"}, {"shared object header message table", "ohdr"},
	{"extensible array data block", "lheap"}, {"extensible array secondary", "btree"}, {"extensible array", "ohdr"},
	{"fixed array data block", "lheap"}, {"fixed array", "ohdr"},
	{"v1 B-tree", "btree"}, {"v2 B-tree", "btree"}, {"symbol table node", "btree"},
}

// AllocationType returns the allocation type of a structure that Structures passes, by its name:
// superblock, btree, lheap, gheap or ohdr; "" for a structure without one.
func AllocationType(name string) string {
	for _, a := range allocationOf {
		if strings.HasPrefix(name, a.name) {
			return a.kind
		}
	}
	return ""
}
