// JSON as Python's json module reads and writes it. Members keep their order, numbers keep their
// digits, and NaN and Infinity are numbers.

package bcolztree

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/hyperslab/hyperslab/internal/format"
)

// ValueKind is the type of a Value.
type ValueKind uint8

// The kinds. The zero Value is null.
const (
	Null ValueKind = iota
	Bool
	Number
	String
	List
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

// String returns the name of the kind with its article: "a number".
func (k ValueKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "ValueKind(" + strconv.Itoa(int(k)) + ")"
}

// Value is one JSON value.
type Value struct {
	Kind    ValueKind
	Bool    bool     // of a Bool
	Text    string   // of a String in UTF-8; of a Number as written: "1e-05", "NaN"
	List    []Value  // of a List
	Members []Member // of an Object, in the order of the file

	Offset, Length int64 // location in the parsed input, in bytes
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Int returns n as a Number.
func Int(n int64) Value { return Value{Kind: Number, Text: strconv.FormatInt(n, 10)} }

// Float returns x as a Number with the digits that Python's repr gives it.
func Float(x float64) Value { return Value{Kind: Number, Text: pythonFloat(x)} }

// Text returns s as a String.
func Text(s string) Value { return Value{Kind: String, Text: s} }

// Get returns the member of an Object with that name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// Int64 returns a Number that is written as an integer and fits an int64.
func (v Value) Int64() (int64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil
}

// Float64 returns a Number rounded to a float64. It returns false for numbers out of range.
func (v Value) Float64() (float64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	return x, err == nil
}

// maxDepth is the maximum nesting depth of lists and objects.
const maxDepth = 64

// parseJSON parses the single value in b. file is the name in errors.
func parseJSON(file string, b []byte) (Value, error) {
	p := parser{file: file, b: b}
	p.space()
	v := p.value(0)
	p.space()
	if p.err == nil && p.at < len(b) {
		p.fail("end", quoteByte(b[p.at]), "nothing after the value", format.ErrCorrupt)
	}
	return v, p.err
}

type parser struct {
	file string
	b    []byte
	at   int
	err  error // the first error; parsing stops there
}

func (p *parser) fail(what, got, want string, err error) {
	if p.err == nil {
		p.err = bad(p.file, what, int64(p.at), got, want, err)
	}
}

// peek returns the next byte, or 0 at the end. JSON contains no 0 outside strings.
func (p *parser) peek() byte {
	if p.err != nil || p.at >= len(p.b) {
		return 0
	}
	return p.b[p.at]
}

func (p *parser) space() {
	for c := p.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = p.peek() {
		p.at++
	}
}

// expect reads one byte.
func (p *parser) expect(c byte) {
	switch {
	case p.err != nil:
	case p.at >= len(p.b):
		p.fail("JSON", "the end", strconv.QuoteRune(rune(c)), format.ErrTruncated)
	case p.b[p.at] != c:
		p.fail("JSON", quoteByte(p.b[p.at]), strconv.QuoteRune(rune(c)), format.ErrCorrupt)
	default:
		p.at++
	}
}

func (p *parser) value(depth int) Value {
	start := p.at
	v := Value{Offset: int64(start)}
	if depth > maxDepth {
		p.fail("JSON", "nested deeper", fmt.Sprintf("at most %d levels", maxDepth), errLimit)
		return v
	}
	switch c := p.peek(); {
	case c == '{':
		v.Kind = Object
		v.Members = p.members(depth)
	case c == '[':
		v.Kind = List
		v.List = p.list(depth)
	case c == '"':
		v.Kind, v.Text = String, p.text()
	case p.word("null"):
	case p.word("true"):
		v.Kind, v.Bool = Bool, true
	case p.word("false"):
		v.Kind = Bool
	case p.err == nil && p.at >= len(p.b):
		p.fail("JSON", "the end", "a value", format.ErrTruncated)
	default:
		v.Kind, v.Text = Number, p.number()
	}
	v.Length = int64(p.at - start)
	return v
}

// word reads s if it is next.
func (p *parser) word(s string) bool {
	if p.err != nil || !strings.HasPrefix(string(p.b[p.at:min(p.at+len(s), len(p.b))]), s) {
		return false
	}
	p.at += len(s)
	return true
}

func (p *parser) list(depth int) []Value {
	p.expect('[')
	p.space()
	if p.peek() == ']' {
		p.at++
		return nil
	}
	var out []Value
	for p.err == nil {
		p.space()
		out = append(out, p.value(depth+1))
		p.space()
		if p.peek() != ',' {
			break
		}
		p.at++
	}
	p.expect(']')
	return out
}

func (p *parser) members(depth int) []Member {
	p.expect('{')
	p.space()
	if p.peek() == '}' {
		p.at++
		return nil
	}
	var out []Member
	seen := make(map[string]bool)
	for p.err == nil {
		p.space()
		at := p.at
		m := Member{Name: p.text()}
		if p.err == nil && seen[m.Name] {
			p.at = at
			p.fail("JSON", "the name "+strconv.Quote(m.Name)+" twice", "once", format.ErrCorrupt)
		}
		seen[m.Name] = true
		p.space()
		p.expect(':')
		p.space()
		m.Value = p.value(depth + 1)
		out = append(out, m)
		p.space()
		if p.peek() != ',' {
			break
		}
		p.at++
	}
	p.expect('}')
	return out
}

// number reads a JSON number, or NaN, Infinity or -Infinity as Python writes them.
func (p *parser) number() string {
	start := p.at
	for _, w := range []string{"NaN", "Infinity", "-Infinity"} {
		if p.word(w) {
			return w
		}
	}
	digits := func() bool {
		from := p.at
		for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
			p.at++
		}
		return p.at > from
	}
	if p.peek() == '-' {
		p.at++
	}
	first := p.peek()
	whole := p.at
	ok := digits() && (first != '0' || p.at == whole+1)
	if ok && p.peek() == '.' {
		p.at++
		ok = digits()
	}
	if ok && (p.peek() == 'e' || p.peek() == 'E') {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		ok = digits()
	}
	if !ok {
		got := "the end"
		if p.at < len(p.b) {
			got = quoteByte(p.b[p.at])
		}
		p.fail("JSON", got, "a value", format.ErrCorrupt)
		return ""
	}
	return string(p.b[start:p.at])
}

// text reads a string. It accepts only ASCII, because bcolz decodes its files as ASCII.
func (p *parser) text() string {
	p.expect('"')
	var s strings.Builder
	for p.err == nil {
		if p.at >= len(p.b) {
			p.fail("JSON", "the end", "the end of a string", format.ErrTruncated)
			break
		}
		c := p.b[p.at]
		switch {
		case c == '"':
			p.at++
			return s.String()
		case c == '\\':
			p.escape(&s)
		case c < 0x20 || c >= 0x80:
			p.fail("JSON", quoteByte(c), "ASCII, with control characters escaped", format.ErrCorrupt)
		default:
			s.WriteByte(c)
			p.at++
		}
	}
	return ""
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(s *strings.Builder) {
	p.expect('\\')
	c := p.peek()
	if e, ok := escapes[c]; ok {
		p.at++
		s.WriteByte(e)
		return
	}
	start := p.at - 1
	r := p.unit()
	if utf16.IsSurrogate(r) {
		low := rune(-1)
		if p.peek() == '\\' {
			p.at++
			low = p.unit()
		}
		if r = utf16.DecodeRune(r, low); r == '\uFFFD' && p.err == nil {
			p.at = start
			p.fail("JSON", "half of a surrogate pair", "a whole character", format.ErrUnsupported)
		}
	}
	s.WriteRune(r)
}

// unit reads "uXXXX".
func (p *parser) unit() rune {
	p.expect('u')
	if p.err != nil {
		return 0
	}
	if len(p.b)-p.at < 4 {
		p.fail("JSON", "the end", "four hexadecimal digits", format.ErrTruncated)
		return 0
	}
	n, err := strconv.ParseUint(string(p.b[p.at:p.at+4]), 16, 16)
	if err != nil {
		p.fail("JSON", strconv.Quote(string(p.b[p.at:p.at+4])), "four hexadecimal digits", format.ErrCorrupt)
		return 0
	}
	p.at += 4
	return rune(n)
}

func quoteByte(c byte) string {
	if c < 0x80 {
		return strconv.QuoteRune(rune(c))
	}
	return fmt.Sprintf("byte %#02x", c)
}

// Append appends v as json.dumps(v, ensure_ascii=True) writes it. Bytes that are not UTF-8 become
// U+FFFD, because JSON cannot represent them.
func (v Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Bool:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, v.Text...)
	case String:
		return appendText(dst, v.Text)
	case List:
		dst = append(dst, '[')
		for i, x := range v.List {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = x.Append(dst)
		}
		return append(dst, ']')
	case Object:
		return appendMembers(dst, v.Members)
	}
	return append(dst, "null"...)
}

func appendMembers(dst []byte, members []Member) []byte {
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(appendText(dst, m.Name), ": "...)
		dst = m.Value.Append(dst)
	}
	return append(dst, '}')
}

func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			dst = append(dst, '\\', byte(r))
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		default:
			switch {
			case r >= 0x20 && r < 0x80:
				dst = append(dst, byte(r))
			case r < 0x10000:
				dst = fmt.Appendf(dst, `\u%04x`, r)
			default:
				high, low := utf16.EncodeRune(r)
				dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
			}
		}
	}
	return append(dst, '"')
}

// pythonFloat returns repr(x): the shortest digits that parse as x, with an exponent from 1e16 on
// and below 1e-4.
func pythonFloat(x float64) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Infinity"
	case math.IsInf(x, -1):
		return "-Infinity"
	}
	if abs := math.Abs(x); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
