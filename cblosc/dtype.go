//go:build cgo

// Element sizes of dtype strings.

package cblosc

import (
	"regexp"
	"strconv"
	"strings"
)

// simpleType matches a simple NumPy dtype: byte order, kind, size, and the unit of a time.
var simpleType = regexp.MustCompile(`^[<>|=]?([a-zA-Z?])(\d*)(?:\[[^\]]*\])?$`)

// dtypeSize returns the size in bytes of an element of this dtype, if the string defines it. It
// accepts a simple dtype ("<f8", "<U5", "|b1") or NumPy's list of fields in Python syntax. For
// other strings (names, dictionaries) known is false.
func dtypeSize(dtype string) (n int, known bool) {
	if m := simpleType.FindStringSubmatch(dtype); m != nil {
		size, err := strconv.Atoi(m[2])
		switch {
		case m[1] == "?" && m[2] == "":
			return 1, true
		case err != nil:
			return 0, false
		case m[1] == "U":
			return 4 * size, size < 1<<28
		}
		return size, strings.Contains("biufcSVMma", m[1])
	}
	if !strings.HasPrefix(dtype, "[") {
		return 0, false
	}
	p := fieldParser{rest: dtype}
	n, ok := p.fields(0)
	return n, ok && p.rest == ""
}

// fieldParser parses [('name', 'type'), ('name', 'type', (2, 3)), …]. A type may be such a list,
// and a name may be a pair of title and name.
type fieldParser struct{ rest string }

func (p *fieldParser) take(text string) bool {
	rest := strings.TrimLeft(p.rest, " ")
	if !strings.HasPrefix(rest, text) {
		return false
	}
	p.rest = rest[len(text):]
	return true
}

// maxFieldDepth limits the nesting of fields.
const maxFieldDepth = 32

func (p *fieldParser) fields(depth int) (size int, ok bool) {
	if depth > maxFieldDepth || !p.take("[") {
		return 0, false
	}
	for !p.take("]") {
		if !p.take("(") || !p.name() || !p.take(",") {
			return 0, false
		}
		n := 0
		if strings.HasPrefix(strings.TrimLeft(p.rest, " "), "[") {
			n, ok = p.fields(depth + 1)
		} else {
			var text string
			if text, ok = p.quoted(); ok {
				n, ok = dtypeSize(text)
			}
		}
		if !ok {
			return 0, false
		}
		if p.take(",") {
			count, ok := p.shape()
			if !ok || count > 0 && n > maxTypeSize/count {
				return 0, false
			}
			n *= count
		}
		if !p.take(")") {
			return 0, false
		}
		if size += n; size > maxTypeSize {
			return 0, false
		}
		p.take(",")
	}
	return size, true
}

func (p *fieldParser) name() bool {
	if !p.take("(") {
		_, ok := p.quoted()
		return ok
	}
	_, title := p.quoted()
	comma := p.take(",")
	_, name := p.quoted()
	return title && comma && name && p.take(")")
}

// quoted reads a Python string. Escapes are kept in the result.
func (p *fieldParser) quoted() (string, bool) {
	rest := strings.TrimLeft(p.rest, " ")
	if rest == "" || rest[0] != '\'' && rest[0] != '"' {
		return "", false
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			p.rest = rest[i+1:]
			return rest[1:i], true
		}
	}
	return "", false
}

// shape reads (2, 3), (2,), or 2 and returns the product.
func (p *fieldParser) shape() (int, bool) {
	if !p.take("(") {
		return p.number()
	}
	count := 1
	for !p.take(")") {
		n, ok := p.number()
		if !ok || n > 0 && count > maxTypeSize/n {
			return 0, false
		}
		count *= n
		p.take(",")
	}
	return count, true
}

func (p *fieldParser) number() (int, bool) {
	rest := strings.TrimLeft(p.rest, " ")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	n, err := strconv.Atoi(rest[:digits])
	p.rest = rest[digits:]
	return n, err == nil
}
