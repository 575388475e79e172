// Schema of a CTable.

package b2store

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
)

// Parts of a CTable: keys below that of the table.
const (
	TableRows    = "_valid_rows" // a bool array: false for deleted rows and for unused space
	TableColumns = "_cols"       // the group of the columns
	TableAttrs   = "_vlmeta"     // the attributes of the table

	TextData = ".utf8"    // after the key of a column of kind "utf8": the bytes of its strings
	NotNull  = ".notnull" // after the key of a column: a bool array, false for null values
	Values   = "_dict"    // after the key of a column of kind "dictionary": its distinct values
)

// Column is a column of a CTable.
type Column struct {
	Name     string // as in the schema: dots separate the parts of a nested name
	Path     string // of its array below TableColumns
	Kind     string // "int64", "string", "utf8", …
	Unit     string // of the kind "timestamp", for example "us"
	NullCode int64  // of the kind "dictionary": the code of a null value
	Nullable bool
	Mask     bool            // nulls are in the array at the key with NotNull, if it exists
	Null     json.RawMessage // the value that marks a null; nil without one. NaN and the infinities are strings
}

// ParseSchema parses the JSON text of a schema. It returns format.ErrCorrupt or, for versions after
// 3, format.ErrVersion.
func ParseSchema(text string, l Limits) ([]Column, error) {
	bad := func(what, got, want string, err error) error {
		return &format.Error{Format: "ctable schema", What: what, Got: got, Want: want, Err: err}
	}
	var s struct {
		Version int64 `json:"version"`
		Columns []struct {
			Name        string          `json:"name"`
			Kind        string          `json:"kind"`
			Unit        string          `json:"unit"`
			NullCode    *int64          `json:"null_code"`
			Nullable    bool            `json:"nullable"`
			NullValue   json.RawMessage `json:"null_value"`
			NullStorage string          `json:"null_storage"`
		} `json:"columns"`
	}
	if err := json.Unmarshal(quoteFloats([]byte(text)), &s); err != nil {
		return nil, bad("JSON", err.Error(), "a schema", format.ErrCorrupt)
	}
	if s.Version < 1 || s.Version > 3 {
		return nil, bad("version", fmt.Sprint(s.Version), "1 to 3", format.ErrVersion)
	}
	if l = l.filled(); len(s.Columns) > l.Objects {
		return nil, bad("columns", fmt.Sprint(len(s.Columns)), fmt.Sprintf("at most %d", l.Objects), format.ErrLimit)
	}
	seen := make(map[string]bool)
	columns := make([]Column, len(s.Columns))
	for i, c := range s.Columns {
		path := ColumnPath(c.Name)
		if checkPath(path) != nil || seen[path] || c.Kind == "" {
			return nil, bad(fmt.Sprintf("column %.60q", c.Name), fmt.Sprintf("kind %q", c.Kind), "a distinct name and a kind", format.ErrCorrupt)
		}
		seen[path] = true
		columns[i] = Column{Name: c.Name, Path: path, Kind: c.Kind, Unit: c.Unit, NullCode: -1, Nullable: c.Nullable, Mask: c.NullStorage == "mask"}
		if string(c.NullValue) != "null" {
			columns[i].Null = c.NullValue
		}
		if c.NullCode != nil {
			columns[i].NullCode = *c.NullCode
		}
	}
	return columns, nil
}

// quoteFloats puts the floats that Python writes into JSON, and that JSON does not have, in quotes.
func quoteFloats(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; {
		case c == '"':
			for n < len(text)-i && text[i+n] != '"' {
				if text[i+n] == '\\' {
					n++
				}
				n++
			}
			n = min(n+1, len(text)-i)
			out = append(out, text[i:i+n]...)
		default:
			if n = special(text[i:]); n > 0 {
				out = append(append(append(out, '"'), text[i:i+n]...), '"')
			} else {
				n = 1
				out = append(out, c)
			}
		}
		i += n
	}
	return out
}

// special returns the length of NaN or an infinity at the start of text, or 0.
func special(text []byte) int {
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		if strings.HasPrefix(string(text[:min(len(text), len(name))]), name) {
			return len(name)
		}
	}
	return 0
}

// escapes are the characters that python-blosc2 escapes in the path of a column.
var escapes = strings.NewReplacer("%", "%25", "/", "%2F", ".", "%2E", `\`, "%5C")

var unescapes = strings.NewReplacer("%2F", "/", "%2E", ".", "%5C", `\`, "%25", "%")

// ColumnName returns the name of a column in the schema, without nested parts.
func ColumnName(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "/", `\/`).Replace(name)
}

// ColumnOf returns a name that ColumnPath maps to a path. A slash in a name has no backslash, which
// the schema may have or not.
func ColumnOf(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer(`\`, `\\`, ".", `\.`).Replace(unescapes.Replace(part))
	}
	return strings.Join(parts, ".")
}

// ColumnPath returns the path of a column below TableColumns. Dots separate the parts of its name,
// except after a backslash.
func ColumnPath(name string) string {
	var parts []string
	var part strings.Builder
	escaped := false
	for _, r := range name {
		switch {
		case !escaped && r == '\\':
			escaped = true
		case !escaped && r == '.':
			parts = append(parts, escapes.Replace(part.String()))
			part.Reset()
		default:
			part.WriteRune(r)
			escaped = false
		}
	}
	if escaped {
		part.WriteByte('\\')
	}
	return strings.Join(append(parts, escapes.Replace(part.String())), "/")
}
