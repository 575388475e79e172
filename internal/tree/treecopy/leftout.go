// Objects that a conversion leaves out.

package treecopy

import (
	"errors"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Conversion is a tree and its conversion to another format.
type Conversion struct {
	First  string // format of the tree
	Second string // format of the conversion

	target *copier // of targetFor; nil before
}

// LeavesOut reports whether the conversion leaves out the object e at a path that only the first
// tree has, because the copy cannot read it or the second format cannot store it. second are the
// entries of the conversion by path.
func (c *Conversion) LeavesOut(path string, e *tree.Entry, second map[string]*tree.Entry) bool {
	if e.Kind == tree.Array && errors.Is(e.Err, errors.ErrUnsupported) && c.First != c.Second {
		return true
	}
	t := c.targetFor(second)
	if t.target == nil || c.Second == detect.HDF5 {
		return false
	}
	table := t.options.Table
	columns := c.Second == detect.Bcolz || table
	switch inGroup := strings.Contains(strings.Trim(path, "/"), "/"); {
	case e.Kind == tree.Group:
		return c.Second == detect.B2E || columns
	case e.Kind != tree.Array, columns && inGroup, errors.Is(t.target.CheckName(path, false), errors.ErrUnsupported):
		return true
	}
	spec := e.Meta.Spec()
	spec.Compression, spec.ChunkShape, spec.BlockShape = nil, nil, nil
	if converted.IsText(spec.DType) && !table { // strings of the smallest fixed size
		spec.DType, spec.Fill = ndarray.DType{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder}, nil
	}
	return errors.Is(t.target.Check(path, spec, t.Rows()), errors.ErrUnsupported)
}

// targetFor returns a copy to the second format, for its checks. Its first array is the first one
// of the conversion, in the order of paths, that has rows. It has no target if the second tree is a
// file of one array.
func (c *Conversion) targetFor(second map[string]*tree.Entry) *copier {
	if c.target != nil {
		return c.target
	}
	root := second["/"]
	t := &copier{destination: &destination{format: c.Second}}
	t.options = &Options{Table: root != nil && root.Type == containers.Table && detect.IsStore(c.Second)}
	first := ""
	for path, e := range second {
		if e != nil && e.Kind == tree.Array && len(e.Meta.Shape) > 0 && (first == "" || path < first) {
			spec := e.Meta.Spec()
			first, t.plan.Arrays = path, []*tree.Item{{Spec: &spec}}
		}
	}
	t.target, _ = newTarget(t)
	c.target = t
	return t
}
