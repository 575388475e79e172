// Copies of trees to HDF5.

package h5tree

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// target is an HDF5 file. The groups, links, types and attributes of a trusted HDF5 source are
// copied by native.
type target struct {
	tree.PlainTarget
	c      tree.Copier
	native *nativeCopy // nil: the source is of another format, or untrusted
	file   *h5.File    // the new file, unless native writes it
}

func newTarget(c tree.Copier, _ bool) tree.Target {
	t := &target{c: c}
	if f := fileOf(c); f != nil {
		t.native = newNative(c, f)
	}
	return t
}

// fileOf returns the open HDF5 file that is the source of a copy, or nil.
func fileOf(c tree.Copier) *h5.File {
	if x, ok := tree.As[Holder](c.Source().Tree); ok {
		return x.HDF5()
	}
	return nil
}

func (t *target) Traits() tree.Traits {
	return tree.Traits{
		Format: detect.HDF5, Compression: hdf5.DefaultCompression(), Variable: true, Comments: true, GroupAttrs: true, CopiesAttrs: t.native != nil,
		Links: []string{h5.HardLink.String(), h5.SoftLink.String(), h5.ExternalLink.String()},
	}
}

func (t *target) CheckName(string, bool) error { return nil }

func (t *target) Check(at string, spec ndarray.Spec, _ int64) error { return hdf5.Check(at, spec) }

func (t *target) Attr(a ndarray.Attr) (ndarray.Attr, error) {
	a, err := textview.Attr(a)
	if err == nil {
		err = hdf5.CheckAttr(a)
	}
	return a, err
}

func (t *target) Stores(ndarray.Attr) bool { return false }

func (t *target) Begin(item *tree.Item) bool { return t.native != nil && t.native.planEntry(item) }

func (t *target) Complete(ctx context.Context) error {
	if t.native == nil {
		t.planScales()
		return nil
	}
	root := t.c.Source().Root
	if !slices.ContainsFunc(t.c.Plan().Groups, func(item *tree.Item) bool { return item.From == root }) { // it cannot be read
		t.native = nil
		return nil
	}
	return t.native.plan(ctx)
}

// planScales determines the scales of each array from the dimension names. A dimension with a scale
// needs no label. Sources of other formats have dimension names instead of scales, which netCDF-4
// and this package take from the names of the scales.
func (t *target) planScales() {
	c := t.c
	byPath := make(map[string]*tree.Item, len(c.Plan().Arrays))
	for _, item := range c.Plan().Arrays {
		byPath[item.From] = item
	}
	for _, e := range c.Plan().Links { // a scale may be found by another name
		if x := byPath[e.Entry.Target]; x != nil && e.Entry.LinkKind == h5.HardLink.String() {
			byPath[e.From] = x
		}
	}
	for _, item := range c.Plan().Arrays {
		if item.Spec.AxisNames == nil {
			continue
		}
		item.Axes = t.scalesByName(item, byPath)
		spec := *item.Spec // which others may share
		spec.AxisNames = slices.Clone(spec.AxisNames)
		for k, a := range item.Axes {
			if len(a.Scales) > 0 {
				spec.AxisNames[k] = ""
			}
		}
		if !slices.ContainsFunc(spec.AxisNames, func(name string) bool { return name != "" }) {
			spec.AxisNames = nil
		}
		item.Spec = &spec
	}
}

// scalesByName returns the scales with the names of the dimensions: each is an array of one
// dimension of the same length, in the group of the array or in the nearest group above.
func (t *target) scalesByName(item *tree.Item, byPath map[string]*tree.Item) []dimscale.Axis {
	axes := make([]dimscale.Axis, len(item.Spec.AxisNames))
	if dimscale.IsScale(item.Spec.Attrs) {
		return axes
	}
	for k, name := range item.Spec.AxisNames {
		if name == "" || strings.Contains(name, "/") {
			continue
		}
		for group := path.Dir(item.From); ; group = path.Dir(group) {
			scale := byPath[path.Join(group, name)]
			if scale != nil && scale != item && len(scale.Spec.Shape) == 1 && scale.Spec.Shape[0] == item.Spec.Shape[k] && dimscale.IsScale(scale.Spec.Attrs) {
				axes[k].Scales = []string{scale.Path}
			}
			if scale != nil || group == "/" || group == "." {
				break
			}
		}
	}
	return axes
}

// attachScales attaches the scales of all arrays in the target.
func (t *target) attachScales(root *h5.Group) error {
	absent := make(map[string]bool) // arrays that could not be read
	for _, item := range t.c.Plan().Arrays {
		absent[item.Path] = t.c.LeftOut(item.From)
	}
	for _, item := range t.c.Plan().Arrays {
		if absent[item.Path] {
			continue
		}
		for k := range item.Axes {
			item.Axes[k].Scales = slices.DeleteFunc(item.Axes[k].Scales, func(at string) bool { return absent[at] })
		}
		if err := dimscale.Attach(root, item.Path, item.Axes); err != nil {
			return fmt.Errorf("%s: attach scales: %w", item.From, err)
		}
	}
	return nil
}

func (t *target) Write(ctx context.Context, file string) (err error) {
	if t.native != nil {
		return t.native.write(ctx, file)
	}
	creation := h5.DefaultFileCreation()
	creation.Times = false
	dense := slices.ContainsFunc(t.c.Plan().Groups, func(item *tree.Item) bool { return h5attr.Dense(item.Attrs) })
	if t.file, err = h5copy.CreateFile(file, h5.CreateOptions{Creation: &creation}, dense); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.file.Close()) }()
	root := t.file.Root()
	for _, item := range t.c.Plan().Groups {
		if err := writeGroup(root, item); err != nil {
			return err
		}
	}
	if err := t.c.CopyArrays(ctx, t); err != nil {
		return err
	}
	if err := t.attachScales(root); err != nil {
		return err
	}
	t.c.BrokenLinks()
	return t.writeLinks(root)
}

// writeLinks creates the links of an untrusted file, which are not resolved.
func (t *target) writeLinks(root *h5.Group) (err error) {
	for _, item := range t.c.Plan().Links {
		switch e := item.Entry; e.LinkKind {
		case h5.HardLink.String():
			err = root.LinkHard(item.Path, "/"+strings.TrimPrefix(strings.TrimPrefix(e.Target, t.c.Source().Prefix()), "/"))
		case h5.SoftLink.String():
			err = root.LinkSoft(item.Path, e.Target)
		default:
			err = root.LinkExternal(item.Path, e.TargetFile, strings.TrimPrefix(e.Target, e.TargetFile+":"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *target) Create(item *tree.Item) (ndarray.Backend, error) {
	return hdf5.CreateIn(t.file, item.Path, *item.Spec, nil)
}

func (t *target) Remove(item *tree.Item) error { return t.file.Root().Unlink(item.Path) }

// writeGroup creates a group with its attributes and comment. The root group exists.
func writeGroup(g *h5.Group, item *tree.Item) (err error) {
	if item.Path != "/" {
		if g, err = g.CreateGroup(item.Path); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, g.Close()) }()
	}
	if item.Comment != "" {
		if err := g.SetComment(item.Comment); err != nil {
			return err
		}
	}
	return hdf5.WriteAttrs(g, item.Attrs)
}
