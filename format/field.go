// The annotated tree: every byte range of an input with its name, value,
// meaning and what is wrong with it.

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

// Field is one annotated range of bytes. A tree of them describes a whole input.
type Field struct {
	Name      string  // the name the format's own document uses, where it has one
	Offset    int64   // bytes from the start of the input
	Length    int64   // bytes
	Value     string  // the value in words or digits; "" for a mere group
	Meaning   string  // what the value says; "" if the name says it
	Complaint string  // what is wrong; "" if nothing is
	Fields    []Field // parts, in order of offset
}

// Walk yields every field depth first, itself included, with its path: the names
// from the root down, joined by "/". The order is that of the tree.
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

// Complaints yields the fields, with their paths, that something is wrong with.
func (f Field) Complaints() iter.Seq2[string, Field] {
	return func(yield func(string, Field) bool) {
		for path, c := range f.Walk() {
			if c.Complaint != "" && !yield(path, c) {
				return
			}
		}
	}
}

// Find returns the first field with this path, as Walk spells paths.
func (f Field) Find(path string) (Field, bool) {
	for p, c := range f.Walk() {
		if p == path {
			return c, true
		}
	}
	return Field{}, false
}

// Moved returns the tree with delta added to every offset: a part described by
// itself becomes part of a larger input.
func (f Field) Moved(delta int64) Field {
	f.Offset += delta
	fields := f.Fields
	f.Fields = nil
	for _, c := range fields {
		f.Fields = append(f.Fields, c.Moved(delta))
	}
	return f
}

// Complain attaches err to the innermost field that holds the byte err is about,
// or to f itself if err is no *Error or its offset is in none of the parts. A nil
// err is no complaint.
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

// part returns the part of f that holds the byte at offset, nil if none does.
func (f *Field) part(offset int64) *Field {
	for i := range f.Fields {
		if c := &f.Fields[i]; c.Length > 0 && offset >= c.Offset && offset-c.Offset < c.Length {
			return c
		}
	}
	return nil
}

// WriteText writes the tree to w, one field a line: offset and length in bytes,
// the name indented by depth, the value, the meaning, and the complaint after an
// exclamation mark. Control characters in values come out escaped, so that a
// hostile file cannot drive the reader's terminal.
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

// printable escapes what a terminal would act on, and bytes that are not UTF-8,
// and leaves the rest as it is.
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
