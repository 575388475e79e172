// Dtypes as bcolz writes them: str(dtype) of NumPy.

package bcolztree

import (
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DType is the dtype of a carray.
type DType struct {
	Text       string // text in the file: "int32", ">f8", "|S5", "datetime64[ns]"
	Kind       byte   // NumPy's letter: b i u f c S U V M m O
	Order      byte   // '<', '>', or '|' if the byte order is irrelevant
	Size       int64  // bytes per element; 0 for objects and structured types, because the files do not contain their size directly
	Unit       string // unit of dates (M) and durations (m), with its factor: "ns", "25s"
	Structured bool   // kind V with fields; Text is Python's repr, which bcolz itself cannot read
}

// maxItemSize is the maximum size of an element, 1 GiB.
const maxItemSize = 1 << 30

// ParseDType parses the string of a dtype. It returns format.ErrUnsupported for a string that NumPy
// does not write.
func ParseDType(text string) (DType, error) { return parseDType(StorageFile, 0, text) }

func parseDType(file string, at int64, text string) (DType, error) {
	if strings.HasPrefix(text, "[(") || strings.HasPrefix(text, "{'") {
		return DType{Text: text, Kind: 'V', Order: '|', Structured: true}, nil
	}
	d, ok := parseSimple(text)
	if !ok {
		return DType{}, bad(file, "dtype", at, strconv.Quote(text), "a type that NumPy writes", format.ErrUnsupported)
	}
	d.Text = text
	return d, nil
}

// parseSimple parses a dtype without fields: a name, for example "int32" or "datetime64[ns]", or a
// form with a letter, for example ">i4". A name implies the byte order of the machine that wrote
// the file. The file does not contain it, so little-endian is assumed.
func parseSimple(text string) (d DType, ok bool) {
	code := strings.TrimLeft(text, "<>|=")
	switch {
	case code == "object", code == "O", code == "O4", code == "O8":
		return DType{Kind: 'O', Order: '|'}, true
	case code == "" || len(text)-len(code) > 1 || strings.ContainsAny(code, "({"):
		return d, false
	case text != code && (len(code) < 2 || code[1] < '0' || code[1] > '9'):
		return d, false // a name has no byte order
	}
	if order := text[0]; order == '<' || order == '>' {
		code = text
	}
	t, err := ndarray.ParseDType(code)
	if err != nil || t.Kind == ndarray.BFloat || t.Size == 0 || t.Size > maxItemSize {
		return d, false
	}
	if code[0] != '>' && t.Order != ndarray.NoOrder {
		t.Order = '<'
	}
	code = t.String()
	d = DType{Kind: code[1], Order: code[0], Size: int64(t.Size)}
	if _, unit, found := strings.Cut(code, "["); found {
		d.Unit = strings.TrimSuffix(unit, "]")
	}
	return d, true
}

// TypeSize returns the type size that bcolz passes to Blosc, in bytes: the character size for
// strings, 1 for objects and for opaque types of more than 255 bytes. It is 0 for structured types.
func (d DType) TypeSize() int64 {
	switch {
	case d.Kind == 'S' || d.Kind == 'O' || d.Kind == 'V' && d.Size > 255:
		return 1
	case d.Kind == 'U':
		return 4
	}
	return d.Size
}
