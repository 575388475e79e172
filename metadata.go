// Metadata of arrays and groups, as stored.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Metadata is the metadata of an array or a group in its stored form, including attributes.
type Metadata struct {
	Fixed, Variable []namedBytes // metalayers of a Blosc2 frame, those of variable length decompressed
	Files           []namedBytes // of bcolz: the metadata files
	Comment         string       // of an HDF5 object, "" if absent

	// Times of an HDF5 object; zero if they are not in the file.
	Born, Changed, Modified, Accessed time.Time
}

// namedBytes is a metalayer or a file.
type namedBytes = struct {
	Name    string
	Content []byte
}

// Metadata reads the metadata of an array or a group at a path of the file. For an untrusted file
// Untrusted.MaxMetadata bounds the total size. It returns the errors of Open.
func (t *Tree) Metadata(ctx context.Context, path string) (m Metadata, err error) {
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case t.outside != nil:
		err = t.outside.ask(ctx, request{Verb: "metadata", Path: path}, &m)
	default:
		m, err = (&walker{ctx: ctx, store: t.store, held: t.file, opened: t.single}).metadata(locate.Location{File: t.location.File, Object: path}, t.Format)
	}
	return m, ndarray.Wrap("read metadata of", shown(t.at(path)), err)
}

func (h *treeHandler) metadata(path string) (Metadata, error) {
	m, err := (&walker{ctx: context.Background(), suspect: h.s, store: h.s.store}).metadata(h.location(path), h.s.Format)
	return m, cause(err)
}

func (w *walker) metadata(l locate.Location, kind Format) (m Metadata, err error) {
	l, kind, release, err := w.placed(l, kind)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, release()) }()
	switch kind {
	case B2ND:
		if err = checkObject(kind, l); err == nil {
			err = w.frameMetadata(l.File, &m)
		}
	case Bcolz:
		err = m.bcolz(w.ctx, l, w.suspect)
	case HDF5:
		err = w.hdf5Metadata(l, &m)
	case NPY:
		err = checkObject(kind, l) // the header is the only metadata
	case Directory:
		err = w.memberMetadata(l, &m)
	case B2Z, B2D, B2E:
		err = w.storedMetadata(l, kind, &m)
	}
	return m, err
}

// frameMetadata reads the metadata of a frame at a path or URL.
func (w *walker) frameMetadata(file string, m *Metadata) (err error) {
	if w.opened.file != nil {
		f, size, done, err := w.opened.take()
		if err != nil {
			return err
		}
		return errors.Join(m.frameAt(f, size), done())
	}
	if !isURL(file) {
		return m.frame(file)
	}
	u, err := openURL(w.ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.close()) }()
	if u.object == nil {
		return fmt.Errorf("%w: metalayers of a sparse frame at a URL", errors.ErrUnsupported)
	}
	return m.frameAt(u.object, u.object.Size())
}

// memberMetadata reads the metadata of an array of a directory. A group in a directory has no other
// metadata.
func (w *walker) memberMetadata(l locate.Location, m *Metadata) error {
	if strings.Trim(l.Object, "/") == "" {
		return nil
	}
	name, err := arrayFile(l)
	if errors.Is(err, ndarray.ErrNotFound) {
		_, err := w.groupAttrs(l, Directory)
		return err
	}
	if err != nil {
		return err
	}
	file, done, err := w.reach(name)
	if err != nil {
		return err
	}
	return errors.Join(m.frame(file), done())
}

// frameAt reads the metalayers of a frame in another file.
func (m *Metadata) frameAt(r io.ReaderAt, size int64) (err error) {
	f, err := frameio.OpenReaderAt(r, size, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for _, l := range f.Header().Meta {
		m.Fixed = append(m.Fixed, namedBytes{l.Name, l.Content})
	}
	for _, name := range f.VLMetalayers() {
		content, stored, err := f.VLMetalayerSize(name)
		if err == nil {
			err = format.CheckLayer(name, content, stored)
		}
		if err != nil {
			return err
		}
		b, err := f.VLMetalayer(name)
		if err != nil {
			return err
		}
		m.Variable = append(m.Variable, namedBytes{name, b})
	}
	return nil
}

// frame reads the metalayers of a frame.
func (m *Metadata) frame(file string) (err error) {
	s, err := cblosc.OpenSChunk(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, side := range []struct {
		from *cblosc.Metalayers
		to   *[]namedBytes
	}{{s.Meta(), &m.Fixed}, {s.VLMeta(), &m.Variable}} {
		names, err := side.from.Names()
		if err != nil {
			return err
		}
		for _, name := range names {
			content, stored, err := side.from.Size(name)
			if err == nil {
				err = format.CheckLayer(name, content, stored)
			}
			if err != nil {
				return err
			}
		}
		for x, err := range side.from.All() {
			if err != nil {
				return err
			}
			*side.to = append(*side.to, namedBytes{x.Name, x.Content})
		}
	}
	return nil
}

// bcolz reads the metadata files of a tree, or of one of its columns. It does not follow links out
// of the tree.
func (m *Metadata) bcolz(ctx context.Context, l locate.Location, s *suspect) (err error) {
	if isURL(l.File) {
		tree, err := urlfile.Get().FS(ctx, l.File)
		if err != nil {
			return bareURL(err)
		}
		return m.bcolzFiles(tree, l, s)
	}
	root, err := os.OpenRoot(l.File)
	if err != nil {
		return err
	}
	return errors.Join(m.bcolzFiles(root.FS(), l, s), root.Close())
}

// bcolzFiles reads the metadata files of a tree. It does not list a directory at a URL.
func (m *Metadata) bcolzFiles(tree fs.FS, l locate.Location, s *suspect) error {
	at := path.Join(".", strings.Trim(l.Object, "/"))
	names := []string{"__rootdirs__", "__attrs__", bcolztree.SizesFile, "meta/storage"}
	others, err := bcolztree.OtherMeta(tree, at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !isURL(l.File) {
		return err
	}
	most := int64(-1)
	if s != nil {
		most = s.Limits.Metadata
	}
	for _, name := range append(names, others...) {
		name = path.Join(at, name)
		info, err := fs.Stat(tree, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%w: %s is a %v", ndarray.ErrCorrupt, name, info.Mode().Type())
		}
		if most >= 0 {
			if most -= info.Size(); most < 0 {
				return &format.Error{
					Format: "bcolz", What: "files of metadata", Got: fmt.Sprintf("%d bytes more", -most),
					Want: fmt.Sprintf("at most %d", s.Limits.Metadata), Err: format.ErrLimit,
				}
			}
		}
		b, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		m.Files = append(m.Files, namedBytes{name, b})
	}
	return nil
}

// hdf5Metadata reads the comment and the times of an object.
func (w *walker) hdf5Metadata(l locate.Location, m *Metadata) (err error) {
	f, done, err := w.openHDF5(l.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	object := h5.Object(f.Root())
	if name := strings.Trim(l.Object, "/"); name != "" {
		if object, err = f.Root().OpenObject(name); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, object.Close()) }()
	}
	if m.Comment, err = object.Comment(); err != nil {
		return err
	}
	info, err := object.Stat()
	if err != nil {
		return err
	}
	m.Born, m.Changed, m.Modified, m.Accessed = info.Born, info.Changed, info.Modified, info.Accessed
	return nil
}
