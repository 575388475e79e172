// Features of files for Advise: the rules of rules.txt that an object exercises or violates, and
// properties that follow from several fields.

package crosscheck

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/grid"
)

// areaOf returns the area of the vectors of a file's format.
func areaOf(path string) (string, error) {
	is, err := detect.Content(path)
	switch {
	case err != nil:
		return "", err
	case detect.IsStore(is):
		return "store", nil
	case is == detect.B2ND:
		f, err := annotate(path, Case{Area: "frame"})
		if err != nil {
			return "", err
		}
		if _, array := f.Find("frame/header/content of \"b2nd\""); !array {
			return "frame", nil
		}
		return is, nil
	case is == detect.HDF5, is == detect.Caterva, is == detect.Bcolz:
		return is, nil
	}
	return "", fmt.Errorf("no vectors of format %s: %w", is, errors.ErrUnsupported)
}

// adviceRules returns the rules of rules.txt.
var adviceRules = sync.OnceValues(func() (*ruleIndex, error) { return newRuleIndex(rulesText) })

// unitsOf returns the objects of a file: those of an HDF5 file, and one for any other file.
func unitsOf(path, area string) ([]unit, error) {
	x, err := adviceRules()
	if err != nil {
		return nil, err
	}
	s := scanned{index: x, area: area}
	if area == "hdf5" {
		f, info, err := regularfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return s.hdf5(f, info.Size())
	}
	root, err := annotate(path, Case{Area: area})
	if err != nil {
		return nil, err
	}
	set := make(features)
	s.tree(set, "", root)
	if area == "chunk" || area == "blosc1" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		chunkFeatures(set, b)
	}
	return []unit{{kind: area, features: set.sorted()}}, nil
}

// features is a set of features.
type features map[string]bool

func (s features) add(format string, args ...any) { s[fmt.Sprintf(format, args...)] = true }

// without returns the features that none of the others has.
func (s features) without(others ...features) features {
	out := maps.Clone(s)
	for _, o := range others {
		maps.DeleteFunc(out, func(name string, _ bool) bool { return o[name] })
	}
	return out
}

func (s features) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// scanned is one scan of a file.
type scanned struct {
	index *ruleIndex
	area  string
}

// tree adds the rules that a field and the fields below it exercise or violate.
func (s *scanned) tree(to features, parent string, f format.Field) {
	s.index.each(s.area, parent, f, func(i int) { to.add("%s: %s", s.index.rules[i].section, s.index.rules[i].text) })
	for _, p := range f.Fields {
		if len(p.Fields) > 0 {
			s.tree(to, ruleName(f), p)
		}
	}
	if s.area != "hdf5" {
		valueFeatures(to, f)
	}
}

// few are the fields of Blosc formats whose every value is a feature.
var few = map[string]bool{
	"version": true, "versionlz": true, "flags": true, "typesize": true, "blosc2_flags": true, "filter": true, "filters": true, "udcodec": true, "codec": true, "ndim": true,
	"type_size": true, "dtype": true, "kind": true,
}

// valueFeatures adds the values of some fields, and the ranks of arrays.
func valueFeatures(to features, f format.Field) {
	for _, p := range f.Fields {
		if name := ruleName(p); few[name] && len(p.Value) < 40 {
			to.add("%s %s", name, strings.TrimSpace(p.Value+" "+p.Meaning))
		}
	}
}

// chunkFeatures adds the properties of a chunk that follow from its streams.
func chunkFeatures(to features, b []byte) {
	c, err := chunk.Parse(b)
	if err != nil {
		to.add("a chunk that cannot be read: %s", firstLine(err.Error()))
		return
	}
	var filters []string
	for k, f := range c.Filters {
		if f != chunk.NoFilter {
			filters = append(filters, fmt.Sprintf("%v(%d)", f, c.FiltersMeta[k]))
		}
	}
	to.add("filters %s", strings.Join(filters, ", "))
	to.add("codec %v", c.Codec)
	to.add("special value %v", c.Special)
	flag := func(is bool, name string) {
		if is {
			to.add("%s", name)
		}
	}
	flag(c.Stored(), "stored without compression")
	flag(!c.Extended, "header of 16 bytes")
	flag(c.VLBlocks(), "blocks of variable length")
	flag(c.Dict != nil, "dictionary")
	flag(c.NBytes == 0, "no bytes")
	flag(len(c.Blocks) > 1, "several blocks")
	if size := int32(c.TypeSize); size > 0 && !c.VLBlocks() {
		flag(c.NBytes%size != 0, "a partial element")
		flag(c.BlockSize%size != 0, "blocks of partial elements")
		flag(c.BlockSize > 0 && c.NBytes%c.BlockSize != 0, "a shorter last block")
		flag(c.BlockSize%(8*size) != 0, "blocks that are no multiple of 8 elements")
	}
	for _, block := range c.Blocks {
		flag(len(block.Streams) > 1, "split blocks")
		for _, stream := range block.Streams {
			to.add("stream: %v", stream.Kind)
		}
	}
}

