// CopyTree to HDF5.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// hdf5Target is an HDF5 file. The groups, links, types and attributes of a trusted HDF5 source are
// copied by native.
type hdf5Target struct {
	plainTarget
	native *hdf5Copy // nil: the source is of another format, or untrusted
	file   *h5.File  // the new file, unless native writes it
}

func newHDF5Target(plain plainTarget) *hdf5Target {
	t := &hdf5Target{plainTarget: plain}
	if t.c.source.hdf5() != nil {
		t.native = newHDF5Copy(t.c)
	}
	return t
}

func (t *hdf5Target) traits() traits {
	return traits{
		format: HDF5, compression: hdf5.DefaultCompression(), variable: true, comments: true, groupAttrs: true, copiesAttrs: t.native != nil,
		links: []string{h5.HardLink.String(), h5.SoftLink.String(), h5.ExternalLink.String()},
	}
}

func (t *hdf5Target) checkName(string, bool) error { return nil }

func (t *hdf5Target) check(at string, spec ndarray.Spec, _ int64) error { return hdf5.Check(at, spec) }

func (t *hdf5Target) attr(a ndarray.Attr) (ndarray.Attr, error) {
	a, err := textview.Attr(a)
	if err == nil {
		err = hdf5.CheckAttr(a)
	}
	return a, err
}

func (t *hdf5Target) stores(ndarray.Attr) bool { return false }

func (t *hdf5Target) begin(item *treeItem) bool { return t.native != nil && t.native.planEntry(item) }

func (t *hdf5Target) complete(ctx context.Context) error {
	t.c.planNulls()
	if t.native == nil {
		t.planScales()
		return nil
	}
	root := t.c.source.root()
	if !slices.ContainsFunc(t.c.groups, func(item *treeItem) bool { return item.from == root }) { // it cannot be read
		t.native = nil
		return nil
	}
	return t.native.plan(ctx)
}

// planScales determines the scales of each array from the dimension names. A dimension with a scale
// needs no label. Sources of other formats have dimension names instead of scales, which netCDF-4
// and this package take from the names of the scales.
func (t *hdf5Target) planScales() {
	c := t.c
	byPath := make(map[string]*treeItem, len(c.arrays))
	for _, item := range c.arrays {
		byPath[item.from] = item
	}
	for _, e := range c.links { // a scale may be found by another name
		if x := byPath[e.entry.Target]; x != nil && e.entry.LinkKind == h5.HardLink.String() {
			byPath[e.from] = x
		}
	}
	for _, item := range c.arrays {
		if item.spec.AxisNames == nil {
			continue
		}
		item.axes = t.scalesByName(item, byPath)
		spec := *item.spec // which others may share
		spec.AxisNames = slices.Clone(spec.AxisNames)
		for k, a := range item.axes {
			if len(a.Scales) > 0 {
				spec.AxisNames[k] = ""
			}
		}
		if !slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" }) {
			spec.AxisNames = nil
		}
		item.spec = &spec
	}
}

// scalesByName returns the scales with the names of the dimensions: each is an array of one
// dimension of the same length, in the group of the array or in the nearest group above.
func (t *hdf5Target) scalesByName(item *treeItem, byPath map[string]*treeItem) []dimscale.Axis {
	axes := make([]dimscale.Axis, len(item.spec.AxisNames))
	if dimscale.IsScale(item.spec.Attrs) {
		return axes
	}
	for k, name := range item.spec.AxisNames {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		for group := path.Dir(item.from); ; group = path.Dir(group) {
			scale := byPath[path.Join(group, name)]
			if scale != nil && scale != item && len(scale.spec.Shape) == 1 && scale.spec.Shape[0] == item.spec.Shape[k] && dimscale.IsScale(scale.spec.Attrs) {
				axes[k].Scales = []string{scale.path}
			}
			if scale != nil || group == "/" || group == "." {
				break
			}
		}
	}
	return axes
}

// attachScales attaches the scales of all arrays in the target.
func (t *hdf5Target) attachScales(root *h5.Group) error {
	absent := make(map[string]bool) // arrays that could not be read
	for _, item := range t.c.arrays {
		absent[item.path] = t.c.leftOut(item.from)
	}
	for _, item := range t.c.arrays {
		if absent[item.path] {
			continue
		}
		for k := range item.axes {
			item.axes[k].Scales = slices.DeleteFunc(item.axes[k].Scales, func(at string) bool { return absent[at] })
		}
		if err := dimscale.Attach(root, item.path, item.axes); err != nil {
			return fmt.Errorf("%s: attach scales: %w", item.from, err)
		}
	}
	return nil
}

func (t *hdf5Target) write(ctx context.Context, file string) (err error) {
	if t.native != nil {
		return t.native.write(ctx, file)
	}
	creation := h5.DefaultFileCreation()
	creation.Times = false
	o := h5.CreateOptions{Creation: &creation}
	if slices.ContainsFunc(t.c.groups, func(item *treeItem) bool { return h5attr.Dense(item.attrs) }) {
		o.Low = h5.V18 // the root group is created with the file
	}
	if t.file, err = h5.Create(file, &o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.file.Close()) }()
	root := t.file.Root()
	for _, item := range t.c.groups {
		if err := item.writeGroup(root); err != nil {
			return err
		}
	}
	if err := t.c.copyArrays(ctx, t); err != nil {
		return err
	}
	if err := t.attachScales(root); err != nil {
		return err
	}
	t.c.brokenLinks()
	return t.writeLinks(root)
}

// writeLinks creates the links of an untrusted file, which are not resolved.
func (t *hdf5Target) writeLinks(root *h5.Group) (err error) {
	for _, item := range t.c.links {
		switch e := item.entry; e.LinkKind {
		case h5.HardLink.String():
			err = root.LinkHard(item.path, "/"+strings.TrimPrefix(strings.TrimPrefix(e.Target, t.c.source.prefix()), "/"))
		case h5.SoftLink.String():
			err = root.LinkSoft(item.path, e.Target)
		default:
			err = root.LinkExternal(item.path, e.TargetFile, strings.TrimPrefix(e.Target, e.TargetFile+":"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *hdf5Target) create(item *treeItem) (ndarray.Backend, error) {
	return hdf5.CreateIn(t.file, item.path, *item.spec, nil)
}

func (t *hdf5Target) remove(item *treeItem) error { return t.file.Root().Unlink(item.path) }

// writeGroup creates a group with its attributes and comment. The root group exists.
func (item *treeItem) writeGroup(g *h5.Group) (err error) {
	if item.path != "/" {
		if g, err = g.CreateGroup(item.path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	if item.comment != "" {
		if err := g.SetComment(item.comment); err != nil {
			return err
		}
	}
	return hdf5.WriteAttrs(g, item.attrs)
}
