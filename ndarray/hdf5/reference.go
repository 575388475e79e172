// References as text: the path of an object, and the selected elements or the attribute.
//
//	/group/data                 an object
//	/data[2:8, 0:10:2]          a region of a dataset, in NumPy's notation
//	/data[2:4, 0:1]+[6:8, 0:1]  several blocks
//	/data[0:12:4:2, 0:]         blocks of 2 rows, one every 4 rows, of all columns that may come
//	/data[...], /data()         all elements, no element
//	/data(6, 9)(2, 2)           points
//	/data@units                 an attribute
//	#0x00000320                 an object without a path, for example one that was deleted
//	""                          the null reference

package hdf5

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5names"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostBlocks is the maximum number of blocks or points of a region reference that is read as text.
const mostBlocks = 1 << 16

// path returns the text of a reference. For an object that does not exist, or that has no path, it
// is the address.
func (c *values) path(r h5.Ref) (string, error) {
	if r.IsNull() {
		return "", nil
	}
	if c.file == nil {
		return "", fmt.Errorf("%w: the target of a %v in an untrusted file", errors.ErrUnsupported, r)
	}
	if s, ok := c.paths[r]; ok {
		return s, nil
	}
	to, err := h5names.Resolve(c.file, r)
	if errors.Is(err, h5.ErrClosed) {
		return "", err
	}
	s := ""
	if err == nil && to.Path != "" {
		switch {
		case to.Attribute != "":
			s = to.Path + "@" + to.Attribute
		case to.Region:
			text, err := regionText(to.Space, to.Selection)
			if err != nil {
				return "", fmt.Errorf("region of %s: %w", to.Path, err)
			}
			s = to.Path + text
		default:
			s = to.Path
		}
	}
	if s == "" {
		s = addressText(r)
	}
	c.paths[r] = s
	return s, nil
}

// addressText returns the address of an object reference, or the bytes of another reference.
func addressText(r h5.Ref) string {
	if r.Kind == h5.ObjectReference {
		return fmt.Sprintf("#%#08x", loadBits([]byte(r.Data), h5.NativeOrder))
	}
	return fmt.Sprintf("#%x", r.Data)
}

func regionText(space h5.Dataspace, info h5.SelectionInfo) (string, error) {
	switch s := info.Selection.(type) {
	case h5.Points:
		if len(s) > mostBlocks {
			return "", fmt.Errorf("%w: %d points, at most %d", ndarray.ErrSize, len(s), mostBlocks)
		}
		var b strings.Builder
		for _, at := range s {
			b.WriteString("(" + list(at) + ")")
		}
		return b.String(), nil
	case h5.Region:
		return sliceText(s), nil
	case h5.Boxes:
	default:
		if s == h5.All {
			return "[...]", nil
		}
		return "()", nil
	}
	var parts []string
	for box, err := range space.Boxes(info.Selection) {
		if err != nil {
			return "", err
		}
		if len(parts) == mostBlocks {
			return "", fmt.Errorf("%w: more than %d blocks", ndarray.ErrSize, mostBlocks)
		}
		parts = append(parts, sliceText(box.Region()))
	}
	return strings.Join(parts, "+"), nil
}

