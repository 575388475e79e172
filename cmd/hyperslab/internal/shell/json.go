// JSON documents of --json: numbers that every reader parses correctly, and a readable layout.

package shell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Schemas. The number increases when a key is removed or changes its meaning. A new key does not
// change it.
const (
	SchemaInfo        = "hyperslab.info/2"
	SchemaGroup       = "hyperslab.group/1"
	SchemaMeta        = "hyperslab.meta/1"
	SchemaStorage     = "hyperslab.storage/1"
	SchemaLs          = "hyperslab.ls/2"
	SchemaTree        = "hyperslab.tree/1"
	SchemaChunks      = "hyperslab.chunks/1"
	SchemaDump        = "hyperslab.dump/1"
	SchemaStats       = "hyperslab.stats/1"
	SchemaExplain     = "hyperslab.explain/2"
	SchemaConvert     = "hyperslab.convert/1"
	SchemaConvertTree = "hyperslab.convert.tree/1"
	SchemaConvertMany = "hyperslab.convert.many/1"
	SchemaMany        = "hyperslab.many/1"
	SchemaDiffTree    = "hyperslab.difftree/1"
	SchemaDiff        = "hyperslab.diff/1"
	SchemaRepack      = "hyperslab.repack/1"
	SchemaPlan        = "hyperslab.plan/3"
	SchemaAttr        = "hyperslab.attr/1"
	SchemaRecover     = "hyperslab.recover/2"
	SchemaRepair      = "hyperslab.repair/1"
	SchemaDone        = "hyperslab.done/1"
	SchemaVerify      = "hyperslab.verify/3"
	SchemaCloud       = "hyperslab.cloud/1"
	SchemaScan        = "hyperslab.scan/1"
	SchemaBench       = "hyperslab.bench/1"
	SchemaVersion     = "hyperslab.version/2"
	SchemaEmit        = "hyperslab.crosscheck.emit/2"
)

// maxExact is the largest integer up to which every integer is a float64, so that every JSON reader
// parses it correctly.
const maxExact = 1 << 53

// JSONInt is written as a number up to ±2^53 and as a string beyond.
type JSONInt int64

// MarshalJSON implements json.Marshaler.
func (n JSONInt) MarshalJSON() ([]byte, error) {
	s := strconv.FormatInt(int64(n), 10)
	if n > maxExact || n < -maxExact {
		s = strconv.Quote(s)
	}
	return []byte(s), nil
}

// JSONFloat is written with the shortest digits that read back as the same float64. NaN and the
// infinities are written as strings.
type JSONFloat float64

// MarshalJSON implements json.Marshaler.
func (f JSONFloat) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte(`"NaN"`), nil
	case math.IsInf(v, 1):
		return []byte(`"Infinity"`), nil
	case math.IsInf(v, -1):
		return []byte(`"-Infinity"`), nil
	default:
		return jsonform.Document.AppendValue(nil, ndarray.Scalar(v)), nil
	}
}

// JSONShape converts a shape. A nil shape is written as null.
func JSONShape(shape []int64) []JSONInt {
	if shape == nil {
		return nil
	}
	out := make([]JSONInt, len(shape))
	for i, n := range shape {
		out[i] = JSONInt(n)
	}
	return out
}

// ShapeDoc returns the shape of an array: [] for a scalar, null only for a null array.
func ShapeDoc(m ndarray.Meta) []JSONInt {
	if m.Null {
		return nil
	}
	return append([]JSONInt{}, JSONShape(m.Shape)...)
}

// Seconds converts a duration to seconds, rounded to microseconds.
func Seconds(d time.Duration) JSONFloat {
	return JSONFloat(math.Round(d.Seconds()*1e6) / 1e6)
}

// WriteJSON writes the document of a command. With --untrusted its second key is isolation.
func (a *App) WriteJSON(w io.Writer, doc any) error { return writeJSON(w, doc, a.Isolation, a.Lines) }

// WriteDocument is WriteJSON for a document that has its own key for the isolation, or none.
func (a *App) WriteDocument(w io.Writer, doc any) error { return writeJSON(w, doc, "", a.Lines) }

// writeJSON writes one document, on one line if line is set. Otherwise objects, and arrays with
// nested objects or arrays, have one line per member. An array of plain values is on one line.
func writeJSON(w io.Writer, doc any, isolation string, line bool) error {
	var compact bytes.Buffer
	enc := json.NewEncoder(&compact)
	enc.SetEscapeHTML(false) // file names and units keep their <, > and &
	if err := enc.Encode(jsonform.Named(doc)); err != nil {
		return err
	}
	src := bytes.TrimSpace(compact.Bytes())
	if schema := bytes.IndexByte(src, ','); isolation != "" && schema > 0 {
		src = slices.Insert(src, schema, fmt.Appendf(nil, `,"isolation":%q`, isolation)...)
	}
	var out bytes.Buffer
	if line {
		out.Write(jsonform.Escape(src))
	} else {
		layout(&out, jsonform.Escape(src), "")
	}
	out.WriteByte('\n')
	_, err := w.Write(out.Bytes())
	return err
}

// layout copies the compact value src to out with line breaks.
func layout(out *bytes.Buffer, src []byte, indent string) {
	members := split(src)
	nested := false
	for _, m := range members {
		nested = nested || src[0] == '{' || m[0] == '{' || m[0] == '['
	}
	if !nested {
		out.Write(spaced(src, members))
		return
	}
	inner := indent + "  "
	out.WriteByte(src[0])
	for i, m := range members {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString("\n" + inner)
		if src[0] == '{' {
			key := scalarEnd(m)
			out.Write(m[:key])
			out.WriteString(": ")
			m = m[key+1:]
		}
		layout(out, m, inner)
	}
	out.WriteString("\n" + indent)
	out.WriteByte(src[len(src)-1])
}

// spaced returns a flat array with a space after each comma, or src itself.
func spaced(src []byte, members [][]byte) []byte {
	if len(members) < 2 {
		return src
	}
	return append(append([]byte{'['}, bytes.Join(members, []byte(", "))...), ']')
}

// split returns the members of a compact object or array, nil for a scalar.
func split(src []byte) [][]byte {
	if src[0] != '{' && src[0] != '[' || len(src) == 2 {
		return nil
	}
	var members [][]byte
	depth, start := 0, 1
	for i := 1; i < len(src)-1; i++ {
		switch src[i] {
		case '"':
			i += scalarEnd(src[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				members = append(members, src[start:i])
				start = i + 1
			}
		}
	}
	return append(members, src[start:len(src)-1])
}

// scalarEnd returns the length of the string at the beginning of src.
func scalarEnd(src []byte) int {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}
