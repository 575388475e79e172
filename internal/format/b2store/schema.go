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
			Name     string `json:"name"`
			Kind     string `json:"kind"`
			Unit     string `json:"unit"`
			NullCode *int64 `json:"null_code"`
		} `json:"columns"`
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
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
		columns[i] = Column{Name: c.Name, Path: path, Kind: c.Kind, Unit: c.Unit, NullCode: -1}
		if c.NullCode != nil {
			columns[i].NullCode = *c.NullCode
		}
	}
	return columns, nil
}

// escapes are the characters that python-blosc2 escapes in the path of a column.
var escapes = strings.NewReplacer("%", "%25", "/", "%2F", ".", "%2E", `\`, "%5C")

// ColumnName returns the name of a column in the schema, without nested parts.
func ColumnName(name string) string {
	return strings.NewReplacer(`\`, `\\`, ".", `\.`, "/", `\/`).Replace(name)
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
