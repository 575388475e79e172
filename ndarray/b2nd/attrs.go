// Attributes: metalayers with plain values that other programs can read, and the record for exact
// types.

package b2nd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/ndarray"
)

// maxPlain is the maximum number of attributes with their own metalayer. One metalayer is reserved
// for the record.
const maxPlain = cblosc.MaxVLMetalayers - 1

// Attrs reads all attributes: those of the record in the order they were set, then the metalayers
// that other programs added, those of fixed length last. If a fixed and a variable-length metalayer
// have the same name, the fixed one is listed as unsupported.
//
// If a metalayer no longer contains a value of the recorded type, a program without support for the
// record has changed it. Attrs then returns the metalayer's current value.
func (b *backend) Attrs(ctx context.Context) (attrs ndarray.Attrs, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	err = b.engine.idle(false, func(a *cblosc.Array) error {
		attrs, err = b.record.attributes(a.SChunk().VLMeta(), a.SChunk().Meta())
		return err
	})
	return attrs, errors.Join(err, ctx.Err())
}

// layers are the variable-length metalayers of an array, decompressed, or its fixed metalayers.
type layers interface {
	Names() ([]string, error)
	Get(name string) ([]byte, error)
	Size(name string) (content, stored int64, err error)
}

// checkLayer returns the error of format.CheckLayer for a metalayer.
func checkLayer(vl interface {
	Size(name string) (content, stored int64, err error)
}, name string) error {
	content, stored, err := vl.Size(name)
	if err != nil {
		return err
	}
	return format.CheckLayer(name, content, stored)
}

// attributes returns the attributes in the record and the metalayers.
func (r *record) attributes(vl, fixed layers) (ndarray.Attrs, error) {
	names, err := vl.Names()
	if err != nil {
		return ndarray.Attrs{}, err
	}
	var out ndarray.Attrs
	known, layer := map[string]bool{recordName: true, cframe.ChecksumLayer: true}, make(map[string]bool, len(names))
	for _, name := range names {
		layer[name] = true
	}
	for _, a := range r.attrs {
		known[a.name] = true
		own := !hiddenLayer(a.name) && layer[a.name]
		switch {
		case own:
			if err := addPlain(&out, vl, a.name, &a, false); err != nil {
				return ndarray.Attrs{}, err
			}
		case !a.alone:
			out.List = append(out.List, ndarray.Attr{Name: a.name, Value: a.value.Clone()})
		}
	}
	for _, name := range names {
		if known[name] {
			continue
		}
		if err := addPlain(&out, vl, name, nil, false); err != nil {
			return ndarray.Attrs{}, err
		}
	}
	err = addFixed(&out, fixed)
	return out, err
}

