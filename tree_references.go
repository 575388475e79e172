// References in a copied tree. ndarray has the path of each target, so references are written again
// after all other objects of the target exist.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/ndarray"
)

// hasReferences reports whether elements of d contain references.
func hasReferences(d ndarray.DType) bool {
	found := false
	d.MapParts(func(p ndarray.DType) ndarray.DType {
		found = found || p.Kind == ndarray.Reference
		return p
	})
	return found
}

// mapReferences returns an element of d with f applied to the text of each reference.
func mapReferences(d ndarray.DType, b []byte, f func(string) (string, error)) ([]byte, error) {
	switch {
	case d.Kind == ndarray.Reference:
		s, err := f(string(b))
		return []byte(s), err
	case !hasReferences(d):
		return b, nil
	}
	parts, err := d.Split(b)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		t := d.Base
		if d.Kind == ndarray.Struct {
			t = &d.Fields[i].Type
		}
		if parts[i], err = mapReferences(*t, parts[i], f); err != nil {
			return nil, err
		}
	}
	return d.Join(parts...)
}

// planReferences checks that the target of each reference is part of the copy. It leaves out arrays
// for which that is not so, and moves the other arrays with references to the end.
func (c *treeCopy) planReferences(ctx context.Context) error {
	known := map[string]bool{}
	for _, list := range [][]treeItem{c.groups, c.arrays, c.links} {
		for _, item := range list {
			known[item.from] = true
		}
	}
	if c.types != nil {
		for _, x := range c.types.order {
			known[x.from] = true
		}
	}
	var plain, references []treeItem
	for _, item := range c.arrays {
		if !hasReferences(item.spec.DType) {
			plain = append(plain, item)
			continue
		}
		err := c.checkReferences(ctx, item, known)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrNotFound) {
			if e, ok := errors.AsType[*ndarray.Error](err); ok {
				err = e.Err
			}
			c.loseObject(item.from, Array, err)
			c.stats.Arrays--
			c.stats.Bytes -= item.bytes
			continue
		}
		if err != nil {
			return err
		}
		references = append(references, item)
	}
	c.arrays = append(plain, references...)
	return nil
}

// checkReferences returns ErrNotFound for a reference whose target is not part of the copy.
func (c *treeCopy) checkReferences(ctx context.Context, item treeItem, known map[string]bool) (err error) {
	a, err := c.source.Open(ctx, item.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	m := a.Meta()
	for r := range a.ChunkRegions() {
		texts := make([]string, r.NumElems())
		if err := a.ReadStrings(ctx, texts, r); err != nil {
			return err
		}
		for _, text := range texts {
			_, err := mapReferences(m.DType, []byte(text), func(s string) (string, error) {
				if s == "" || known[s] || slices.ContainsFunc([]byte("[(@"), func(b byte) bool {
					i := strings.LastIndexByte(s, b)
					return i > 0 && known[firstPath(s, i, known)]
				}) {
					return s, nil
				}
				return "", fmt.Errorf("%w: the target of reference %q is not part of the copy", ndarray.ErrNotFound, s)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// firstPath returns the path of a reference whose selection or attribute begins at offset i or
// before: the selection may have several parts.
func firstPath(s string, i int, known map[string]bool) string {
	for ; i > 0; i = strings.LastIndexByte(s[:i], s[i]) {
		if known[s[:i]] {
			return s[:i]
		}
	}
	return ""
}

// movedReferences is a dataset of a copy of a group: references to objects below the group become
// references to their copies.
type movedReferences struct {
	ndarray.Backend
	root string // path of the group in the source
}

// Unwrap returns the dataset.
func (m movedReferences) Unwrap() ndarray.Backend { return m.Backend }

// WriteStrings implements ndarray.StringWriter.
func (m movedReferences) WriteStrings(ctx context.Context, src []string, r ndarray.Region) error {
	moved := make([]string, len(src))
	for i, s := range src {
		b, err := mapReferences(m.Meta().DType, []byte(s), func(s string) (string, error) {
			after, _ := strings.CutPrefix(s, m.root)
			if after == "" && s != "" {
				after = "/" // the group itself
			}
			return after, nil
		})
		if err != nil {
			return err
		}
		moved[i] = string(b)
	}
	w, ok := ndarray.As[ndarray.StringWriter](m.Backend)
	if !ok {
		return errors.ErrUnsupported
	}
	return w.WriteStrings(ctx, moved, r)
}
