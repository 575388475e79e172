// Field: a tree of byte ranges of an input, each with name, value, meaning and complaint.

package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field is one annotated range of bytes. A tree of Fields describes a whole input.
type Field struct {
	Name      string  // the name in the format's specification, where it has one
	Offset    int64   // bytes from the start of the input
	Length    int64   // in bytes
	Value     string  // the value as text or number; "" for a group
	Meaning   string  // explanation of the value; "" if the name is sufficient
	Complaint string  // the error; "" if the field is valid
	Fields    []Field // parts, in order of offset
}

// Walk yields the field itself and every field below it, depth first, with its path: the names from
// the root down, joined by "/". The order is that of the tree.
func (f Field) Walk() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) { f.walk("", yield) }
}

func (f Field) walk(parent string, yield func(string, Field) bool) bool {
	path := f.Name
	if parent != "" {
		path = parent + "/" + f.Name
	}
	if !yield(path, f) {
		return false
	}
	for _, c := range f.Fields {
		if !c.walk(path, yield) {
			return false
		}
	}
	return true
}

// Complaints yields the fields with a complaint, with their paths.
func (f Field) Complaints() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) {
		for path, c := range f.Walk() {
			if c.Complaint != "" && !yield(path, c) {
				return
			}
		}
	}
}

// Find returns the first field with this path. Paths are as in Walk.
func (f Field) Find(path string) (Field, bool) {
	for p, c := range f.Walk() {
		if p == path {
			return c, true
		}
	}
	return Field{}, false
}

// Moved returns the tree with delta added to every offset. For example, the description of a chunk
// becomes part of the description of a frame.
func (f Field) Moved(delta int64) Field {
	f.Offset += delta
	fields := f.Fields
	f.Fields = nil
	for _, c := range fields {
		f.Fields = append(f.Fields, c.Moved(delta))
	}
	return f
}

// Complain attaches err to the innermost field that contains the byte of the error. It attaches err
// to f itself if err is not an *Error, or if its offset is outside all parts. A nil err has no
// effect.
func (f *Field) Complain(err error) {
	if err == nil {
		return
	}
	text := Complaint(err)
	target := f
	var e *Error
	if errors.As(err, &e) {
		for next := f; next != nil; {
			target, next = next, next.part(e.Offset)
		}
		if target.Name != e.What {
			text = e.What + ": " + text
		}
	}
	if target.Complaint != "" {
		text = target.Complaint + "; " + text
	}
	target.Complaint = text
}

// part returns the part of f that contains the byte at offset, or nil.
func (f *Field) part(offset int64) *Field {
	for i := range f.Fields {
		if c := &f.Fields[i]; c.Length > 0 && offset >= c.Offset && offset-c.Offset < c.Length {
			return c
		}
	}
	return nil
}

// WriteText writes the tree to w, one field per line: offset and length in bytes, the name indented
// by depth, the value, the meaning, and the complaint after an exclamation mark. Control characters
// in values are escaped, because a hostile file must not control the reader's terminal.
func (f Field) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	f.writeText(b, 0)
	return b.Flush()
}

func (f Field) writeText(w *bufio.Writer, depth int) {
	name := strings.Repeat("  ", depth) + printable(f.Name)
	line := fmt.Sprintf("%10d %10d  %-32s %s", f.Offset, f.Length, name, printable(f.Value))
	if f.Meaning != "" {
		line += "  (" + printable(f.Meaning) + ")"
	}
	if f.Complaint != "" {
		line += "  ! " + printable(f.Complaint)
	}
	// A bufio.Writer keeps its first error; Flush reports it.
	_, _ = w.WriteString(strings.TrimRight(line, " ") + "\n")
	for _, c := range f.Fields {
		c.writeText(w, depth+1)
	}
}

// printable escapes control characters and bytes that are not UTF-8.
func printable(s string) string {
	var b strings.Builder
	for i, r := range s {
		n := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, c := range []byte(s[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
	}
	return b.String()
}
