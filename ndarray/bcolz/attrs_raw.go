// Attributes without a Value: JSON values that ndarray has no element type for, in MessagePack.
// Blosc2 frames and other carrays can store them.

package bcolz

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// onlyRaw reports whether an attribute has Raw but no Value.
func onlyRaw(a ndarray.Attr) bool { return a.Raw != nil && a.Value.DType.Kind == 0 }

// rawOf returns a JSON value in MessagePack, or nil if MessagePack cannot represent it: an integer
// of more than 64 bits, a float beyond 64 bits, or lists nested deeper than msgpack.MaxDepth.
func rawOf(v bcolztree.Value) []byte {
	packed, ok := packedOf(v)
	if !ok {
		return nil
	}
	raw := msgpack.Append(nil, packed)
	if _, err := msgpack.Parse(raw); err != nil {
		return nil
	}
	return raw
}

func packedOf(v bcolztree.Value) (packed any, ok bool) {
	switch v.Kind {
	case bcolztree.Null:
		return nil, true
	case bcolztree.Bool:
		return v.Bool, true
	case bcolztree.String:
		return v.Text, true
	case bcolztree.Number:
		if n, ok := v.Int64(); ok {
			return n, true
		}
		if n, err := strconv.ParseUint(v.Text, 10, 64); err == nil {
			return n, true
		}
		x, ok := v.Float64()
		return x, ok && !isDigits(v.Text)
	case bcolztree.List:
		list := make([]any, 0, len(v.List))
		for _, x := range v.List {
			p, ok := packedOf(x)
			if !ok {
				return nil, false
			}
			list = append(list, p)
		}
		return list, true
	}
	members := make(msgpack.Map, 0, len(v.Members))
	for _, m := range v.Members {
		p, ok := packedOf(m.Value)
		if !ok {
			return nil, false
		}
		members = append(members, msgpack.Pair{Key: m.Name, Value: p})
	}
	return members, true
}

// jsonOfRaw is the inverse of rawOf. It returns errors.ErrUnsupported for MessagePack that JSON
// cannot represent: bytes, extension types, and maps with keys that are not distinct strings.
func jsonOfRaw(raw []byte) (bcolztree.Value, error) {
	packed, err := msgpack.Parse(raw)
	if err != nil {
		return bcolztree.Value{}, err
	}
	return jsonOfPacked(packed)
}

func jsonOfPacked(packed any) (v bcolztree.Value, err error) {
	switch p := packed.(type) {
	case nil:
		return v, nil
	case bool:
		return bcolztree.Value{Kind: bcolztree.Bool, Bool: p}, nil
	case int64:
		return bcolztree.Int(p), nil
	case uint64:
		return bcolztree.Value{Kind: bcolztree.Number, Text: strconv.FormatUint(p, 10)}, nil
	case float32:
		return bcolztree.Float(float64(p)), nil
	case float64:
		return bcolztree.Float(p), nil
	case string:
		return bcolztree.Text(p), nil
	case []any:
		v = bcolztree.Value{Kind: bcolztree.List, List: []bcolztree.Value{}}
		for _, x := range p {
			e, err := jsonOfPacked(x)
			if err != nil {
				return v, err
			}
			v.List = append(v.List, e)
		}
		return v, nil
	case msgpack.Map:
		v = bcolztree.Value{Kind: bcolztree.Object}
		names := make(map[string]bool, len(p))
		for _, x := range p {
			name, ok := x.Key.(string)
			if !ok || names[name] {
				return v, fmt.Errorf("%w: map of JSON: got MessagePack key %v, want distinct strings", errors.ErrUnsupported, x.Key)
			}
			e, err := jsonOfPacked(x.Value)
			if err != nil {
				return v, err
			}
			names[name] = true
			v.Members = append(v.Members, bcolztree.Member{Name: name, Value: e})
		}
		return v, nil
	}
	return v, fmt.Errorf("%w: value of JSON: got MessagePack %T, want a number, string, list or map", errors.ErrUnsupported, packed)
}

// checkAttrs returns the errors of spec.Validate, and errors.ErrUnsupported for an attribute
// without a Value that JSON cannot represent.
func checkAttrs(spec *ndarray.Spec) error {
	valid := *spec
	valid.Attrs = nil
	for _, a := range spec.Attrs {
		if !onlyRaw(a) {
			valid.Attrs = append(valid.Attrs, a)
			continue
		}
		if _, err := jsonOfRaw(a.Raw); err != nil {
			return fmt.Errorf("attribute %q: %w", a.Name, err)
		}
	}
	return valid.Validate()
}
