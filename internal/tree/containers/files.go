// Files of stores that are written.

package containers

import (
	"archive/zip"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// embedChunk is the chunk size of the frame with embedded objects, as in python-blosc2.
const embedChunk = 8192

// embedFiles are the frames of a .b2e. Each is written to a temporary file first.
type embedFiles struct {
	stage  string
	values *os.File
	offset int64
	ranges msgpack.Map
}

func (e *embedFiles) Begin(string, string) (string, error) { return e.stage, nil }

func (e *embedFiles) Drop(string, string) error { return os.RemoveAll(e.stage) }

// Finish appends the temporary file to the values.
func (e *embedFiles) Finish(key, _ string) (err error) {
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
func writeStore(ctx context.Context, file string, kind string, write func(files frames.Files) error) (err error) {
	if kind == detect.B2D {
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

func (d dirFiles) Begin(key, ext string) (string, error) {
	name := d.name(key, ext)
	return name, os.MkdirAll(filepath.Dir(name), 0o777)
}

func (d dirFiles) Finish(string, string) error { return nil }
func (d dirFiles) Drop(key, ext string) error  { return os.RemoveAll(d.name(key, ext)) }

// zipFiles are the members of a .b2z. Each is written to a temporary file first.
type zipFiles struct {
	zip   *zip.Writer
	stage string
}

func (z zipFiles) Begin(string, string) (string, error) { return z.stage, nil }

func (z zipFiles) Drop(string, string) error { return os.RemoveAll(z.stage) }

// Finish appends the temporary file, without compression and with its size in the local header, so
// that the member is read in place.
func (z zipFiles) Finish(key, ext string) (err error) {
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
func writeFrame(files frames.Files, key, ext string, chunk int, attrs []ndarray.Attr) error {
	name, err := files.Begin(key, ext)
	if err != nil {
		return err
	}
	if err := b2nd.CreateFrame(name, chunk, nil, attrs); err != nil {
		return err
	}
	return files.Finish(key, ext)
}

// writeEmbed writes the frame with the embedded objects, which contains none.
func writeEmbed(files frames.Files) error {
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
