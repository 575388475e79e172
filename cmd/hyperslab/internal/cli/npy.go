// The .npy format (NumPy Enhancement Proposal 1): a header in Python syntax, then the elements.

package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/npy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpNPY writes a .npy file with the elements in this machine's byte order.
func dumpNPY(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, progress func(bytes int64)) error {
	m := arr.Meta()
	head, err := npyHeader(m)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return eachBlock(ctx, arr, outputBlock, progress, func(_ ndarray.Region, e *batch) error {
		_, err := w.Write(e.data)
		return err
	})
}

// npyHeader returns everything before the elements of a .npy file.
func npyHeader(m ndarray.Meta) ([]byte, error) {
	if m.DType.Kind == ndarray.String || m.Null {
		what := "text of variable length"
		if m.Null {
			what = "an array without a shape"
		}
		return nil, usagef("%s: %w: .npy cannot store %s; use --json", cmp.Or(m.Path, "the array"), errors.ErrUnsupported, what)
	}
	return npy.Header(m.DType, m.Shape), nil
}

// npyMagic begins every .npy file.
const npyMagic = npy.Magic

// mostNPYHeader is the maximum size of a header. NumPy's headers have a few hundred bytes, and more
// for structures with many fields.
const mostNPYHeader = 1 << 20

// readNPYHeader reads everything before the elements. It returns their description, whether their
// order is Fortran's, and their offset.
func readNPYHeader(r io.Reader) (m ndarray.Meta, fortran bool, at int64, err error) {
	bad := func(format string, args ...any) (ndarray.Meta, bool, int64, error) {
		return ndarray.Meta{}, false, 0, fmt.Errorf("%w: .npy header: %s", ndarray.ErrCorrupt, fmt.Sprintf(format, args...))
	}
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head[:10]); err != nil {
		return bad("cut short (%v)", err)
	}
	if string(head[:6]) != npyMagic {
		return bad("begins with % x", head[:6])
	}
	length, at := int64(binary.LittleEndian.Uint16(head[8:])), int64(10)
	switch head[6] {
	case 1:
	case 2, 3:
		if _, err := io.ReadFull(r, head[10:]); err != nil {
			return bad("cut short (%v)", err)
		}
		length, at = int64(binary.LittleEndian.Uint32(head[8:])), 12
	default:
		return bad("version %d.%d, versions 1 to 3 are known", head[6], head[7])
	}
	if length > mostNPYHeader {
		return bad("%d bytes, at most %d are read", length, mostNPYHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return bad("cut short (%v)", err)
	}
	dict, ok := pythonDict(string(text))
	if !ok || dict["descr"] == "" || dict["shape"] == "" {
		return bad("%.80q is no dict of descr, fortran_order and shape", text)
	}
	switch dict["fortran_order"] {
	case "True":
		fortran = true
	case "False":
	default:
		return bad("fortran_order %.20q", dict["fortran_order"])
	}
	m.Format, m.Shape = npyFormat, []int64{}
	inside := strings.TrimSuffix(strings.TrimSpace(strings.Trim(dict["shape"], "()")), ",")
	for part := range strings.SplitSeq(inside, ",") {
		if inside == "" {
			break
		}
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(part), "L"), 10, 64) // L as in Python 2
		if err != nil || n < 0 {
			return bad("shape %.80q", dict["shape"])
		}
		m.Shape = append(m.Shape, n)
	}
	descr := dict["descr"]
	if quoted := strings.Trim(descr, `'"`); len(quoted) == len(descr)-2 {
		descr = quoted
	}
	if strings.Contains(descr, "|O") || descr == "O" {
		return m, false, 0, fmt.Errorf("%w: .npy of Python objects, which are pickled", errors.ErrUnsupported)
	}
	if m.DType, err = ndarray.ParseDType(descr); err != nil {
		return m, false, 0, fmt.Errorf(".npy header: %w", err)
	}
	return m, fortran, at + length, ndarray.CheckShape(m.Shape, m.DType.Size)
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
