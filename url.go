// Objects at URLs: the functions of this package that open files also open them.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
	"github.com/hyperslab/hyperslab/ndarray/npy"
)

// isURL reports whether the file of a location is a URL.
func isURL(file string) bool { return urlfile.IsURL(file) }

// shown returns a location for messages, without secrets of a URL.
func shown(location string) string { return urlfile.Redact(location) }

// urlError is an error of package remote in an error that already contains the URL.
type urlError struct{ err, cause error }

func (e *urlError) Error() string { return e.cause.Error() }
func (e *urlError) Unwrap() error { return e.err }

// bareURL removes the URL from the message of an error.
func bareURL(err error) error {
	if cause := urlfile.Get().Cause(err); cause != nil {
		return &urlError{err, cause}
	}
	return err
}

// urlFile is an open object, or a directory of objects.
type urlFile struct {
	object urlfile.Object // nil: a directory
	dir    fs.FS
	format Format
	name   string // for messages
}

// openURL opens the file at a URL and detects its format. The URL of a sparse frame, a carray or a
// ctable is that of its directory.
func openURL(ctx context.Context, file string) (*urlFile, error) {
	return openURLBy(ctx, file, urlfile.Client.Open)
}

// openURLBy is openURL with a method of the client.
func openURLBy(ctx context.Context, file string, open func(urlfile.Client, context.Context, string) (urlfile.Object, error)) (*urlFile, error) {
	u := &urlFile{name: shown(file)}
	c := urlfile.Get()
	o, err := open(c, ctx, file)
	if err == nil {
		u.object = o
		var f string
		if f, err = detect.Reader(o, o.Size(), file); err == nil {
			u.format = Format(f)
			return u, nil
		}
		err = errors.Join(err, o.Close())
		u.object = nil
	}
	// A server may answer the request for a directory with a page.
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ndarray.ErrFormat) || strings.HasSuffix(file, "/") {
		if dir, derr := c.FS(ctx, file); derr == nil && u.directory(dir) {
			return u, nil
		}
	}
	return nil, bareURL(err)
}

// directory detects the format of a directory.
func (u *urlFile) directory(dir fs.FS) bool {
	u.dir = dir
	if _, err := fs.Stat(dir, cframe.IndexFile); err == nil {
		u.format = B2ND
		return true
	}
	kind, err := bcolztree.Detect(dir, ".")
	u.format = Bcolz
	return err == nil && kind != bcolztree.NotATree
}

func (u *urlFile) close() error {
	if u.object == nil {
		return nil
	}
	return u.object.Close()
}

// sniffURL is detect.Opener for a URL.
func sniffURL(ctx context.Context, file string) (Format, error) {
	u, err := openURL(ctx, file)
	if err != nil {
		return "", err
	}
	return u.format, u.close()
}

// sniffURLContent is detect.Content for a URL.
func sniffURLContent(ctx context.Context, file string) (Format, error) {
	u, err := openURL(ctx, file)
	if err != nil {
		return "", err
	}
	if u.object != nil {
		u.format = Format(detect.WithCaterva(string(u.format), u.object, u.object.Size()))
	}
	return u.format, u.close()
}

// hdf5File opens the file with libhdf5, which takes ownership of the object.
func (u *urlFile) hdf5File() (*h5.File, error) {
	if u.format != HDF5 {
		return nil, errors.Join(fmt.Errorf("%w: format %s, want %s", ndarray.ErrFormat, u.format, HDF5), u.close())
	}
	f, err := h5.OpenReaderAt(u.object, u.object.Size(), &h5.ReaderOptions{BlockSize: 512, Blocks: 256, Concurrent: true, Close: u.object.Close})
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	return f, nil
}

// openSource opens an HDF5 file or URL for reading with libhdf5.
func openSource(ctx context.Context, file string, unlocked func(file string, err error)) (*h5.File, error) {
	if !isURL(file) {
		return openHDF5(file, nil, unlocked)
	}
	u, err := openURL(ctx, file)
	if err != nil {
		return nil, err
	}
	return u.hdf5File()
}

