// Reports, repair plans and attributes as JSON, with the keys of docs/json.md.

package hyperslab

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// findingDoc is a Finding. A finding of Verify has error and consequences, one of Recover has
// certainty and text.
type findingDoc struct {
	Certainty    string        `json:"certainty,omitempty"`
	Object       *string       `json:"object"`
	What         string        `json:"structure"`
	File         *string       `json:"file"`
	Offset       *int64        `json:"offset"`
	Chunk        *int64        `json:"chunk"`
	Coords       []int64       `json:"index"`
	Error        *string       `json:"error,omitempty"`
	Text         *string       `json:"text,omitempty"`
	Consequence  bool          `json:"consequence,omitempty"` // of a finding alone
	Consequences *[]findingDoc `json:"consequences,omitempty"`
}

// orNull returns nil for the value that stands for none.
func orNull[T comparable](x, none T) *T {
	if x == none {
		return nil
	}
	return &x
}

// orElse returns the value at a pointer, or none for nil.
func orElse[T any](p *T, none T) T {
	if p == nil {
		return none
	}
	return *p
}

func newFindingDoc(f Finding) findingDoc {
	d := findingDoc{
		Certainty: f.Certainty, Object: orNull(f.Object, ""), What: f.What, File: orNull(f.File, ""), Offset: orNull(f.Offset, -1),
		Chunk: orNull(f.Chunk, -1), Coords: f.Coords, Consequence: f.Consequence,
	}
	text := ""
	if f.Err != nil {
		text = f.Err.Error()
	}
	if d.Error = &text; f.Certainty != "" {
		d.Error, d.Text = nil, &text
	}
	return d
}

func (d findingDoc) finding() Finding {
	f := Finding{
		Certainty: d.Certainty, Object: orElse(d.Object, ""), What: d.What, File: orElse(d.File, ""), Offset: orElse(d.Offset, -1),
		Chunk: orElse(d.Chunk, -1), Coords: d.Coords, Consequence: d.Consequence,
	}
	if text := orElse(d.Error, orElse(d.Text, "")); text != "" {
		f.Err = errors.New(text)
	}
	return f
}

// MarshalJSON implements json.Marshaler. The keys are those of a place of hyperslab.verify/3 or of
// a finding of hyperslab.recover/2; consequence is set for a Consequence. In a VerifyReport these
// are in the list consequences of the finding that they follow from.
func (f Finding) MarshalJSON() ([]byte, error) { return jsonform.Marshal(newFindingDoc(f)) }

// UnmarshalJSON implements json.Unmarshaler. Err has the text of the error and no sentinel.
func (f *Finding) UnmarshalJSON(b []byte) error {
	var d findingDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*f = d.finding()
	return nil
}

// verifyDoc is a VerifyReport: a verified file of hyperslab.verify/3 without verdict and error.
type verifyDoc struct {
	Path           string       `json:"path"`
	Format         Format       `json:"format"`
	Arrays         int64        `json:"arrays"`
	Chunks         int64        `json:"chunks"`
	DecodedBytes   int64        `json:"decoded_bytes"`
	StoredBytes    int64        `json:"stored_bytes"`
	Checksums      int64        `json:"checksums"`
	ValuesVerified bool         `json:"values_verified"`
	Digests        int64        `json:"digests"`
	NumFindings    int64        `json:"num_findings"`
	Findings       []findingDoc `json:"findings"`
	NumUnchecked   int64        `json:"num_unchecked"`
	Unchecked      []findingDoc `json:"unchecked"`
	Sandbox        *string      `json:"sandbox"`
}

// MarshalJSON implements json.Marshaler. The document is a verified file of hyperslab.verify/3,
// without the keys verdict and error.
func (r VerifyReport) MarshalJSON() ([]byte, error) {
	d := verifyDoc{
		r.Path, r.Format, r.Arrays, r.Chunks, r.DecodedBytes, r.StoredBytes, r.Checksums, r.ValuesVerified, r.Digests,
		r.NumFindings, nested(r.Findings), r.NumUnchecked, nested(r.Unchecked), nil,
	}
	if r.Isolated {
		d.Sandbox = &r.Level
	}
	return jsonform.Marshal(d)
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *VerifyReport) UnmarshalJSON(b []byte) error {
	var d verifyDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*r = VerifyReport{
		Path: d.Path, Format: d.Format, Arrays: d.Arrays, Chunks: d.Chunks, DecodedBytes: d.DecodedBytes, StoredBytes: d.StoredBytes,
		Checksums: d.Checksums, Digests: d.Digests, Findings: flat(d.Findings), NumFindings: d.NumFindings, Unchecked: flat(d.Unchecked),
		NumUnchecked: d.NumUnchecked, ValuesVerified: d.ValuesVerified, Isolated: d.Sandbox != nil, Level: orElse(d.Sandbox, ""),
	}
	return nil
}

// nested returns findings, each with its consequences.
func nested(list []Finding) []findingDoc {
	out := []findingDoc{}
	for _, f := range list {
		d := newFindingDoc(f)
		d.Consequence, d.Consequences = false, &[]findingDoc{}
		if f.Consequence && len(out) > 0 {
			of := out[len(out)-1].Consequences
			*of = append(*of, d)
			continue
		}
		out = append(out, d)
	}
	return out
}

