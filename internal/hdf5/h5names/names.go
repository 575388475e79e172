// Paths by address, of an open file.

package h5names

import (
	"errors"
	"runtime"
	"sync"
	"weak"

	"github.com/hyperslab/hyperslab/h5"
)

const (
	few  = 4       // paths that libhdf5 finds, because it stops at the first match
	most = 1 << 20 // objects in the map of a file; libhdf5 finds the paths of others
)

// names are the paths of the objects of an open file by address. A path is the first one in the
// order in which libhdf5 searches.
type names struct {
	mu    sync.Mutex
	found int               // paths that libhdf5 found
	paths map[uint64]string // nil until the file is searched
	whole bool              // paths contains all objects with a path
}

var files sync.Map // weak.Pointer[h5.File] -> *names

func of(f *h5.File) *names {
	key := weak.Make(f)
	n, loaded := files.LoadOrStore(key, &names{})
	if !loaded {
		runtime.AddCleanup(f, func(key weak.Pointer[h5.File]) { files.Delete(key) }, key)
	}
	return n.(*names)
}

// Resolve is File.Resolve. Its cost for many references grows with the number of references plus
// the number of links in the file.
func Resolve(f *h5.File, r h5.Ref) (h5.Referent, error) {
	n := of(f)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found < few {
		n.found++
		return f.Resolve(r)
	}
	to, err := f.ResolveTarget(r)
	if err != nil {
		return to, err
	}
	path, known, err := n.path(f, to.Address)
	if err != nil || known {
		to.Path = path
		return to, err
	}
	return f.Resolve(r)
}

// path returns the path of an object. If it is "", the object has none. known is false if the map
// does not contain all objects.
func (n *names) path(f *h5.File, address uint64) (path string, known bool, err error) {
	fresh := n.paths == nil
	if fresh {
		if err := n.search(f); err != nil {
			return "", false, err
		}
	}
	path, ok := n.paths[address]
	if f.Mode() == h5.ReadOnly || fresh {
		return path, ok || n.whole, nil
	}
	// The links of a file that is open for writing may have changed.
	if ok {
		if info, err := f.Root().ObjectInfo(path); err == nil && info.Address == address {
			return path, true, nil
		}
	}
	n.paths = nil
	return n.path(f, address)
}

// root returns the path from the root of a path that Visit yields.
func root(path string) string {
	if path == "." {
		return "/"
	}
	return "/" + path
}

// search fills the map. Objects that cannot be read are left out.
func (n *names) search(f *h5.File) error {
	paths := make(map[uint64]string)
	n.whole = true
	for v, err := range f.Root().VisitIn(h5.AsStored) {
		if errors.Is(err, h5.ErrClosed) {
			return err
		}
		if err != nil {
			n.whole = false
			continue
		}
		if len(paths) == most {
			n.whole = false
			break
		}
		if _, again := paths[v.Address]; !again {
			paths[v.Address] = root(v.Path)
		}
	}
	n.paths = paths
	return nil
}
