// Conversion of JSON attributes to ndarray's values.

package bcolz

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// attrsOf returns the attributes that ndarray can represent, and lists the others as unsupported.
func attrsOf(members bcolztree.Attrs) ndarray.Attrs {
	var out ndarray.Attrs
	for _, m := range members {
		v, err := valueOf(m.Value)
		a := ndarray.Attr{Name: m.Name, Value: v}
		if err == nil {
			err = a.Validate()
		}
		if err != nil {
			out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{Name: m.Name, Type: m.Value.Kind.String(), Reason: err.Error(), Raw: rawOf(m.Value)})
			continue
		}
		out.List = append(out.List, a)
	}
	return out
}

// valueOf returns a JSON value with its natural type. Strings become strings of variable length.
// Integers become int64, or uint64 if one of them needs it, or float64 if there are fractions among
// them. Lists of equal lengths become dimensions. The error describes values that ndarray cannot
// represent.
func valueOf(v bcolztree.Value) (ndarray.Value, error) {
	shape := shapeOf(v)
	if len(shape) > grid.MaxRank {
		return ndarray.Value{}, fmt.Errorf("%d nested lists", len(shape))
	}
	var all []bcolztree.Value
	if !leaves(v, shape, &all) {
		return ndarray.Value{}, errors.New("lists of different lengths")
	}
	d, err := naturalType(all)
	if err != nil {
		return ndarray.Value{}, err
	}
	out := ndarray.Value{DType: d, Shape: shape}
	if d.Kind == ndarray.String {
		for _, x := range all {
			out.Strings = append(out.Strings, x.Text)
		}
		return out, nil
	}
	out.Data = make([]byte, 0, len(all)*d.Size)
	for _, x := range all {
		b, ok := element(x, d)
		if !ok {
			return ndarray.Value{}, fmt.Errorf("%s as %v", x.Text, d)
		}
		out.Data = append(out.Data, b...)
	}
	return out, nil
}

// shapeOf returns the shape along the first element of each list.
func shapeOf(v bcolztree.Value) []int64 {
	var shape []int64
	for v.Kind == bcolztree.List {
		shape = append(shape, int64(len(v.List)))
		if len(v.List) == 0 {
			break
		}
		v = v.List[0]
	}
	return shape
}

// leaves appends the elements of nested lists to out. It reports whether the lists have exactly the
// given shape.
func leaves(v bcolztree.Value, shape []int64, out *[]bcolztree.Value) bool {
	if len(shape) == 0 {
		*out = append(*out, v)
		return true
	}
	if v.Kind != bcolztree.List || int64(len(v.List)) != shape[0] {
		return false
	}
	for _, x := range v.List {
		if !leaves(x, shape[1:], out) {
			return false
		}
	}
	return true
}

// naturalType returns the type that can represent all leaves. If there are no leaves, it is
// float64, as in NumPy.
func naturalType(all []bcolztree.Value) (ndarray.DType, error) {
	if len(all) == 0 {
		return ndarray.DTypeOf[float64](), nil
	}
	kind := all[0].Kind
	if i := slices.IndexFunc(all, func(v bcolztree.Value) bool { return v.Kind != kind }); i >= 0 {
		return ndarray.DType{}, fmt.Errorf("%s and %s in one list", kind, all[i].Kind)
	}
	switch kind {
	case bcolztree.String:
		return ndarray.DType{Kind: ndarray.String, Order: ndarray.NoOrder, CharSet: ndarray.UTF8}, nil
	case bcolztree.Bool:
		return ndarray.DTypeOf[bool](), nil
	case bcolztree.Number:
		return numberType(all)
	}
	return ndarray.DType{}, fmt.Errorf("%s has no element type", kind)
}

func numberType(all []bcolztree.Value) (ndarray.DType, error) {
	var negative, large, fraction, inexact bool
	for _, v := range all {
		n, isInt := v.Int64()
		_, notUint := strconv.ParseUint(v.Text, 10, 64)
		switch {
		case isInt:
			negative = negative || n < 0
			inexact = inexact || n > 1<<53 || n < -1<<53
		case notUint == nil:
			large, inexact = true, true
		default:
			if _, ok := v.Float64(); !ok || isDigits(v.Text) {
				return ndarray.DType{}, fmt.Errorf("%s does not fit a number of 64 bits", v.Text)
			}
			fraction = true
		}
	}
	switch {
	case fraction && inexact:
		return ndarray.DType{}, errors.New("an integer above 2^53 together with fractions")
	case fraction:
		return ndarray.DTypeOf[float64](), nil
	case large && negative:
		return ndarray.DType{}, errors.New("an integer above 2^63-1 together with negative ones")
	case large:
		return ndarray.DTypeOf[uint64](), nil
	}
	return ndarray.DTypeOf[int64](), nil
}

// isDigits reports whether a number is written as an integer.
func isDigits(s string) bool {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (i > 0 || s[i] != '-') {
			return false
		}
	}
	return true
}
