// File and its parallel reads.

package h5prefetch

import (
	"context"
	"io"
	"sync"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
)

const (
	workers    = 16      // objects that are read at the same time
	headerSize = 1 << 10 // bytes of an object header that are fetched first
)

// File reads metadata of one file. A nil File does nothing.
type File struct {
	r    readahead.Reader
	f    *h5file.File
	size int64

	whole bool // Whole fetches the file, so that no other function does anything
}

// Open returns nil if r cannot fetch ranges before they are read, if an index contains the
// metadata, or if it is not an HDF5 file.
func Open(r io.ReaderAt, size int64) *File {
	to := readahead.Of(r)
	if to == nil {
		return nil
	}
	if x, ok := to.(readahead.Indexed); ok && x.Indexed() {
		return nil
	}
	f, err := h5file.Open(to, size, nil)
	if err != nil {
		return nil // libhdf5 returns the error
	}
	return &File{r: to, f: f, size: size}
}

// Whole begins to read a small file as a whole. A listing needs most of it, in many small parts.
func (w *File) Whole() {
	if w != nil && w.size <= readahead.SmallFile {
		w.whole = true
		w.r.Prefetch(context.Background(), readahead.List([][2]int64{{0, w.size}})) // it ends when the file is closed
	}
}

// Links reads the links of the group at an address.
func (w *File) Links(group uint64) {
	if w == nil || w.whole {
		return
	}
	if o, err := w.f.Object(h5file.Addr(group)); err == nil {
		drain(o, content{links: true})
	}
}

// Objects reads the headers of objects, their attributes and links, and with indexes also their
// chunk indexes. Errors are ignored, because libhdf5 reads the same structures afterwards and
// returns its own.
func (w *File) Objects(addresses []uint64, indexes bool) {
	w.objects(addresses, content{links: true, indexes: indexes})
}

// Index reads the chunk index of a dataset, with the rules of Objects.
func Index(d *h5.Dataset) {
	if r, size := d.File().Source(); r != nil {
		if info, err := d.Stat(); err == nil {
			Open(r, size).objects([]uint64{info.Address}, content{indexes: true})
		}
	}
}

// Header reads the header of an object and its attributes, with the rules of Objects.
func (w *File) Header(address uint64) { w.objects([]uint64{address}, content{}) }

// content selects the structures of an object that are read after its header and attributes.
type content struct{ links, indexes bool }

func (w *File) objects(addresses []uint64, c content) {
	if w == nil || w.whole || len(addresses) == 0 {
		return
	}
	ranges := make([][2]int64, len(addresses))
	for i, a := range addresses {
		ranges[i] = [2]int64{w.f.UserBlock() + int64(a), headerSize}
	}
	defer w.r.Prefetch(context.Background(), readahead.List(ranges))()
	next := make(chan uint64)
	var all sync.WaitGroup
	for range min(workers, len(addresses)) {
		all.Go(func() {
			for a := range next {
				if o, err := w.f.Object(h5file.Addr(a)); err == nil {
					drain(o, c)
				}
			}
		})
	}
	for _, a := range addresses {
		next <- a
	}
	close(next)
	all.Wait()
}

// drain reads the attributes of an object, and the content that a listing needs.
func drain(o *h5file.Object, c content) {
	for _, err := range o.Attributes() {
		if err != nil {
			return
		}
	}
	switch kind := o.Kind(); {
	case kind == h5file.GroupKind && c.links:
		for _, err := range o.Links() {
			if err != nil {
				return
			}
		}
	case kind == h5file.DatasetKind && c.indexes:
		if l := o.Layout(); l == nil || l.Class != h5file.Chunked {
			return
		}
		for _, err := range o.Chunks() {
			if err != nil {
				return
			}
		}
	}
}
