// Identity of the source.

package plan

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree/numberview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostFiles is the number of chunk files of a directory up to which the size and time of each are
// part of the identity. Larger directories are identified by the names of the chunk files and by
// the size and time of all other files, because reading the size of millions of files takes
// minutes.
const mostFiles = 100_000

// identify returns the identity of an open source.
func identify(ctx context.Context, location string, m ndarray.Meta, attrs ndarray.Attrs) (Source, error) {
	s := Source{
		Location: location, Format: m.Format, Shape: m.Shape, DType: m.DType.String(), Chunks: m.ChunkShape,
	}
	s.Bytes = m.NumElems() * int64(m.DType.Size)
	h := sha256.New()
	describe := json.NewEncoder(h)
	m.Path, m.ReadOnly = "", false
	err := describe.Encode([]any{m, m.DType.String()})
	for _, x := range attrs.List {
		err = cmp.Or(err, describe.Encode([]any{x.Name, x.Value.DType.String(), x.Value.Shape, x.Value.Null, x.Value.Data, x.Value.Strings, x.Raw}))
	}
	for _, x := range attrs.Unsupported {
		err = cmp.Or(err, describe.Encode([]any{x.Name, x.Type, x.Raw}))
	}
	if err != nil {
		return s, err
	}
	at, err := locate.Parse(location)
	if err != nil {
		return s, err
	}
	if urlfile.IsURL(at.File) {
		err := s.object(ctx, at.File, cmp.Or(strings.Trim(at.Object, "/"), firstColumn(m)), h)
		s.Digest = hex.EncodeToString(h.Sum(nil))
		return s, err
	}
	latest, err := s.files(at.File, h)
	s.Modified = latest.UTC().Format(time.RFC3339Nano)
	s.Digest = hex.EncodeToString(h.Sum(nil))
	return s, err
}

// files adds the files of the source to its identity and returns the latest time.
func (s *Source) files(file string, h io.Writer) (latest time.Time, err error) {
	add := func(name string, info fs.FileInfo) error {
		s.Stored += info.Size()
		if t := info.ModTime(); t.After(latest) {
			latest = t
		}
		_, err := fmt.Fprintf(h, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return latest, err
	}
	if !info.IsDir() {
		s.Files = 1
		return latest, add("", info)
	}
	var chunks []string
	err = filepath.WalkDir(file, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		s.Files++
		name, err := filepath.Rel(file, path)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(name); ext == ".chunk" || ext == ".blp" {
			chunks = append(chunks, name)
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return add(name, info)
	})
	if err != nil {
		return latest, err
	}
	slices.Sort(chunks)
	for _, name := range chunks {
		if len(chunks) > mostFiles {
			_, err = fmt.Fprintf(h, "%q\n", name)
		} else if info, err = os.Stat(filepath.Join(file, name)); err == nil {
			err = add(name, info)
		}
		if err != nil {
			return latest, err
		}
	}
	return latest, nil
}

// firstColumn returns the name of the first column of a ctable that is read as structures.
func firstColumn(m ndarray.Meta) string {
	if m.Format == string(hyperslab.Bcolz) && len(m.DType.Fields) > 0 {
		return m.DType.Fields[0].Name
	}
	return ""
}

// object adds the object of the source to its identity: the index of a directory, or the sizes of
// a carray or of a column, because HTTP has no lists. Reads refuse an object that changed.
func (s *Source) object(ctx context.Context, url, column string, h io.Writer) (err error) {
	s.Files = 1
	names := []string{"", "/" + cframe.IndexFile, "/meta/sizes"}
	if column != "" {
		names = append(names, "/"+column+"/meta/sizes")
	}
	var e urlfile.Entry
	for _, name := range names {
		e, err = version(ctx, strings.TrimSuffix(url, "/")+name)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil && !strings.HasPrefix(e.Tag, `"`) {
		err = fmt.Errorf("%w: source at a URL: ETag: got %q, want a strong ETag, because its changes would not be found", errors.ErrUnsupported, e.Tag)
	}
	if err != nil {
		return err
	}
	s.Stored = e.Size
	_, err = fmt.Fprintf(h, "%d %s\n", e.Size, e.Tag)
	return err
}

// version returns the size and the ETag of an object of S3 or of a web server.
func version(ctx context.Context, url string) (e urlfile.Entry, err error) {
	if isS3(url) {
		return urlfile.Get().Stat(ctx, url)
	}
	object, err := urlfile.Get().Open(ctx, url)
	if err != nil {
		return e, err
	}
	e.Size, e.Tag = object.Size(), object.ETag()
	return e, object.Close()
}

// isS3 reports whether a URL is of an object store, which can be written to.
func isS3(url string) bool { return strings.HasPrefix(strings.ToLower(url), "s3:") }

// untyped reports whether arrays of a format may store no element type.
func untyped(format string) bool { return format == string(hyperslab.Caterva) || format == "frame" }

// source is an open source as the target stores it.
type source struct {
	*ndarray.Array
	attrs   ndarray.Attrs
	changes *numberview.Conversion // nil: the element type is that of the source
}

// changed returns the numbers of elements that the conversion has changed.
func (s *source) changed() (rounded, clipped int64) {
	if s.changes == nil {
		return 0, 0
	}
	return s.changes.Changes()
}

// open opens the source and checks that it is the one of the plan.
func (p *Plan) open(ctx context.Context) (*source, error) {
	a, attrs, err := p.openStored(ctx)
	if err != nil || p.Target.DType == "" {
		return &source{Array: a, attrs: attrs}, err
	}
	s := &source{changes: &numberview.Conversion{Round: p.Target.Round, Clip: p.Target.Clip}}
	if s.changes.To, err = ndarray.ParseDType(p.Target.DType); err == nil {
		s.Array, err = s.changes.View(a, true)
	}
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if s.attrs, err = s.Attrs(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openStored opens the source without a conversion of its elements.
func (p *Plan) openStored(ctx context.Context) (_ *ndarray.Array, attrs ndarray.Attrs, err error) {
	var o hyperslab.OpenOptions
	if untyped(p.Source.Format) {
		if d, err := ndarray.ParseDType(p.Source.DType); err == nil {
			o.DType = &d
		}
	}
	a, err := hyperslab.Open(ctx, p.Source.Location, &o)
	if err != nil {
		return nil, attrs, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Close())
		}
	}()
	attrs, err = a.Attrs(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, attrs, err
	}
	now, err := identify(ctx, p.Source.Location, a.Meta(), attrs)
	if err != nil {
		return nil, attrs, err
	}
	return a, attrs, p.Source.same(now)
}

// same returns ErrSource with the first difference.
func (s *Source) same(now Source) error {
	changed := func(what string, got, want any) error {
		return fmt.Errorf("%w: %s of %s: got %v, want %v", ErrSource, what, s.Location, got, want)
	}
	switch {
	case now.Format != s.Format:
		return changed("format", now.Format, s.Format)
	case !slices.Equal(now.Shape, s.Shape):
		return changed("shape", now.Shape, s.Shape)
	case now.DType != s.DType:
		return changed("dtype", now.DType, s.DType)
	case !slices.Equal(now.Chunks, s.Chunks):
		return changed("chunks", now.Chunks, s.Chunks)
	case now.Files != s.Files:
		return changed("number of files", now.Files, s.Files)
	case now.Stored != s.Stored:
		return changed("size in bytes", now.Stored, s.Stored)
	case now.Modified != s.Modified:
		return changed("modification time", now.Modified, s.Modified)
	case now.Digest != s.Digest:
		return changed("digest of the metadata", strings.ToLower(now.Digest), s.Digest)
	}
	return nil
}