// hdf5Part contains the features of one HDF5 object: those of the object, those of the storage of
// its attributes, and those of each attribute.
type hdf5Part struct {
	kind        h5file.Kind
	own, stored features
	attributes  map[string]features
}

// hdf5 returns the objects of an HDF5 file and their attributes.
func (s *scanned) hdf5(r io.ReaderAt, size int64) ([]unit, error) {
	parts := make(map[string]*hdf5Part)
	at := func(object string) *hdf5Part {
		if parts[object] == nil {
			parts[object] = &hdf5Part{own: features{}, stored: features{}, attributes: map[string]features{}}
		}
		return parts[object]
	}
	if f, err := h5file.Open(r, size, nil); err == nil {
		for e, err := range f.Walk() {
			if e.Object == nil || err != nil && e.Object.Kind() == h5file.UnknownKind {
				continue
			}
			at(e.Path).derive(e.Object)
		}
	}
	attributes, invalid := false, false
	_, err := h5file.ObjectStructures(r, size, func(object string, f format.Field) {
		s.structure(at(object), f, &attributes)
		for range f.Complaints() {
			invalid = true
		}
	})
	units := partUnits(parts)
	if err == nil && !invalid {
		return units, nil
	}
	whole := make(features)
	s.tree(whole, "", h5file.Describe(r, size))
	for _, u := range units {
		for _, name := range u.features {
			whole[name] = true
		}
	}
	return append(units, unit{object: "/", kind: wholeFile, features: whole.sorted()}), nil
}

// partUnits returns the objects and attributes with the features of the file and of the groups that
// lead to them.
func partUnits(parts map[string]*hdf5Part) (units []unit) {
	file := features{}
	if parts[""] != nil {
		file = parts[""].own
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		p := parts[name]
		if name == "" || p.kind == h5file.UnknownKind && len(p.own) == 0 {
			continue
		}
		around, groups := maps.Clone(file), features{}
		for up := name; up != "/"; {
			up = path.Dir(up)
			if g := parts[up]; g != nil {
				maps.Copy(groups, g.own)
			}
		}
		maps.Copy(around, groups)
		kind := p.kind.String()
		u := maps.Clone(around)
		maps.Copy(u, p.own)
		u.add("%s", kind)
		units = append(units, unit{name, kind, u.sorted(), groups.without(file, p.own)})
		for _, a := range slices.Sorted(maps.Keys(p.attributes)) {
			u := maps.Clone(around)
			maps.Copy(u, p.stored)
			maps.Copy(u, p.attributes[a])
			u.add("attribute")
			units = append(units, unit{name + "@" + a, "attribute", u.sorted(), groups.without(file, p.stored, p.attributes[a])})
		}
	}
	return units
}

// structure adds the features of a structure to the object through which it was reached. attributes
// is set after the header of an index of attributes, until that of another index.
func (s *scanned) structure(to *hdf5Part, f format.Field, attributes *bool) {
	name := ruleName(f)
	switch {
	case name == "attribute":
		s.tree(to.attribute(f), "", f)
	case name == "object header", name == "object header continuation":
		header := f
		header.Fields = slices.Clone(f.Fields)
		for i, m := range f.Fields {
			if ruleName(m) != "message attribute" {
				continue
			}
			s.tree(to.attribute(m), name, m)
			header.Fields[i].Fields = nil
			s.versionOf(to.own, m)
		}
		s.tree(to.own, "", header)
		header.Fields = slices.DeleteFunc(header.Fields, func(m format.Field) bool {
			n := ruleName(m)
			return strings.HasPrefix(n, "message ") && n != "message attribute info" && n != "message NIL" && n != "message object header continuation"
		})
		s.tree(to.stored, "", header)
	case name == "v2 B-tree header":
		*attributes = slices.ContainsFunc(f.Fields, func(p format.Field) bool {
			return p.Name == "type" && strings.Contains(p.Value+p.Meaning, "attributes")
		})
		fallthrough
	case strings.HasPrefix(name, "v2 B-tree"):
		if *attributes {
			s.tree(to.stored, "", f)
		} else {
			s.tree(to.own, "", f)
		}
	case strings.HasPrefix(name, "fractal heap"):
		s.tree(to.stored, "", f)
		if to.kind == h5file.GroupKind {
			s.tree(to.own, "", f)
		}
	default:
		s.tree(to.own, "", f)
	}
}

// versionOf adds the version of an attribute message.
func (s *scanned) versionOf(to features, m format.Field) {
	for _, p := range m.Fields {
		if p.Name == "version" {
			to.add("attribute messages of version %s", p.Value)
		}
	}
}

// attribute returns the features of the attribute in a field.
func (p *hdf5Part) attribute(f format.Field) features {
	name := ""
	for _, x := range f.Fields {
		if x.Name == "name" {
			name = x.Value
			if text, err := strconv.Unquote(name); err == nil {
				name = text
			}
		}
	}
	return p.named(name)
}