// openURLArray opens the array at a location.
func openURLArray(ctx context.Context, l locate.Location, o OpenOptions) (*ndarray.Array, error) {
	if o.Write || o.Library || o.Durable || o.Shards != nil {
		return nil, fmt.Errorf("%w: writing to a URL, or reading it with a C library alone or in shards", errors.ErrUnsupported)
	}
	u, err := openURL(ctx, l.File)
	if err != nil {
		return nil, err
	}
	err = checkObject(u.format, l)
	if err == nil && o.DType != nil && u.format != B2ND && !isStore(u.format) {
		err = fmt.Errorf("%w: an array of format %s stores its dtype, which cannot be set", ndarray.ErrParam, u.format)
	}
	if err != nil {
		return nil, errors.Join(err, u.close())
	}
	name := locate.Location{File: u.name, Object: l.Object}.String()
	switch {
	case u.format == HDF5:
		f, err := u.hdf5File()
		if err != nil {
			return nil, err
		}
		// libhdf5 does not decode chunks that package chunkio decodes.
		return array(hdf5.OpenIn(f.Root(), l.Object, name, &hdf5.OpenOptions{Untrusted: true, Missing: o.Missing}))
	case isStore(u.format):
		s, err := u.store()
		if err != nil {
			return nil, err
		}
		m, err := openMember(s, groupPath(l), name, &b2nd.OpenOptions{DType: o.DType, Metadata: o.Metadata})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		m.setClose(s.Close)
		return array(m, nil)
	case u.format == Bcolz:
		return openCarray(u.dir, l, nil)
	case u.format == NPY:
		return array(u.npy())
	}
	return array(u.frame(&b2nd.OpenOptions{DType: o.DType, Metadata: o.Metadata}))
}

// frame opens a frame, which takes ownership of the object.
func (u *urlFile) frame(o *b2nd.OpenOptions) (ndarray.Backend, error) {
	var r ndarray.Backend
	var err error
	if u.object == nil {
		r, err = b2nd.OpenFS(u.dir, o)
	} else {
		r, err = b2nd.OpenReaderAt(u.object, u.object.Size(), u.name, o)
	}
	return owned(r, bareFrame(err), u.close)
}

// bareFrame returns err without the operation and the path of package b2nd.
func bareFrame(err error) error {
	if e, ok := errors.AsType[*ndarray.Error](err); ok {
		return e.Err
	}
	return err
}

// store opens a container of python-blosc2, which takes ownership of the object.
func (u *urlFile) store() (*stores.Store, error) {
	if !isStore(u.format) || u.object == nil {
		return nil, errors.Join(fmt.Errorf("%w: format %s", ndarray.ErrFormat, u.format), u.close())
	}
	return stores.OpenReaderAt(u.object, u.object.Size(), string(u.format), stores.Options{})
}

// openCarray opens the bcolz array at a location in the root directory of fsys.
func openCarray(fsys fs.FS, l locate.Location, o *bcolz.OpenOptions) (*ndarray.Array, error) {
	return bcolzArray(l,
		func() (*bcolz.Table, error) { return bcolz.OpenTableFS(fsys, ".", o) },
		func() (*ndarray.Array, error) { return array(bcolz.OpenFS(fsys, ".", o)) })
}

// openTable opens the ctable at a path or URL.
func openTable(ctx context.Context, file string, o *bcolz.OpenOptions) (*bcolz.Table, error) {
	if !isURL(file) {
		return bcolz.OpenTable(file, o)
	}
	dir, err := urlfile.Get().FS(ctx, file)
	if err != nil {
		return nil, err
	}
	return bcolz.OpenTableFS(dir, ".", o)
}

// openPlainCarray opens the carray at a path or URL.
func openPlainCarray(ctx context.Context, file string, o *bcolz.OpenOptions) (ndarray.Backend, error) {
	if !isURL(file) {
		return bcolz.Open(file, o)
	}
	dir, err := urlfile.Get().FS(ctx, file)
	if err != nil {
		return nil, err
	}
	return bcolz.OpenFS(dir, ".", o)
}

// urlFrame lists the one array at a URL.
func (w *walker) urlFrame(file, at string) error {
	u, err := openURL(w.ctx, file)
	if err != nil {
		return err
	}
	b, err := u.frame(listing)
	if err != nil {
		return ndarray.Wrap("open", u.name, err)
	}
	return w.listFrame(u.name, at, b)
}

// openOrCopy opens a file or a directory to read it. The content at a URL is first copied to a
// temporary file without a name, because a worker has no network and the checked bytes must be the
// ones that are read.
func openOrCopy(ctx context.Context, file string, most int64) (_ *os.File, err error) {
	if !isURL(file) {
		return openToRead(file)
	}
	o, err := urlfile.Get().Open(ctx, file)
	if err != nil {
		return nil, bareURL(err)
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return urlfile.Copy(ctx, o, o.Size(), most)
}

// npy opens a .npy file, which takes ownership of the object.
func (u *urlFile) npy() (ndarray.Backend, error) {
	b, err := npy.OpenReaderAt(u.object, u.object.Size(), u.name)
	return owned(b, err, u.close)
}