// flat is the inverse of nested.
func flat(list []findingDoc) []Finding {
	out := []Finding{}
	for _, d := range list {
		out = append(out, d.finding())
		for _, consequence := range orElse(d.Consequences, nil) {
			f := consequence.finding()
			f.Consequence = true
			out = append(out, f)
		}
	}
	return out
}

// problemDoc is a Problem, in the form of an object that is not compared of hyperslab.difftree/1.
type problemDoc struct {
	Path   string `json:"name"`
	What   string `json:"type"`
	Reason string `json:"reason"`
}

// MarshalJSON implements json.Marshaler, with the keys name (the path), type (What) and reason.
func (p Problem) MarshalJSON() ([]byte, error) {
	d := problemDoc{p.Path, p.What, ""}
	if p.Err != nil {
		d.Reason = p.Err.Error()
	}
	return jsonform.Marshal(d)
}

// UnmarshalJSON implements json.Unmarshaler. Err has the text of the error and no sentinel.
func (p *Problem) UnmarshalJSON(b []byte) error {
	var d problemDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	*p = Problem{d.Path, d.What, errors.New(d.Reason)}
	return nil
}

// MarshalJSON implements json.Marshaler. The keys are path, a and b (the kinds of the objects, or
// null), array (a document of ndarray.Comparison, or null), attributes, excluded_attributes and
// seconds.
func (d Difference) MarshalJSON() ([]byte, error) {
	kind := func(e *Entry) *EntryKind {
		if e == nil {
			return nil
		}
		return &e.Kind
	}
	return jsonform.Marshal(struct {
		Path     string                   `json:"path"`
		A        *EntryKind               `json:"a"`
		B        *EntryKind               `json:"b"`
		Array    *ndarray.Comparison      `json:"array"`
		Attrs    []ndarray.AttrDifference `json:"attributes"`
		Excluded []string                 `json:"excluded_attributes"`
		Seconds  float64                  `json:"seconds"`
	}{
		d.Path, kind(d.A), kind(d.B), d.Array, append([]ndarray.AttrDifference{}, d.Attrs...),
		append([]string{}, d.ExcludedAttrs...), d.Time.Seconds(),
	})
}

// changeDoc is a RepairChange.
type changeDoc struct {
	Offset    int64   `json:"offset"`
	Length    int     `json:"length"`
	Old       string  `json:"old"`
	New       string  `json:"new"`
	Structure string  `json:"structure"`
	Object    *string `json:"object"`
	Certain   bool    `json:"certain"`
	Reason    string  `json:"reason"`
}

// MarshalJSON implements json.Marshaler, in the form of a change of hyperslab.repair/1.
func (c RepairChange) MarshalJSON() ([]byte, error) {
	return jsonform.Marshal(changeDoc{
		c.Offset, len(c.New), hex.EncodeToString(c.Old), hex.EncodeToString(c.New), c.Structure, orNull(c.Object, ""), c.Certain, c.Reason,
	})
}

// UnmarshalJSON implements json.Unmarshaler. It returns ndarray.ErrParam if the lengths of the
// bytes differ.
func (c *RepairChange) UnmarshalJSON(b []byte) error {
	var d changeDoc
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	before, err1 := hex.DecodeString(d.Old)
	after, err2 := hex.DecodeString(d.New)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if len(before) != d.Length || len(after) != d.Length {
		return fmt.Errorf("%w: change at offset %d: got %d old and %d new bytes, want %d", ndarray.ErrParam, d.Offset, len(before),
			len(after), d.Length)
	}
	*c = RepairChange{
		Offset: d.Offset, Old: before, New: after, Structure: d.Structure, Object: orElse(d.Object, ""), Reason: d.Reason, Certain: d.Certain,
	}
	return nil
}

// MarshalAttrs returns attributes as JSON, with the keys attributes and unsupported_attributes of
// hyperslab.attr/1. The values have the form of elements in Encode: nested lists, a scalar as
// itself, null for a null value. For an unsupported attribute the document has name, type and
// reason.
func MarshalAttrs(attrs ndarray.Attrs) ([]byte, error) {
	type attr struct {
		Name  string          `json:"name"`
		DType string          `json:"dtype"`
		Shape []int64         `json:"shape"`
		Value json.RawMessage `json:"value"`
	}
	doc := struct {
		Attributes  []attr       `json:"attributes"`
		Unsupported []problemDoc `json:"unsupported_attributes"`
	}{[]attr{}, []problemDoc{}}
	for _, a := range attrs.List {
		v := a.Value
		if err := v.Validate(); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		d := attr{Name: a.Name, DType: v.DType.String(), Value: jsonform.Escape(jsonform.Document.AppendValue(nil, v))}
		if !v.Null {
			d.Shape = append([]int64{}, v.Shape...)
		}
		doc.Attributes = append(doc.Attributes, d)
	}
	for _, u := range attrs.Unsupported {
		doc.Unsupported = append(doc.Unsupported, problemDoc{u.Name, u.Type, u.Reason})
	}
	return jsonform.Marshal(doc)
}
