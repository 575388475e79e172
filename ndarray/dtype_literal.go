// Parser of Python literals: the lists, tuples, dicts, strings and integers in which NumPy writes
// structured types. The input may come from an untrusted file, so depth and length are bounded, and
// no number in it determines an allocation.

package ndarray

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The Python values: string, int64 (uint64 for larger integers), bool, nil for None, pyList,
// pyTuple, pyDict.
type (
	pyList  []any
	pyTuple []any
	pyDict  []pyItem
	pyItem  struct{ key, value any }
)

// parseLiteral parses s, which must be exactly one literal.
func parseLiteral(s string) (any, error) {
	p := &literalParser{text: s}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at != len(s) {
		return nil, p.fail("more text after the value")
	}
	return v, nil
}

type literalParser struct {
	text string
	at   int
}

func (p *literalParser) fail(why string) error { return fmt.Errorf("at byte %d: %s", p.at, why) }

func (p *literalParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next skips white space and returns the next byte, or 0 at the end.
func (p *literalParser) next() byte {
	if p.space(); p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *literalParser) value(depth int) (any, error) {
	if depth > 2*maxDepth {
		return nil, p.fail("nested too deep")
	}
	switch c := p.next(); {
	case c == '[':
		items, _, err := p.items(']', depth)
		return pyList(items), err
	case c == '(':
		items, comma, err := p.items(')', depth)
		if err == nil && len(items) == 1 && !comma {
			return items[0], nil // parentheses around a value
		}
		return pyTuple(items), err
	case c == '{':
		return p.dict(depth)
	case c == '\'' || c == '"':
		return p.quoted()
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for word, v := range map[string]any{"True": true, "False": false, "None": nil} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return v, nil
		}
	}
	return nil, p.fail("not a Python literal")
}

// items reads values up to the closing bracket. comma reports whether a comma follows the last
// value.
func (p *literalParser) items(end byte, depth int) (items []any, comma bool, err error) {
	items = []any{}
	for p.at++; ; {
		if p.next() == end {
			p.at++
			return items, comma, nil
		}
		if len(items) > 0 && !comma {
			return nil, false, p.fail("a comma is missing")
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, false, err
		}
		items = append(items, v)
		if comma = p.next() == ','; comma {
			p.at++
		}
	}
}

func (p *literalParser) dict(depth int) (pyDict, error) {
	d, comma := pyDict{}, true
	for p.at++; ; {
		if p.next() == '}' {
			p.at++
			return d, nil
		}
		if !comma {
			return nil, p.fail("a comma is missing")
		}
		key, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, p.fail("a colon is missing")
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		d = append(d, pyItem{key, v})
		if comma = p.next() == ','; comma {
			p.at++
		}
	}
}

// number returns an int64, or a uint64 if the number does not fit.
func (p *literalParser) number() (any, error) {
	from := p.at
	for p.at++; p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9'; p.at++ {
	}
	text := p.text[from:p.at]
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n, nil
	}
	return nil, p.fail("bad number " + strconv.Quote(text))
}

// escapes are Python's escapes of one letter.
var escapes = map[byte]rune{'\\': '\\', '\'': '\'', '"': '"', 'a': 7, 'b': 8, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}

// hexDigits maps an escape letter to the number of digits after it.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// surrogateByte plus a byte is the character for a byte that is not UTF-8, as in Python's error
// handler surrogateescape, with which h5py reads names.
const surrogateByte = 0xDC00

func (p *literalParser) quoted() (string, error) {
	quote := p.text[p.at]
	var s strings.Builder
	for p.at++; p.at < len(p.text); {
		c := p.text[p.at]
		p.at++
		switch {
		case c == quote:
			return s.String(), nil
		case c == '\n':
			return "", p.fail("unterminated string")
		case c != '\\':
			s.WriteByte(c)
			continue
		case p.at == len(p.text):
			return "", p.fail("unterminated string")
		}
		c = p.text[p.at]
		p.at++
		if r, ok := escapes[c]; ok {
			s.WriteRune(r)
			continue
		}
		n, ok := hexDigits[c]
		if !ok || len(p.text)-p.at < n {
			return "", p.fail(`unknown escape \` + strconv.Quote(string(rune(c))))
		}
		r, err := strconv.ParseUint(p.text[p.at:p.at+n], 16, 32)
		if err != nil || r > unicode.MaxRune {
			return "", p.fail(`bad escape \` + strconv.Quote(p.text[p.at:p.at+n]))
		}
		p.at += n
		switch {
		case r >= surrogateByte+0x80 && r <= surrogateByte+0xFF:
			s.WriteByte(byte(r - surrogateByte))
		case r >= 0xD800 && r <= 0xDFFF:
			return "", p.fail(fmt.Sprintf(`got the lone surrogate \u%04x, want a character or \udc80 to \udcff`, r))
		default:
			s.WriteRune(rune(r))
		}
	}
	return "", p.fail("unterminated string")
}

// pyQuote formats s as Python's repr does. It uses double quotes if s contains only single quotes,
// and escapes characters that are not printable and bytes that are not UTF-8.
func pyQuote(s string) string {
	quote := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		quote = '"'
	}
	b := []byte{quote}
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == rune(quote) || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == utf8.RuneError && n == 1: // a byte that is not UTF-8
			b = fmt.Appendf(b, `\u%04x`, surrogateByte+int(s[0]))
		case r == ' ' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		case r < 0x100:
			b = fmt.Appendf(b, `\x%02x`, r)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = fmt.Appendf(b, `\U%08x`, r)
		}
		s = s[n:]
	}
	return string(append(b, quote))
}