// named returns the features of the attribute with a name.
func (p *hdf5Part) named(name string) features {
	if p.attributes[name] == nil {
		p.attributes[name] = features{}
	}
	return p.attributes[name]
}

// derive adds the properties of an object that follow from several fields.
func (p *hdf5Part) derive(o *h5file.Object) {
	p.kind = o.Kind()
	for a, err := range o.EachAttribute() {
		if a == nil || err != nil {
			continue
		}
		typeFeatures(p.named(a.Name), a.Type)
		spaceFeatures(p.named(a.Name), a.Space)
	}
	if t := o.Datatype(); t != nil {
		typeFeatures(p.own, t)
	}
	s := o.Dataspace()
	if s == nil {
		return
	}
	spaceFeatures(p.own, s)
	if l := o.Layout(); l != nil {
		storageFeatures(p.own, o, l, s)
	}
}

// typeFeatures adds the properties of a datatype.
func typeFeatures(to features, t *h5file.Datatype) {
	name := t.Class.String()
	switch t.Class {
	case h5file.VLenClass:
		if t.VariableString() {
			name = "variable-length string"
		}
	case h5file.StringClass:
		to.add("%s with padding %d", name, t.StringPad())
	case h5file.ReferenceClass:
		name = fmt.Sprintf("reference of kind %d", t.RefKind())
	case h5file.CompoundClass, h5file.OpaqueClass, h5file.ArrayClass:
	default:
		name = fmt.Sprintf("%s of %d bytes", name, t.Size)
		if t.Order() == h5file.BigEndian && t.Size > 1 {
			to.add("big-endian numbers")
		}
		if t.Precision != 0 && (t.BitOffset != 0 || uint32(t.Precision) != 8*t.Size) {
			to.add("numbers with padding")
		}
	}
	to.add("elements: %s", name)
	if t.Base != nil {
		to.add("elements: %s of %v", t.Class, t.Base.Class)
	}
	for _, m := range t.Members {
		if m.Type != nil {
			to.add("elements: %s with %v", t.Class, m.Type.Class)
		}
	}
}

// spaceFeatures adds the properties of a dataspace.
func spaceFeatures(to features, s *h5file.Dataspace) {
	if s.Class != h5file.SimpleSpace {
		to.add("dataspace: %v", s.Class)
		return
	}
	to.add("rank %d", len(s.Dims))
	if n, ok := s.Elements(); ok && n == 0 {
		to.add("a dimension of length 0")
	}
	unlimited, larger := 0, false
	for i, n := range s.MaxDims {
		if n == h5file.Unlimited {
			unlimited++
			to.add("dimension %d of %d is unlimited", i, len(s.Dims))
		}
		larger = larger || n > s.Dims[i]
	}
	if unlimited > 1 {
		to.add("several unlimited dimensions")
	}
	if larger && unlimited == 0 {
		to.add("maximum shape that is larger than the shape")
	}
}

// storageFeatures adds the properties of the storage of a dataset.
func storageFeatures(to features, o *h5file.Object, l *h5file.Layout, s *h5file.Dataspace) {
	fill := o.FillValue()
	value := fill != nil && len(bytes.Trim(fill.Value, "\x00")) > 0
	if value {
		to.add("fill value other than 0")
	}
	if fill != nil && fill.WriteTime == 1 {
		to.add("fill value that is never written")
	}
	if p := o.Pipeline(); p != nil {
		for i, f := range p.Filters {
			to.add("filter %v", f.ID)
			if i > 0 {
				to.add("filter %v before %v", p.Filters[i-1].ID, f.ID)
			}
		}
	}
	if o.ExternalFiles() != nil {
		to.add("elements in external files")
	}
	empty := l.Class == h5file.Contiguous && !l.Addr.Defined() && o.ExternalFiles() == nil
	if l.Class == h5file.Chunked && len(l.Dims) == len(s.Dims)+1 {
		to.add("chunks, index: %v", l.Index)
		empty = chunkedFeatures(to, o, l, s)
	}
	if empty {
		to.add("elements that are not stored")
		if value {
			to.add("elements that are not stored, with a fill value other than 0")
		}
	}
}

// chunkedFeatures adds the properties of chunks, and reports whether some are not stored.
func chunkedFeatures(to features, o *h5file.Object, l *h5file.Layout, s *h5file.Dataspace) (missing bool) {
	all := uint64(1)
	for i, n := range s.Dims {
		if c := l.Dims[i]; c > 0 {
			if n%c != 0 {
				to.add("partial edge chunks")
			}
			if c > n {
				to.add("chunks larger than the shape")
			}
			all *= grid.DivUp(n, c)
		}
	}
	stored := uint64(0)
	for c, err := range o.Chunks() {
		if err != nil {
			break
		}
		stored++
		if c.Mask != 0 {
			to.add("chunks that skip a filter")
		}
	}
	switch {
	case stored == 0:
		to.add("no chunk is stored")
	case stored < all:
		to.add("some chunks are not stored")
	}
	if all > 1 {
		to.add("several chunks")
	}
	return stored < all
}
