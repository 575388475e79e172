// info --meta: everything beside the elements, as it is stored.

package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/format/bcolz"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray/formats"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// metaDoc is the document of info --meta.
type metaDoc struct {
	Schema   string           `json:"schema"`
	Address  string           `json:"address"`
	Format   string           `json:"format"`
	Fixed    []metaBytes      `json:"metalayers"`
	Variable []metaBytes      `json:"vlmetalayers"`
	Files    []metaBytes      `json:"files"`
	Comment  *string          `json:"comment"`
	Born     *string          `json:"born"`
	Changed  *string          `json:"changed"`
	Modified *string          `json:"modified"`
	Accessed *string          `json:"accessed"`
	Attrs    []attrDoc        `json:"attributes"`
	Unknown  []unsupportedDoc `json:"unsupported_attributes"`
}

// metaBytes are named bytes.
type metaBytes struct {
	Name   string  `json:"name"`
	Bytes  jsonInt `json:"bytes"`
	Text   *string `json:"text"`
	Base64 string  `json:"base64"`
}

func newMetaBytes(name string, b []byte) metaBytes {
	m := metaBytes{Name: name, Bytes: jsonInt(len(b)), Base64: base64.StdEncoding.EncodeToString(b)}
	plain := utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f })
	if text := string(b); plain {
		m.Text = &text
	}
	return m
}

// gatherMeta reads it for an array or a group.
func gatherMeta(ctx context.Context, address string) (*metaDoc, error) {
	loc, err := formats.ParseLocation(address)
	if err != nil {
		return nil, err
	}
	format, err := formats.Sniff(loc.File)
	if err != nil {
		return nil, err
	}
	d := &metaDoc{
		Schema: schemaMeta, Address: address, Format: string(format), Fixed: []metaBytes{}, Variable: []metaBytes{}, Files: []metaBytes{},
		Attrs: []attrDoc{}, Unknown: []unsupportedDoc{},
	}
	attrs, err := formats.GroupAttrs(ctx, address)
	file := loc.File
	if err != nil {
		arr, err := openArray(ctx, address)
		if err != nil {
			return nil, err
		}
		attrs, err = attrsOf(ctx, arr)
		d.Format = arr.Meta().Format
		if format != formats.HDF5 {
			file = arr.Meta().Path
		}
		if err = errors.Join(err, arr.Close()); err != nil {
			return nil, err
		}
	}
	for _, attr := range attrs.List {
		d.Attrs = append(d.Attrs, newAttrDoc(attr))
	}
	for _, u := range attrs.Unsupported {
		d.Unknown = append(d.Unknown, unsupportedDoc(u))
	}
	switch format {
	case formats.HDF5:
		err = d.hdf5(loc)
	case formats.Bcolz:
		err = d.bcolz(loc.File, strings.Trim(loc.Object, "/"))
	case formats.B2ND:
		err = d.frame(file)
	case formats.Directory:
		if info, statErr := os.Stat(file); statErr == nil && file != loc.File && !info.IsDir() {
			err = d.frame(file)
		}
	}
	return d, err
}

// frame reads the metalayers of a frame.
func (d *metaDoc) frame(file string) (err error) {
	s, err := cblosc.OpenSChunk(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, side := range []struct {
		from *cblosc.Metalayers
		to   *[]metaBytes
	}{{s.Meta(), &d.Fixed}, {s.VLMeta(), &d.Variable}} {
		for m, err := range side.from.All() {
			if err != nil {
				return err
			}
			*side.to = append(*side.to, newMetaBytes(m.Name, m.Content))
		}
	}
	return nil
}

// bcolz reads the metadata files of a tree.
func (d *metaDoc) bcolz(dir, column string) error {
	tree := os.DirFS(dir)
	add := func(name string) error {
		b, err := fs.ReadFile(tree, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			d.Files = append(d.Files, newMetaBytes(name, b))
		}
		return err
	}
	at := path.Join(".", column)
	names := []string{"__rootdirs__", "__attrs__", bcolz.SizesFile, "meta/storage"}
	others, err := bcolz.OtherMeta(tree, at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range append(names, others...) {
		if err := add(path.Join(at, name)); err != nil {
			return err
		}
	}
	return nil
}

// hdf5 reads comment and times of an object.
func (d *metaDoc) hdf5(loc formats.Location) (err error) {
	f, err := h5.Open(loc.File, h5.ReadOnly)
	if err != nil {
		return hdf5.Translate(err)
	}
	defer func() { err = errors.Join(err, hdf5.Translate(f.Close())) }()
	object := h5.Object(f.Root())
	if name := strings.Trim(loc.Object, "/"); name != "" {
		if object, err = f.Root().OpenObject(name); err != nil {
			return hdf5.Translate(err)
		}
		defer func() { err = errors.Join(err, hdf5.Translate(object.Close())) }()
	}
	if c, ok := object.(interface{ Comment() (string, error) }); ok {
		text, err := c.Comment()
		if err != nil {
			return hdf5.Translate(err)
		}
		d.Comment = orNull(text)
	}
	info, err := object.Stat()
	if err != nil {
		return hdf5.Translate(err)
	}
	stamp := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		return orNull(t.UTC().Format(time.RFC3339))
	}
	d.Born, d.Changed, d.Modified, d.Accessed = stamp(info.Born), stamp(info.Changed), stamp(info.Modified), stamp(info.Accessed)
	return nil
}
