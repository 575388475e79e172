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

	"github.com/hyperslab/hyperslab/internal/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// embedChunk is the chunk size of the frame with embedded objects, as in python-blosc2.
const embedChunk = 8192

// checkStoreName returns an error for a path that cannot be the key of an object or a group.
// python-blosc2 stores a key as the path of a file, without escapes.
func checkStoreName(key string) error {
	name := path.Base(key)
	switch {
	case len(name)+len(b2store.ArrayExt) > nameMax || len(key) > b2store.MaxKey || strings.Count(key, "/") > b2store.MaxDepth-2:
		return fmt.Errorf("%w: name %.40q of %d bytes in a path of %d, at most %d and %d", errors.ErrUnsupported, name, len(name), len(key), nameMax-len(b2store.ArrayExt), b2store.MaxKey)
	case !utf8.ValidString(name) || strings.ContainsAny(name, "\x00\n\r\t\\:"):
		return fmt.Errorf("%w: name %.40q, which is not the name of a file or contains a control character, a backslash or a colon", errors.ErrUnsupported, name)
	case name == b2store.GroupAttrs || name == b2store.TableMeta || strings.Trim(name, ".") == "":
		return fmt.Errorf("%w: name %q, which has a meaning in a store", errors.ErrUnsupported, name)
	}
	return nil
}

// storeFiles receives the files of a new store.
type storeFiles interface {
	// begin returns the name of a file to create for a key.
	begin(key, ext string) (string, error)
	// finish adds the complete file.
	finish(key, ext string) error
	// drop removes a file that is not added.
	drop(key, ext string) error
}

// writeStore writes a TreeStore to files.
func (c *treeCopy) writeStore(ctx context.Context, files storeFiles) error {
	if c.table() {
		return c.writeCTable(ctx, files)
	}
	err := c.copyArrays(ctx, func(item treeItem) (ndarray.Backend, error) {
		name, err := files.begin(item.path, b2store.ArrayExt)
		if err != nil {
			return nil, err
		}
		return b2nd.Create(name, item.spec, &b2nd.CreateOptions{Name: item.path})
	}, func(item treeItem) error { return files.drop(item.path, b2store.ArrayExt) },
		func(item treeItem) error { return files.finish(item.path, b2store.ArrayExt) })
	if err != nil {
		return err
	}
	implied := map[string]bool{"/": true} // groups with an array below them
	for _, item := range c.arrays {
		for at := path.Dir(item.path); !implied[at] && !c.leftOut(item.from); at = path.Dir(at) {
			implied[at] = true
		}
	}
	for _, item := range c.groups {
		if len(item.attrs) == 0 && implied[item.path] {
			continue
		}
		if err := writeFrame(files, path.Join(item.path, b2store.GroupAttrs), b2store.FrameExt, 0, item.attrs); err != nil {
			return err
		}
	}
	return writeEmbed(files)
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
	stage, err := atomicfile.Create(file+".member", atomicfile.Options{Volatile: true})
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
