// info --meta: all stored metadata.

package inspect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
)

// MetaDoc is the document of info --meta.
type MetaDoc struct {
	Schema   string                 `json:"schema"`
	Address  string                 `json:"address"`
	Format   string                 `json:"format"`
	Fixed    []MetaBytes            `json:"metalayers"`
	Variable []MetaBytes            `json:"vlmetalayers"`
	Files    []MetaBytes            `json:"files"`
	Comment  *string                `json:"comment"`
	Born     *string                `json:"born"`
	Changed  *string                `json:"changed"`
	Modified *string                `json:"modified"`
	Accessed *string                `json:"accessed"`
	Attrs    []shell.AttrDoc        `json:"attributes"`
	Unknown  []shell.UnsupportedDoc `json:"unsupported_attributes"`
}

// MetaBytes are named bytes.
type MetaBytes struct {
	Name   string        `json:"name"`
	Bytes  shell.JSONInt `json:"bytes"`
	Text   *string       `json:"text"`
	Base64 string        `json:"base64"`

	Value json.RawMessage `json:"value"` // of a metalayer in MessagePack
}

func newMetaBytes(name string, b []byte) MetaBytes {
	m := MetaBytes{Name: name, Bytes: shell.JSONInt(len(b)), Base64: base64.StdEncoding.EncodeToString(b)}
	plain := utf8.Valid(b) && !strings.ContainsFunc(string(b), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f })
	if text := string(b); plain {
		m.Text = &text
	}
	return m
}

// gatherMeta reads the metadata of an array or a group.
func (j *infoJob) gatherMeta(ctx context.Context, address string) (d *MetaDoc, err error) {
	loc, err := locate.Parse(address)
	if err != nil {
		return nil, err
	}
	tree, err := j.OpenTree(ctx, loc.File)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	d = &MetaDoc{
		Schema: shell.SchemaMeta, Address: address, Format: string(tree.Format), Attrs: []shell.AttrDoc{},
		Unknown: []shell.UnsupportedDoc{},
	}
	attrs, err := tree.GroupAttrs(ctx, loc.Object)
	if err != nil {
		arr, err := tree.Open(ctx, loc.Object)
		if err != nil {
			return nil, err
		}
		attrs, err = shell.AttrsOf(ctx, arr)
		d.Format = arr.Meta().Format
		if err = errors.Join(err, arr.Close()); err != nil {
			return nil, err
		}
	}
	for _, attr := range attrs.List {
		d.Attrs = append(d.Attrs, shell.NewAttrDoc(attr))
	}
	for _, u := range attrs.Unsupported {
		d.Unknown = append(d.Unknown, shell.NewUnsupportedDoc(u))
	}
	m, err := tree.Metadata(ctx, loc.Object)
	if err != nil {
		return nil, err
	}
	d.Fixed, d.Variable, d.Files = metalayerList(m.Fixed), metalayerList(m.Variable), metaList(m.Files)
	d.Comment = shell.OrNull(m.Comment)
	stamp := func(t time.Time) *string {
		if t.IsZero() {
			return nil
		}
		return shell.OrNull(t.UTC().Format(time.RFC3339))
	}
	d.Born, d.Changed, d.Modified, d.Accessed = stamp(m.Born), stamp(m.Changed), stamp(m.Modified), stamp(m.Accessed)
	return d, nil
}

// storedBytes is a metalayer or a file of hyperslab.Metadata.
type storedBytes = struct {
	Name    string
	Content []byte
}

func metaList(list []storedBytes) []MetaBytes {
	out := make([]MetaBytes, len(list))
	for i, x := range list {
		out[i] = newMetaBytes(x.Name, x.Content)
	}
	return out
}

func metalayerList(list []storedBytes) []MetaBytes {
	out := metaList(list)
	for i, x := range list {
		out[i].Value, _ = msgpack.JSON(x.Content)
	}
	return out
}
