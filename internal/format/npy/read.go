// Parser of the header of a .npy file.

package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Array describes the elements of a .npy file.
type Array struct {
	Shape   []int64
	DType   ndarray.DType
	Fortran bool  // the first axis varies fastest
	Offset  int64 // of the first element
}

// maxHeader is the maximum size of a header. NumPy's headers have a few hundred bytes, and more for
// structures with many fields.
const maxHeader = 1 << 20

// Open reads the header of a file of size bytes, and checks that the file contains all elements. It
// returns the errors of Read and CheckSize.
func Open(r io.ReaderAt, size int64) (Array, error) {
	a, err := Read(io.NewSectionReader(r, 0, size))
	if err == nil {
		err = a.CheckSize(size)
	}
	return a, err
}

// NumBytes returns the size of all elements.
func (a *Array) NumBytes() int64 {
	n, _ := grid.Product(a.Shape) // Read has checked the shape
	return n * int64(a.DType.Size)
}

// Read reads everything before the elements. It returns ndarray.ErrCorrupt for a malformed header,
// and errors.ErrUnsupported for Python objects.
func Read(r io.Reader) (a Array, err error) {
	bad := func(format string, args ...any) (Array, error) {
		return Array{}, fmt.Errorf("%w: .npy header: %s", ndarray.ErrCorrupt, fmt.Sprintf(format, args...))
	}
	short := func(err error) (Array, error) { // the file is too short, or the error of r
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return bad("cut short (%v)", err)
		}
		return Array{}, fmt.Errorf(".npy header: %w", err)
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return short(err)
	}
	if string(head[:6]) != Magic {
		return bad("begins with % x", head[:6])
	}
	length, at := int64(binary.LittleEndian.Uint16(head[8:])), int64(10)
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return short(err)
		}
		length, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	default:
		return bad("version %d.%d, versions 1 to 3 are known", head[6], head[7])
	}
	if length > maxHeader {
		return bad("%d bytes, at most %d are read", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return short(err)
	}
	a.Offset = at + length
	dict, ok := pythonDict(string(text))
	if !ok || dict["descr"] == "" || dict["shape"] == "" {
		return bad("%.80q is not a dict of descr, fortran_order and shape", text)
	}
	switch dict["fortran_order"] {
	case "True":
		a.Fortran = true
	case "False":
	default:
		return bad("fortran_order %.20q", dict["fortran_order"])
	}
	a.Shape = []int64{}
	inside := strings.TrimSuffix(strings.TrimSpace(strings.Trim(dict["shape"], "()")), ",")
	for part := range strings.SplitSeq(inside, ",") {
		if inside == "" {
			break
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(part), "L"), 10, 64) // L as in Python 2
		if err != nil || n < 0 {
			return bad("shape %.80q", dict["shape"])
		}
		a.Shape = append(a.Shape, n)
	}
	descr := dict["descr"]
	switch first, last := descr[0], descr[len(descr)-1]; {
	case len(descr) > 1 && first == last && (first == '\'' || first == '"'):
		descr = descr[1 : len(descr)-1]
	case first != '[' && first != '(':
		return bad("descr %.80q, want a string, a list or a tuple", descr)
	}
	if strings.Contains(descr, "|O") || descr == "O" {
		return Array{}, fmt.Errorf("%w: .npy of Python objects, which are pickled", errors.ErrUnsupported)
	}
	if a.DType, err = ParseDescr(descr); err != nil {
		return Array{}, fmt.Errorf(".npy header: %w", err)
	}
	return a, grid.Check(a.Shape, a.DType.Size)
}

// pythonDict parses a dict literal with string keys and returns the text of each value.
func pythonDict(s string) (map[string]string, bool) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "{") || !strings.HasSuffix(s, "}") {
		return nil, false
	}
	s = s[1 : len(s)-1]
	dict := make(map[string]string)
	var quote byte
	depth, start, key := 0, 0, ""
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && quote != 0:
			if s[i] == '\\' {
				i++
			} else if s[i] == quote {
				quote = 0
			}
		case i < len(s) && (s[i] == '\'' || s[i] == '"'):
			quote = s[i]
		case i < len(s) && strings.IndexByte("([{", s[i]) >= 0:
			depth++
		case i < len(s) && strings.IndexByte(")]}", s[i]) >= 0:
			depth--
		case i < len(s) && s[i] == ':' && depth == 0:
			if key != "" {
				return nil, false
			}
			key = strings.Trim(strings.TrimSpace(s[start:i]), `'"`)
			start = i + 1
		case i == len(s) || s[i] == ',' && depth == 0:
			value := strings.TrimSpace(s[min(start, len(s)):i])
			if key == "" && value != "" || key != "" && value == "" {
				return nil, false
			}
			if key != "" {
				dict[key] = value
			}
			key, start = "", i+1
		}
	}
	return dict, quote == 0 && depth == 0
}
