// hyperslab info of a group: its members and attributes.

package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// GroupDoc is the document of info --json of a group.
type GroupDoc struct {
	Schema           string                 `json:"schema"`
	Address          string                 `json:"address"`
	Format           string                 `json:"format"`
	Groups           int                    `json:"groups"`
	Arrays           int                    `json:"arrays"`
	Links            int                    `json:"links"`
	Types            int                    `json:"types"`
	Others           int                    `json:"others"`
	Attributes       []shell.AttrDoc        `json:"attributes"`
	UnsupportedAttrs []shell.UnsupportedDoc `json:"unsupported_attributes"`

	attrs      ndarray.Attrs
	incomplete error // why the members or attributes are unknown; nil if they are known
}

// gatherGroup counts the direct members of the group of a tree, whose address was parsed.
func gatherGroup(ctx context.Context, tree *hyperslab.Tree, loc locate.Location, address string) (d *GroupDoc, err error) {
	base := "/" + strings.Trim(loc.Object, "/")
	d = &GroupDoc{
		Schema: shell.SchemaGroup, Address: address, Format: string(tree.Format),
		Attributes: []shell.AttrDoc{}, UnsupportedAttrs: []shell.UnsupportedDoc{},
	}
	count := map[hyperslab.EntryKind]*int{hyperslab.Group: &d.Groups, hyperslab.Array: &d.Arrays, hyperslab.Link: &d.Links,
		hyperslab.Type: &d.Types, hyperslab.Other: &d.Others}
	for e, err := range tree.Walk(ctx,
		&hyperslab.WalkOptions{NoSizes: true, Prune: func(e hyperslab.Entry) bool { return e.Path != base }}) {
		if err != nil {
			return nil, err
		}
		if e.Path != base {
			*count[e.Kind]++
		} else if e.Err != nil && !Unsupported(e) {
			d.incomplete = e.Err
		}
	}
	if d.attrs, err = tree.GroupAttrs(ctx, loc.Object); err != nil {
		if d.incomplete == nil && len(d.attrs.List)+len(d.attrs.Unsupported) == 0 {
			return nil, err
		}
		d.incomplete = cmp.Or(d.incomplete, err)
	}
	for _, attr := range d.attrs.List {
		d.Attributes = append(d.Attributes, shell.NewAttrDoc(attr))
	}
	for _, u := range d.attrs.Unsupported {
		d.UnsupportedAttrs = append(d.UnsupportedAttrs, shell.NewUnsupportedDoc(u))
	}
	return d, nil
}

func (d *GroupDoc) write(w io.Writer, p term.Paint) error {
	t := term.Table{Keys: true}
	t.Add("group", term.Safe(d.Address))
	t.Add("format", d.Format)
	t.Add("holds", d.members())
	t.Add("attributes", fmt.Sprint(len(d.attrs.List)+len(d.attrs.Unsupported)))
	if err := t.Write(w, p); err != nil {
		return err
	}
	return AttrsTable(d.attrs).Write(w, false)
}

// members returns, for example, "1 group, 2 arrays".
func (d *GroupDoc) members() string {
	var parts []string
	for _, m := range []struct {
		n    int
		noun string
	}{{d.Groups, "group"}, {d.Arrays, "array"}, {d.Links, "link"}, {d.Types, "datatype"}, {d.Others, "other"}} {
		if m.n > 0 {
			parts = append(parts, term.Plural(int64(m.n), m.noun))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return shell.Joined(parts)
}
