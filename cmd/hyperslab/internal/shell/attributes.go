package shell

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// AttrDoc is one attribute with its value.
type AttrDoc struct {
	Name  string    `json:"name"`
	DType string    `json:"dtype"`
	Shape []JSONInt `json:"shape"`
	Value any       `json:"value"`
}

// UnsupportedDoc is one attribute whose value cannot be represented.
type UnsupportedDoc struct {
	Name   string          `json:"name"`
	Type   string          `json:"type"`
	Reason string          `json:"reason"`
	Value  json.RawMessage `json:"value"` // of a metalayer in MessagePack or of bcolz; null otherwise
}

// NewUnsupportedDoc returns the document of an attribute that ndarray cannot represent.
func NewUnsupportedDoc(u ndarray.UnsupportedAttr) UnsupportedDoc {
	d := UnsupportedDoc{Name: u.Name, Type: u.Type, Reason: u.Reason}
	if u.Raw != nil {
		d.Value, _ = msgpack.JSON(u.Raw)
	}
	return d
}

// AttrsOf returns the attributes, or none if the backend does not support attributes.
func AttrsOf(ctx context.Context, arr *ndarray.Array) (ndarray.Attrs, error) {
	attrs, err := arr.Attrs(ctx)
	if lib, failed := errors.AsType[*h5.Error](err); failed {
		return attrs, lib // there are attributes, which cannot be read
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return ndarray.Attrs{}, nil
	}
	return attrs, err
}

// NewAttrDoc returns the document of an attribute.
func NewAttrDoc(attr ndarray.Attr) AttrDoc {
	v := attr.Value
	doc := AttrDoc{Name: attr.Name, DType: v.DType.String(), Value: valueJSON(v)}
	if !v.Null {
		doc.Shape = append([]JSONInt{}, JSONShape(v.Shape)...)
	}
	return doc
}

// OpenGroup opens the tree at an address and reports whether a group is there. Otherwise an array
// is there. An untrusted file is read in a sandbox.
func (a *App) OpenGroup(ctx context.Context, address string) (tree *hyperslab.Tree, group bool, err error) {
	if tree, err = a.OpenTree(ctx, address); err != nil {
		return nil, false, err
	}
	if group, err = IsGroup(ctx, tree, address); err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	return tree, group, nil
}

// IsGroupAt reports whether a group is at an address. Otherwise an array is there.
func (a *App) IsGroupAt(ctx context.Context, address string) (bool, error) {
	tree, group, err := a.OpenGroup(ctx, address)
	if err != nil {
		return false, err
	}
	return group, tree.Close()
}

// AttrsAt reads the attributes of the array or group at an address.
func (a *App) AttrsAt(ctx context.Context, address string) (attrs ndarray.Attrs, err error) {
	a.Access.Metadata = true
	loc, err := locate.Parse(address)
	if err != nil {
		return attrs, err
	}
	tree, group, err := a.OpenGroup(ctx, address)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	if group {
		return tree.GroupAttrs(ctx, loc.Object)
	}
	arr, err := tree.Open(ctx, loc.Object)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	return AttrsOf(ctx, arr)
}
