// CopyTree to containers of python-blosc2.

package hyperslab

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// embedChunk is the chunk size of the frame with embedded objects, as in python-blosc2.
const embedChunk = 8192

// storeFiles receives the files of a new store.
type storeFiles interface {
	// begin returns the name of a file to create for a key.
	begin(key, ext string) (string, error)
	// finish adds the complete file.
	finish(key, ext string) error
	// drop removes a file that is not added.
	drop(key, ext string) error
}

// writeEmbedded writes an EmbedStore, which contains all frames one after the other. They are first
// written to a temporary file, because their offsets precede them in the new file.
func (c *treeCopy) writeEmbedded(ctx context.Context, file string) (err error) {
	stage, err := atomicfile.Create(ctx, file+".member", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Abort()) }()
	values, err := atomicfile.Create(ctx, file+".values", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, values.Abort()) }()
	all, err := os.OpenFile(values.Path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	e := &embedFiles{stage: stage.Path(), values: all}
	if err := c.writeArrays(ctx, e); err != nil {
		return err
	}
	if _, err := all.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b2nd.CreateFrame(file, embedChunk, urlfile.Reader(ctx, all), embedAttrs("b2embed", e.ranges, e.offset))
}

// embedFiles are the frames of a .b2e. Each is written to a temporary file first.
type embedFiles struct {
	stage  string
	values *os.File
	offset int64
	ranges msgpack.Map
}

func (e *embedFiles) begin(string, string) (string, error) { return e.stage, nil }

func (e *embedFiles) drop(string, string) error { return os.RemoveAll(e.stage) }

// finish appends the temporary file to the values.
func (e *embedFiles) finish(key, _ string) (err error) {
	f, err := os.Open(e.stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(e.stage)) }()
	n, err := io.Copy(e.values, f)
	e.ranges = append(e.ranges, msgpack.Pair{Key: key, Value: msgpack.Map{{Key: "offset", Value: e.offset}, {Key: "length", Value: n}}})
	e.offset += n
	return err
}

// planEmpty records empty groups, which an EmbedStore cannot represent.
func (c *treeCopy) planEmpty() {
	if c.target != B2E {
		return
	}
	implied := c.impliedGroups()
	for _, item := range c.groups {
		if !implied[item.path] {
			c.lose(item.from, string(Group), fmt.Errorf("%w: an EmbedStore has no empty groups", errors.ErrUnsupported))
		}
	}
}

// impliedGroups returns the groups with an array below them.
func (c *treeCopy) impliedGroups() map[string]bool {
	implied := map[string]bool{"/": !c.inDirectory() || len(c.arrays) > 0}
	for _, item := range c.arrays {
		for at := path.Dir(item.path); !implied[at] && !c.leftOut(item.from); at = path.Dir(at) {
			implied[at] = true
		}
	}
	return implied
}

// writeStore writes a TreeStore to files.
func (c *treeCopy) writeStore(ctx context.Context, files storeFiles) error {
	if c.table() {
		return c.writeCTable(ctx, files)
	}
	if err := c.writeArrays(ctx, files); err != nil {
		return err
	}
	implied := c.impliedGroups()
	for _, item := range c.groups {
		if len(item.attrs) == 0 && implied[item.path] {
			continue
		}
		if err := writeFrame(files, path.Join(item.path, b2store.GroupAttrs), b2store.FrameExt, 0, item.attrs); err != nil {
			return err
		}
	}
	if c.inDirectory() {
		return nil // the container has the frame with the embedded objects
	}
	return writeEmbed(files)
}

// writeArrays writes all arrays to files.
func (c *treeCopy) writeArrays(ctx context.Context, files storeFiles) error {
	c.framesTo(
		func(item treeItem) (string, error) { return files.begin(item.path, item.ext) },
		func(item treeItem) error { return files.finish(item.path, item.ext) })
	return c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		name, err := files.begin(item.path, b2store.ArrayExt)
		if err != nil {
			return nil, err
		}
		return b2nd.Create(name, item.spec, &b2nd.CreateOptions{Name: item.path})
	}, func(item treeItem) error { return files.drop(item.path, item.extension()) },
		func(item treeItem) error {
			if item.write != nil {
				return nil // finished
			}
			return files.finish(item.path, b2store.ArrayExt)
		})
}

// dirFiles are the files of a .b2d.
type dirFiles struct{ dir string }

func (d dirFiles) name(key, ext string) string {
	return filepath.Join(d.dir, filepath.FromSlash(key)+ext)
}

func (d dirFiles) begin(key, ext string) (string, error) {
	name := d.name(key, ext)
	return name, os.MkdirAll(filepath.Dir(name), 0o777)
}

func (d dirFiles) finish(string, string) error { return nil }
func (d dirFiles) drop(key, ext string) error  { return os.RemoveAll(d.name(key, ext)) }

// zipFiles are the members of a .b2z. Each is written to a temporary file first.
type zipFiles struct {
	zip   *zip.Writer
	stage string
}

func (z zipFiles) begin(string, string) (string, error) { return z.stage, nil }

func (z zipFiles) drop(string, string) error { return os.RemoveAll(z.stage) }

// finish appends the temporary file, without compression and with its size in the local header, so
// that the member is read in place.
func (z zipFiles) finish(key, ext string) (err error) {
	f, err := os.Open(z.stage)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(z.stage)) }()
	sum := crc32.NewIEEE()
	n, err := io.Copy(sum, f)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	h := &zip.FileHeader{
		Name: strings.TrimPrefix(key, "/") + ext, CRC32: sum.Sum32(),
		CompressedSize64: uint64(n), UncompressedSize64: uint64(n),
	}
	h.SetMode(0o644)
	if strings.IndexFunc(h.Name, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		h.Flags |= 1 << 11 // the name is UTF-8
	}
	w, err := z.zip.CreateRaw(h)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}

// writeZip writes a .b2z.
func (c *treeCopy) writeZip(ctx context.Context, file string) (err error) {
	stage, err := atomicfile.Create(ctx, file+".member", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Abort()) }()
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := zip.NewWriter(f)
	if err := c.writeStore(ctx, zipFiles{w, stage.Path()}); err != nil {
		return err
	}
	return w.Close()
}
