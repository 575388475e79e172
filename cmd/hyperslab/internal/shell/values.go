// Elements and attribute values as JSON and as text.

package shell

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// ElementJSON returns the JSON value of one element, in native byte order.
func ElementJSON(d ndarray.DType, b []byte) json.RawMessage {
	return jsonform.Document.Append(nil, d, b)
}

// valueJSON returns a value as nested arrays, a scalar as itself, null as null.
func valueJSON(v ndarray.Value) json.RawMessage { return jsonform.Document.AppendValue(nil, v) }

// NoteChanged reports the numbers of elements of a source that --dtype changed, unless both are 0.
func (a *App) NoteChanged(command, source string, rounded, clipped JSONInt) {
	if rounded+clipped > 0 {
		a.Note("%s %s: elements that --dtype changed: %d rounded, %d clipped", a.Talk.Notice("hyperslab "+command+":"),
			term.Safe(remote.Redact(source)), rounded, clipped)
	}
}

// Shorten truncates a text to most characters.
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// IndexText formats the index of an element: "[3, 0, 17]", or "[]" for a scalar.
func IndexText(index []int64) string {
	parts := make([]string, len(index))
	for i, n := range index {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
