package h5walk

import (
	"errors"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Object is an object of a file, or a link that is no object of its own.
type Object struct {
	Path string
	Info h5.ObjectInfo // zero for a link, and after an error of reading it

	// Link is a soft, external or user-defined link, which is not followed, or a hard link to an
	// object that was listed before at the path First. It is nil for all other objects.
	Link  *h5.Link
	First string

	Comment string           // of a group
	Dataset hdf5.Description // of a dataset
	Type    string           // of a committed datatype, in DDL

	// Err is the reason why the object cannot be read. It is ndarray.ErrType for a dataset whose
	// element type ndarray does not have. The walk continues.
	Err error
}

// growBelow is the hit rate below which libhdf5 enlarges the metadata cache of a file; its default
// is 0.9. A pass that opens each array once also reads each object header once, so its hit rate is
// below 0.9 in a cache of any size. Growth does not help it, and costs memory: a decoded header
// takes about ten times the bytes that libhdf5 counts. The cache still grows for a single large
// entry, such as the heap of names of a large group.
const growBelow = 0.8

// Open opens a file for a pass over its objects. It takes ownership of opened, the file if the
// caller has opened it, or nil.
func Open(file string, opened *os.File) (*h5.File, error) {
	f, err := h5.OpenWith(file, &h5.OpenOptions{File: opened})
	if err != nil {
		return nil, err
	}
	cache, err := f.CacheState()
	if err == nil {
		cache.Config.LowerHitRate = growBelow
		err = f.SetMetadataCache(cache.Config)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Detail is the extent of the descriptions of datasets.
type Detail int

// The details of a walk, each with less cost than the one before.
const (
	Sizes   Detail = iota // the whole Object.Dataset; the chunk index of each dataset is read
	NoSizes               // without the stored size, which is -1
	Names                 // datasets stay closed: Object.Dataset is zero
)

// Walk calls visit for the object at a path and for all objects below it in the order of paths: a
// group, then its members by name. visit reports whether the members of a group are listed too. An
// error of visit ends the walk. file is the name of the file in the descriptions of datasets.
func Walk(f *h5.File, file, at string, detail Detail, visit func(Object) (descend bool, err error)) error {
	info, err := f.Root().ObjectInfo(at)
	if err != nil {
		return err
	}
	w := walker{file: file, detail: detail, visit: visit, seen: make(map[objectID]string)}
	if r, size := f.Source(); r != nil {
		w.warm = h5prefetch.Open(r, size)
		w.warm.Whole()
		w.warm.Objects([]uint64{info.Address}, detail == Sizes)
	}
	return w.object(f.Root(), at, at, info)
}

// objectID is equal for all links to an object.
type objectID struct{ file, address uint64 }

type walker struct {
	file   string
	detail Detail
	visit  func(Object) (bool, error)
	seen   map[objectID]string // path at which a group, or an object with several links, was first listed
	warm   *h5prefetch.File    // nil unless the file is remote
}

func (w *walker) emit(o Object) error {
	_, err := w.visit(o)
	return err
}

// object lists the object with that name in parent, whose path is at, and the objects below it.
// Names are looked up in the parent, so that the cost of an object does not depend on its depth.
func (w *walker) object(parent *h5.Group, name, at string, info h5.ObjectInfo) error {
	id := objectID{info.FileNo, info.Address}
	if first, ok := w.seen[id]; ok {
		return w.emit(Object{Path: at, Link: &h5.Link{Name: name, Kind: h5.HardLink}, First: first})
	}
	if info.Links > 1 || info.Kind == h5.GroupObject { // in a corrupt file a group can contain itself and count one link
		w.seen[id] = at
	}
	o := Object{Path: at, Info: info}
	switch info.Kind {
	case h5.GroupObject:
		return w.group(parent, name, o)
	case h5.DatasetObject:
		if w.detail != Names {
			o.Dataset, o.Err = Describe(parent, name, w.file+":"+at, &hdf5.DescribeOptions{NoNames: info.NumAttrs == 0, NoSize: w.detail == NoSizes})
		}
	case h5.DatatypeObject:
		t, err := parent.CommittedDatatype(name)
		if o.Err = err; err == nil {
			o.Type = t.String()
		}
	}
	return w.emit(o)
}

// Describe describes the dataset with that name in a group. path becomes Meta.Path.
func Describe(parent *h5.Group, name, path string, o *hdf5.DescribeOptions) (hdf5.Description, error) {
	d, err := parent.OpenDataset(name)
	if err != nil {
		return hdf5.Description{}, err
	}
	description, err := hdf5.Describe(d, path, o)
	return description, errors.Join(err, d.Close())
}

// group lists a group and its members.
func (w *walker) group(parent *h5.Group, name string, o Object) (err error) {
	var links []h5.Link
	w.warm.Links(o.Info.Address)
	g, openErr := parent.OpenGroup(name)
	if openErr == nil {
		defer func() { err = errors.Join(err, g.Close()) }()
		for l, lerr := range g.Links() {
			if lerr != nil {
				openErr = lerr
				break
			}
			links = append(links, l)
		}
		var cerr error
		o.Comment, cerr = g.Comment()
		openErr = errors.Join(openErr, cerr)
	}
	o.Err = openErr
	if descend, err := w.visit(o); !descend || err != nil {
		return err
	}
	for i := range links {
		if i%batch == 0 {
			w.fetch(links[i:min(i+batch, len(links))])
		}
		if err := w.link(g, strings.TrimSuffix(o.Path, "/")+"/"+links[i].Name, &links[i]); err != nil {
			return err
		}
	}
	return nil
}

// batch is the number of objects of a remote file whose metadata is read at the same time.
const batch = 512

// fetch reads the metadata of the objects that links lead to.
func (w *walker) fetch(links []h5.Link) {
	if w.warm == nil {
		return
	}
	var at []uint64
	for i := range links {
		if links[i].Kind == h5.HardLink {
			at = append(at, links[i].Address)
		}
	}
	w.warm.Objects(at, w.detail == Sizes)
}

func (w *walker) link(parent *h5.Group, at string, l *h5.Link) error {
	if l.Kind != h5.HardLink {
		return w.emit(Object{Path: at, Link: l})
	}
	info, err := parent.ObjectInfo(l.Name)
	if err != nil {
		return w.emit(Object{Path: at, Err: err})
	}
	return w.object(parent, l.Name, at, info)
}