// addFixed adds the fixed metalayers, except those that define the array (ownLayer).
func addFixed(out *ndarray.Attrs, fixed layers) error {
	names, err := fixed.Names()
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(out.List)+len(out.Unsupported))
	for _, a := range out.List {
		used[a.Name] = true
	}
	for _, u := range out.Unsupported {
		used[u.Name] = true
	}
	for _, name := range names {
		taken := used[name]
		switch {
		case ownLayer(name):
		case taken:
			content, err := fixed.Get(name)
			if err != nil {
				return err
			}
			out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{
				Name: name, Type: "fixed metalayer", Reason: "a variable-length metalayer has the same name", Raw: content, Fixed: true,
			})
		default:
			if err := addPlain(out, fixed, name, nil, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// hiddenLayer reports whether a variable-length metalayer is not an attribute: the record and the
// checksums.
func hiddenLayer(name string) bool { return name == recordName || name == cframe.ChecksumLayer }

// ownLayer reports whether a fixed metalayer is the source of Meta.
func ownLayer(name string) bool { return name == b2ndmeta.Name || name == b2ndmeta.CatervaName }

// checkFixed returns errors.ErrUnsupported if the attribute is a fixed metalayer.
func checkFixed(a *cblosc.Array, name string) error {
	has, err := a.SChunk().Meta().Has(name)
	if err != nil || !has || ownLayer(name) {
		return err
	}
	return fmt.Errorf("%w: a change of attribute %q, a fixed metalayer", errors.ErrUnsupported, name)
}

// addPlain adds the attribute in a metalayer, with the recorded type if there is one and it fits.
// Without a recorded type the attribute keeps the content of the metalayer as Raw, so that a copy
// in another frame has the same bytes.
func addPlain(out *ndarray.Attrs, vl layers, name string, a *recordAttr, fixed bool) error {
	err := checkLayer(vl, name)
	if errors.Is(err, format.ErrLimit) {
		out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{Name: name, Type: "metalayer", Reason: err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	content, err := vl.Get(name)
	if err != nil {
		return err
	}
	plain, err := msgpack.Parse(content)
	if err != nil {
		out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{
			Name: name, Type: fmt.Sprintf("metalayer of %d bytes", len(content)), Reason: err.Error(), Raw: content, Fixed: fixed,
		})
		return nil
	}
	if a != nil && a.alone {
		if v, ok := fromPlain(plain, a.value.DType, a.value.Shape); ok {
			out.List = append(out.List, ndarray.Attr{Name: name, Value: v})
			return nil
		}
	}
	v, err := natural(plain)
	if err != nil {
		out.Unsupported = append(out.Unsupported, ndarray.UnsupportedAttr{Name: name, Type: "MessagePack", Reason: err.Error(), Raw: content, Fixed: fixed})
		return nil
	}
	out.List = append(out.List, ndarray.Attr{Name: name, Value: v, Raw: content, Fixed: fixed})
	return nil
}

// SetAttr adds or replaces an attribute. It returns errors.ErrUnsupported if metalayers of other
// programs leave no space for the record, and for a fixed metalayer, which cannot be changed.
func (b *backend) SetAttr(ctx context.Context, a ndarray.Attr) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := slices.Clone(b.record.attrs)
	err := b.engine.idle(true, func(array *cblosc.Array) error {
		vl := array.SChunk().VLMeta()
		there, err := b.has(vl, a.Name)
		if err == nil && !there {
			err = checkFixed(array, a.Name)
		}
		if err != nil {
			return err
		}
		if err := b.record.put(vl, a); err != nil {
			return err
		}
		return b.record.write(vl)
	})
	if err != nil {
		b.record.attrs, b.record.at = before, nil
	}
	return err
}

// has reports whether an attribute exists in the record or as a variable-length metalayer.
func (b *backend) has(vl layers, name string) (bool, error) {
	names, err := vl.Names()
	i := b.record.find(name)
	return !hiddenLayer(name) && slices.Contains(names, name) || i >= 0 && !b.record.attrs[i].alone, err
}

// DeleteAttr removes an attribute. It returns ErrNotFound if there is no such attribute, and
// errors.ErrUnsupported for a fixed metalayer.
func (b *backend) DeleteAttr(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.engine.idle(true, func(a *cblosc.Array) error {
		vl := a.SChunk().VLMeta()
		there, err := b.has(vl, name)
		if err == nil && !there {
			err = cmp.Or(checkFixed(a, name), fmt.Errorf("attribute %q: %w", name, ndarray.ErrNotFound))
		}
		if err != nil {
			return err
		}
		return b.deleteAttr(vl, name)
	})
}

// deleteAttr deletes an attribute, which must exist.
func (b *backend) deleteAttr(vl *cblosc.Metalayers, name string) error {
	names, err := vl.Names()
	if err != nil {
		return err
	}
	i := b.record.find(name)
	if !hiddenLayer(name) && slices.Contains(names, name) {
		if err := vl.Delete(name); err != nil {
			return err
		}
	}
	if i < 0 {
		return nil
	}
	b.record.remove(name)
	return b.record.write(vl)
}

// recordOf returns the record of a new array, without attributes.
func recordOf(spec ndarray.Spec) *record {
	r := &record{null: spec.Null, maxShape: slices.Clone(spec.MaxShape), axes: slices.Clone(spec.AxisNames)}
	if d := spec.DType; !d.NumPy().Equal(d) {
		r.dtype = &d
	}
	if spec.Fill != nil {
		r.fill = slices.Clone(spec.Fill)
		spec.DType.ToNative(r.fill) // to storage order; ToNative is its own inverse
	}
	return r
}

// find returns the index of an attribute in the record, or -1.
func (r *record) find(name string) int {
	if r.at == nil {
		r.at = make(map[string]int, len(r.attrs))
		for i, a := range r.attrs {
			if _, again := r.at[a.name]; !again {
				r.at[a.name] = i
			}
		}
	}
	if i, ok := r.at[name]; ok {
		return i
	}
	return -1
}

// set records an attribute.
func (r *record) set(a recordAttr) {
	if i := r.find(a.name); i >= 0 {
		r.attrs[i] = a
		return
	}
	r.at[a.name] = len(r.attrs)
	r.attrs = append(r.attrs, a)
}

// remove removes an attribute from the record.
func (r *record) remove(name string) {
	if i := r.find(name); i >= 0 {
		r.attrs, r.at = slices.Delete(r.attrs, i, i+1), nil
	}
}

// put stores an attribute. An attribute with Raw bytes becomes that metalayer and is not recorded.
// Any other attribute is recorded. It also becomes a metalayer if its name is short enough, its
// value can be read back exactly, and there is a free metalayer.
func (r *record) put(vl *cblosc.Metalayers, attr ndarray.Attr) error {
	names, err := vl.Names()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == recordName })
	has := slices.Contains(names, attr.Name)
	capacity := maxPlain
	if r.empty() {
		capacity = cblosc.MaxVLMetalayers
	}
	switch asIs := keepsRaw(attr); {
	case asIs && has:
		err = vl.Update(attr.Name, attr.Raw)
	case asIs && len(names) < capacity:
		err = vl.Add(attr.Name, attr.Raw)
	case onlyRaw(attr):
		err = fmt.Errorf("%w: attribute %q: a frame has %d metalayers at most", errors.ErrUnsupported, attr.Name, cblosc.MaxVLMetalayers)
	default:
		return r.putValue(vl, attr, names)
	}
	if err != nil {
		return err
	}
	r.remove(attr.Name)
	return nil
}

