// Objects that a conversion leaves out.

package hyperslab

import (
	"errors"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/containers"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/h5tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// conversion are a tree and its conversion.
type conversion struct {
	trees  [2]*Tree
	target *treeCopy // of targetOf; nil before
}

// leftOut reports whether a conversion leaves out the object that only the first tree has: CopyTree
// cannot read it or the format of the second tree cannot store it.
func (c *conversion) leftOut(path string, e *tree.Entry, second map[string]*tree.Entry) bool {
	target := c.targetOf(second)
	if e.Kind == tree.Array && errors.Is(e.Err, errors.ErrUnsupported) && c.trees[0].Format != target.format {
		return true
	}
	if target.target == nil || target.format == HDF5 {
		return false
	}
	table := target.options.Table
	columns := target.format == Bcolz || table
	switch inGroup := strings.Contains(strings.Trim(path, "/"), "/"); {
	case e.Kind == tree.Group:
		return target.format == B2E || columns
	case e.Kind != tree.Array, columns && inGroup, errors.Is(target.target.checkName(path, false), errors.ErrUnsupported):
		return true
	}
	spec := e.Meta.Spec()
	spec.Compression, spec.ChunkShape, spec.BlockShape = nil, nil, nil
	if converted.IsText(spec.DType) && !table { // strings of the smallest fixed size
		spec.DType, spec.Fill = ndarray.DType{Kind: ndarray.Bytes, Size: 1, Order: ndarray.NoOrder}, nil
	}
	return errors.Is(target.target.check(path, spec, target.rows()), errors.ErrUnsupported)
}

// targetOf returns a copy to the format of the second tree, for its checks. Its first array is the
// first one of the tree, in the order of paths, that has rows. It has no target if the second tree
// is a file of one array.
func (c *conversion) targetOf(second map[string]*tree.Entry) *treeCopy {
	if c.target != nil {
		return c.target
	}
	root := second["/"]
	t := &treeCopy{source: copySource{c.trees[0]}, destination: &destination{format: c.trees[1].Format}}
	t.options = &TreeOptions{Table: root != nil && root.Type == containers.Table && detect.IsStore(string(t.format))}
	first := ""
	for path, e := range second {
		if e != nil && e.Kind == tree.Array && len(e.Meta.Shape) > 0 && (first == "" || path < first) {
			spec := e.Meta.Spec()
			first, t.arrays = path, []*treeItem{{spec: &spec}}
		}
	}
	t.target, _ = newTarget(t, t.format, t.options.Table)
	c.target = t
	return t
}

var objectAt = h5tree.ObjectAt

// shown returns a location for messages, without secrets of a URL.
func shown(location string) string { return urlfile.Redact(location) }
