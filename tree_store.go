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

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// embedChunk is the chunk size of the frame with embedded objects, as in python-blosc2.
const embedChunk = 8192

// storeTarget is a TreeStore (.b2z, .b2d) or an EmbedStore (.b2e).
type storeTarget struct{ frameTarget }

func (t *storeTarget) traits() traits {
	k := t.frameTarget.traits()
	k.groupAttrs = t.c.format != B2E
	return k
}

func (t *storeTarget) checkName(at string, _ bool) error {
	if at == "/" {
		return nil
	}
	return b2store.CheckKey(t.c.key(at))
}

// plan plans the copy of all parts of a CTable, with its deleted rows, unless the target is an
// EmbedStore or one of the columns is left out.
func (t *storeTarget) plan(item *treeItem) (bool, error) {
	if item.entry.Kind != Group {
		return t.frameTarget.plan(item)
	}
	c, s := t.c, t.c.source.stores()
	if s == nil || c.format == B2E {
		return false, nil
	}
	table := s.Table(item.from)
	if table == nil {
		return false, nil
	}
	for _, column := range table.Columns {
		if c.options.Exclude != nil && c.options.Exclude(path.Join(item.from, column.Path)) {
			return false, nil
		}
	}
	for key, x := range table.Parts() {
		part := &treeItem{from: path.Join(item.from, key), path: path.Join(item.path, key), ext: path.Ext(x.Member.Name)}
		if part.ext == "" { // embedded
			part.ext = b2store.ArrayExt
			if name := path.Base(key); name == b2store.TableMeta || key == b2store.TableAttrs {
				part.ext = b2store.FrameExt
			}
		}
		part.frame = func() (*stores.Frame, error) { return s.Frame(x) }
		part.bytes = max(x.Member.Size, x.Embedded.Length)
		c.arrays = append(c.arrays, part)
		c.stats.Bytes += part.bytes
	}
	c.stats.Groups++
	c.stats.Arrays += len(table.Columns)
	c.stats.Attrs += item.entry.Attrs
	c.whole = append(c.whole, item.from)
	return true, nil
}

// complete also records empty groups, which an EmbedStore cannot represent.
func (t *storeTarget) complete(context.Context) error {
	t.c.planNulls()
	if t.c.format != B2E {
		return nil
	}
	implied := t.impliedGroups()
	for _, item := range t.c.groups {
		if !implied[item.path] {
			t.c.lose(item.from, string(Group), fmt.Errorf("%w: an EmbedStore has no empty groups", errors.ErrUnsupported))
		}
	}
	return nil
}

// impliedGroups returns the groups with an array below them.
func (t *storeTarget) impliedGroups() map[string]bool {
	implied := map[string]bool{"/": !t.c.inDirectory() || len(t.c.arrays) > 0}
	for _, item := range t.c.arrays {
		for at := path.Dir(item.path); !implied[at] && !t.c.leftOut(item.from); at = path.Dir(at) {
			implied[at] = true
		}
	}
	return implied
}

func (t *storeTarget) write(ctx context.Context, file string) error {
	if t.c.format == B2E {
		return t.writeEmbedded(ctx, file)
	}
	return writeStore(ctx, file, t.c.format, func(files frameFiles) error {
		t.files = files
		return t.writeTree(ctx)
	})
}

// writeTree writes a TreeStore.
func (t *storeTarget) writeTree(ctx context.Context) error {
	if err := t.c.copyArrays(ctx, t); err != nil {
		return err
	}
	implied := t.impliedGroups()
	for _, item := range t.c.groups {
		if len(item.attrs) == 0 && implied[item.path] {
			continue
		}
		if err := writeFrame(t.files, path.Join(item.path, b2store.GroupAttrs), b2store.FrameExt, 0, item.attrs); err != nil {
			return err
		}
	}
	if t.c.inDirectory() {
		return nil // the container has the frame with the embedded objects
	}
	return writeEmbed(t.files)
}

// writeEmbedded writes an EmbedStore, which contains all frames one after the other. They are first
// written to a temporary file, because their offsets precede them in the new file.
func (t *storeTarget) writeEmbedded(ctx context.Context, file string) (err error) {
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
	t.files = e
	if err := t.c.copyArrays(ctx, t); err != nil {
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

// writeStore creates a .b2z or .b2d with the files that write adds.
func writeStore(ctx context.Context, file string, f Format, write func(files frameFiles) error) (err error) {
	if f == B2D {
		if err := os.Mkdir(file, 0o777); err != nil {
			return err
		}
		return write(dirFiles{file})
	}
	stage, err := atomicfile.Create(ctx, file+".member", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Abort()) }()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := zip.NewWriter(out)
	if err := write(zipFiles{w, stage.Path()}); err != nil {
		return err
	}
	return w.Close()
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

// writeFrame writes a frame without values.
func writeFrame(files frameFiles, key, ext string, chunk int, attrs []ndarray.Attr) error {
	name, err := files.begin(key, ext)
	if err != nil {
		return err
	}
	if err := b2nd.CreateFrame(name, chunk, nil, attrs); err != nil {
		return err
	}
	return files.finish(key, ext)
}

// writeEmbed writes the frame with the embedded objects, which contains none.
func writeEmbed(files frameFiles) error {
	ext := filepath.Ext(b2store.EmbedFile)
	return writeFrame(files, "/"+strings.TrimSuffix(b2store.EmbedFile, ext), ext, embedChunk, embedAttrs("b2tree", msgpack.Map{}, 0))
}

// embedAttrs returns the metalayers of a frame that embeds other frames.
func embedAttrs(layer string, ranges msgpack.Map, end int64) []ndarray.Attr {
	return []ndarray.Attr{
		{Name: layer, Fixed: true, Raw: msgpack.Append(nil, msgpack.Map{{Key: "version", Value: int64(1)}})},
		{Name: b2store.MapLayer, Raw: msgpack.Append(nil, msgpack.Map{{Key: "embed_map", Value: ranges}, {Key: "current_offset", Value: end}})},
	}
}