// putValue is put for an attribute that is stored by its value. names are the
// metalayers except the record.
func (r *record) putValue(vl *cblosc.Metalayers, attr ndarray.Attr, names []string) (err error) {
	has := !hiddenLayer(attr.Name) && slices.Contains(names, attr.Name)
	a := recordAttr{name: attr.Name, value: attr.Value.Clone()}
	plain, exact := toPlain(attr.Value)
	a.alone = exact && !hiddenLayer(attr.Name) && len(attr.Name) <= cblosc.MaxMetalayerName &&
		(has || len(names) < maxPlain)
	switch {
	case a.alone && has:
		err = vl.Update(attr.Name, msgpack.Append(nil, plain))
	case a.alone:
		err = vl.Add(attr.Name, msgpack.Append(nil, plain))
	case has:
		err = vl.Delete(attr.Name)
	}
	if err != nil {
		return err
	}
	r.set(a)
	return nil
}

// write stores the record, or removes it if it is empty.
func (r *record) write(vl *cblosc.Metalayers) error {
	names, err := vl.Names()
	if err != nil {
		return err
	}
	has := slices.Contains(names, recordName)
	switch {
	case r.empty() && has:
		err = vl.Delete(recordName)
	case r.empty():
	case has:
		err = vl.Update(recordName, r.encode())
	default:
		err = vl.Add(recordName, r.encode())
	}
	switch {
	case errors.Is(err, cblosc.ErrLimit): // metalayers of other programs take up all slots
		return errs.Mark(err, errors.ErrUnsupported)
	case err != nil:
		return err
	}
	return nil
}

// readRecord reads the record. It returns an empty one if the array has no record.
func readRecord(vl layers) (*record, error) {
	names, err := vl.Names()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, recordName) {
		return &record{}, nil
	}
	if err := checkLayer(vl, recordName); err != nil {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	content, err := vl.Get(recordName)
	if err != nil {
		return nil, err
	}
	r, err := parseRecord(content)
	if errors.Is(err, errRecord) {
		return nil, errs.Mark(err, ndarray.ErrCorrupt)
	}
	return r, err
}

// remove deletes the files of a failed Create.
func remove(path string) error { return os.RemoveAll(path) }