func list(at []int64) string {
	s := make([]string, len(at))
	for i, n := range at {
		s[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(s, ", ")
}

// sliceText returns a region as slices. After the step comes the length of blocks longer than 1
// element that are not adjacent. A count of -1 has no end.
func sliceText(r h5.Region) string {
	s := make([]string, len(r.Start))
	for i, from := range r.Start {
		step, block, count := int64(1), int64(1), r.Count[i]
		if r.Block != nil {
			block = r.Block[i]
		}
		if r.Stride != nil {
			step = r.Stride[i]
		}
		switch {
		case count == 1:
			step, block, count = 1, 1, block
		case step == block:
			step, block, count = 1, 1, max(count*block, -1)
		}
		end := ""
		if count >= 0 {
			end = strconv.FormatInt(from+max(count-1, 0)*step+min(count, 1)*block, 10)
		}
		s[i] = fmt.Sprintf("%d:%s", from, end)
		if step != 1 {
			s[i] += fmt.Sprintf(":%d", step)
		}
		if block != 1 {
			s[i] += fmt.Sprintf(":%d", block)
		}
	}
	return "[" + strings.Join(s, ", ") + "]"
}

var (
	regionForm = regexp.MustCompile(`^(/.*?)(\[[-0-9:, ]*\](?:\+\[[-0-9:, ]*\])*|\[\.\.\.\]|\(\)|(?:\([0-9, ]+\))+)$`)
	partForm   = regexp.MustCompile(`[\[(]([^\])]*)[\])]`)
)

// reference returns the reference of the given kind that a text describes. The target must exist.
func (c *values) reference(text string, kind h5.ReferenceKind) (h5.Ref, error) {
	none := h5.Ref{Kind: kind}
	switch {
	case text == "":
		return none, nil
	case c.file == nil:
		return none, fmt.Errorf("%w: references in this file", errors.ErrUnsupported)
	case text[0] != '/':
		return none, fmt.Errorf("%w: the target of reference %q", ndarray.ErrNotFound, text)
	}
	root := c.file.Root()
	var r h5.Ref
	err := error(h5.ErrNotFound)
	if kind != h5.RegionReference {
		r, err = root.Reference(text, kind)
	}
	if m := regionForm.FindStringSubmatch(text); m != nil && err != nil && kind != h5.ObjectReference {
		s, perr := parseRegion(m[2])
		if perr != nil {
			return none, fmt.Errorf("reference %q: %w", text, perr)
		}
		r, err = root.ReferenceRegion(m[1], kind, s)
	}
	if i := strings.LastIndexByte(text, '@'); i > 0 && err != nil && kind == h5.StandardReference {
		r, err = root.ReferenceAttribute(text[:i], text[i+1:])
	}
	if err != nil {
		return none, errs.Mark(fmt.Errorf("the target of reference %q: %w", text, err), ndarray.ErrNotFound)
	}
	return r, nil
}

// parseRegion parses the selection after a path.
func parseRegion(text string) (h5.Selection, error) {
	switch text {
	case "[...]":
		return h5.All, nil
	case "()":
		return h5.Nothing, nil
	}
	var points h5.Points
	var blocks []h5.Selection
	for _, m := range partForm.FindAllStringSubmatch(text, -1) {
		r := h5.Region{}
		var point []int64
		for _, item := range strings.Split(m[1], ",") {
			n := [4]int64{0, -1, 1, 1}
			for i, digits := range strings.SplitN(strings.TrimSpace(item), ":", 4) {
				if i == 1 && digits == "" {
					continue
				}
				x, err := strconv.ParseInt(digits, 10, 64)
				if err != nil || x < 0 {
					return nil, fmt.Errorf("%w: %q in selection %q", ndarray.ErrParam, digits, text)
				}
				n[i] = x
			}
			if n[2] < 1 || n[3] < 1 || n[3] > n[2] || n[1] >= 0 && n[1] < n[0] {
				return nil, fmt.Errorf("%w: %q in selection %q", ndarray.ErrParam, item, text)
			}
			count := int64(-1)
			if n[1] >= 0 {
				count = (n[1] - n[0]) / n[2]
				if (n[1]-n[0])%n[2] > 0 {
					count++ // the last block
				}
			}
			point = append(point, n[0])
			r.Start, r.Count, r.Stride = append(r.Start, n[0]), append(r.Count, count), append(r.Stride, n[2])
			r.Block = append(r.Block, n[3])
		}
		if text[0] == '(' {
			points = append(points, point)
		} else {
			blocks = append(blocks, r)
		}
	}
	switch {
	case points != nil:
		return points, nil
	case len(blocks) == 1:
		return blocks[0], nil
	}
	return h5.Union(blocks...), nil
}
