// Element types in the record.

package bcolz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hyperslab/hyperslab/ndarray"
)

// recordType is an element type as the record stores it: the string of DType.String, or, if parts
// of the type have properties that the string lacks, an object of that string and these properties.
// In records of version 1 it is an object with the fields of DType.
type recordType struct{ ndarray.DType }

type typeText struct {
	Text  string     `json:"text"`
	Parts []typePart `json:"parts"`
}

// typePart contains the properties of one part of a type. Index is its position in
// DType.MapParts.
type typePart struct {
	Index   int    `json:"index"`
	CharSet string `json:"charset,omitempty"`
	Padding string `json:"padding,omitempty"`
	Tag     []byte `json:"tag,omitempty"`
}

// typeVersion1 is an element type in a record of version 1.
type typeVersion1 struct {
	Kind    ndarray.Kind
	Size    int
	Order   ndarray.Order
	CharSet ndarray.CharSet
	Pad     ndarray.Pad
	Unit    ndarray.TimeUnit
	Tag     string
	Base    *typeVersion1
	Dims    []int64
	Members []ndarray.Member
	Fields  []struct {
		Name, Title string
		Offset      int
		Type        typeVersion1
	}
	Aligned bool
}

func (t *typeVersion1) dtype() ndarray.DType {
	d := ndarray.DType{
		Kind: t.Kind, Size: t.Size, Order: t.Order, CharSet: t.CharSet, Pad: t.Pad, Unit: t.Unit, Tag: t.Tag,
		Dims: t.Dims, Members: t.Members, Aligned: t.Aligned,
	}
	if t.Base != nil {
		base := t.Base.dtype()
		d.Base = &base
	}
	for _, f := range t.Fields {
		d.Fields = append(d.Fields, ndarray.Field{Name: f.Name, Title: f.Title, Offset: f.Offset, Type: f.Type.dtype()})
	}
	return d
}

var (
	charSets = []ndarray.CharSet{ndarray.ASCII, ndarray.UTF8}
	paddings = []ndarray.Pad{ndarray.NullPad, ndarray.NullTerm, ndarray.SpacePad}
)

func (t recordType) MarshalJSON() ([]byte, error) {
	var parts []typePart
	n := 0
	t.MapParts(func(d ndarray.DType) ndarray.DType {
		p := typePart{Index: n, Tag: []byte(d.Tag)}
		if d.CharSet != ndarray.ASCII {
			p.CharSet = d.CharSet.String()
		}
		if d.Pad != ndarray.NullPad {
			p.Padding = d.Pad.String()
		}
		if p.CharSet != "" || p.Padding != "" || len(p.Tag) > 0 {
			parts = append(parts, p)
		}
		n++
		return d
	})
	if parts == nil {
		return readable(t.String(), "")
	}
	return readable(typeText{Text: t.String(), Parts: parts}, "")
}

// readable returns v as JSON, in which "<" is not escaped.
func readable(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

func (t *recordType) UnmarshalJSON(b []byte) error {
	var v struct {
		Kind *ndarray.Kind // of version 1
		typeText
	}
	var err error
	if b[0] == '"' {
		err = json.Unmarshal(b, &v.Text)
	} else {
		err = json.Unmarshal(b, &v)
	}
	if err == nil && v.Kind != nil {
		var old typeVersion1
		if err = json.Unmarshal(b, &old); err == nil {
			t.DType = old.dtype()
			err = t.Validate()
		}
		return err
	}
	if err == nil {
		t.DType, err = ndarray.ParseDType(v.Text)
	}
	if err == nil {
		err = t.addParts(v.Parts)
	}
	return err
}

// addParts sets the properties of parts, which are in the order of their indexes.
func (t *recordType) addParts(parts []typePart) error {
	n := 0
	var err error
	d := t.MapParts(func(d ndarray.DType) ndarray.DType {
		if len(parts) > 0 && parts[0].Index == n {
			p := parts[0]
			charSet := slices.IndexFunc(charSets, func(c ndarray.CharSet) bool { return c.String() == p.CharSet })
			padding := slices.IndexFunc(paddings, func(x ndarray.Pad) bool { return x.String() == p.Padding })
			switch {
			case p.CharSet != "" && charSet < 0:
				err = fmt.Errorf("character set: got %.40q, want one of %v", p.CharSet, charSets)
			case p.Padding != "" && padding < 0:
				err = fmt.Errorf("padding: got %.40q, want one of %v", p.Padding, paddings)
			default:
				d.CharSet, d.Pad, d.Tag = charSets[max(charSet, 0)], paddings[max(padding, 0)], string(p.Tag)
			}
			parts = parts[1:]
		}
		n++
		return d
	})
	if err == nil && len(parts) > 0 {
		err = fmt.Errorf("part %d of the type %v: got no such part, want one of %d in ascending order", parts[0].Index, t.DType, n)
	}
	if err == nil {
		err = d.Validate()
	}
	t.DType = d
	return err
}
