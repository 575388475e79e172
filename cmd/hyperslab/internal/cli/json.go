// JSON documents of --json: numbers that every reader parses correctly, and a readable layout.

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Schemas. The number increases when a key is removed or changes its meaning. A new key does not
// change it.
const (
	schemaInfo        = "hyperslab.info/2"
	schemaGroup       = "hyperslab.group/1"
	schemaMeta        = "hyperslab.meta/1"
	schemaStorage     = "hyperslab.storage/1"
	schemaLs          = "hyperslab.ls/2"
	schemaTree        = "hyperslab.tree/1"
	schemaChunks      = "hyperslab.chunks/1"
	schemaDump        = "hyperslab.dump/1"
	schemaStats       = "hyperslab.stats/1"
	schemaExplain     = "hyperslab.explain/2"
	schemaConvert     = "hyperslab.convert/1"
	schemaConvertTree = "hyperslab.convert.tree/1"
	schemaConvertMany = "hyperslab.convert.many/1"
	schemaDiffTree    = "hyperslab.difftree/1"
	schemaDiff        = "hyperslab.diff/1"
	schemaRepack      = "hyperslab.repack/1"
	schemaPlan        = "hyperslab.plan/2"
	schemaAttr        = "hyperslab.attr/1"
	schemaRecover     = "hyperslab.recover/2"
	schemaRepair      = "hyperslab.repair/1"
	schemaDone        = "hyperslab.done/1"
	schemaVerify      = "hyperslab.verify/2"
	schemaCloud       = "hyperslab.cloud/1"
	schemaScan        = "hyperslab.scan/1"
	schemaBench       = "hyperslab.bench/1"
	schemaVersion     = "hyperslab.version/2"
	schemaEmit        = "hyperslab.crosscheck.emit/2"
)

// maxExact is the largest integer up to which every integer is a float64, so that every JSON reader
// parses it correctly.
const maxExact = 1 << 53

// jsonInt is written as a number up to ±2^53 and as a string beyond.
type jsonInt int64

// MarshalJSON implements json.Marshaler.
func (n jsonInt) MarshalJSON() ([]byte, error) {
	s := strconv.FormatInt(int64(n), 10)
	if n > maxExact || n < -maxExact {
		s = strconv.Quote(s)
	}
	return []byte(s), nil
}

// jsonFloat is written with the shortest digits that read back as the same float64. NaN and the
// infinities are written as strings.
type jsonFloat float64

// MarshalJSON implements json.Marshaler.
func (f jsonFloat) MarshalJSON() ([]byte, error) {
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

// jsonShape converts a shape. A nil shape is written as null.
func jsonShape(shape []int64) []jsonInt {
	if shape == nil {
		return nil
	}
	out := make([]jsonInt, len(shape))
	for i, n := range shape {
		out[i] = jsonInt(n)
	}
	return out
}

// shapeDoc returns the shape of an array: [] for a scalar, null only for a null array.
func shapeDoc(m ndarray.Meta) []jsonInt {
	if m.Null {
		return nil
	}
	return append([]jsonInt{}, jsonShape(m.Shape)...)
}

// seconds converts a duration to seconds, rounded to microseconds.
func seconds(d time.Duration) jsonFloat {
	return jsonFloat(math.Round(d.Seconds()*1e6) / 1e6)
}

// writeJSON writes the document of a command. With --untrusted its second key is isolation.
func (a *app) writeJSON(w io.Writer, doc any) error { return writeIsolated(w, doc, a.isolation) }

// writeJSON writes one document. Objects, and arrays with nested objects or arrays, have one line
// per member. An array of plain values is on one line.
func writeJSON(w io.Writer, doc any) error { return writeIsolated(w, doc, "") }

func writeIsolated(w io.Writer, doc any, isolation string) error {
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
	layout(&out, term.EscapeJSON(src), "")
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
