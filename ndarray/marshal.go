// Text forms of types, selections, regions and compressions, for packages encoding/json and flag.

package ndarray

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	_ encoding.TextMarshaler   = DType{}
	_ encoding.TextUnmarshaler = (*DType)(nil)
	_ encoding.TextMarshaler   = Selection{}
	_ encoding.TextUnmarshaler = (*Selection)(nil)
	_ encoding.TextMarshaler   = Region{}
	_ encoding.TextUnmarshaler = (*Region)(nil)
	_ encoding.TextMarshaler   = Compression{}
	_ encoding.TextUnmarshaler = (*Compression)(nil)
)

// MarshalText implements encoding.TextMarshaler with the result of String, which does not contain
// character set, padding and tags. It returns ErrType for an invalid type.
func (d DType) MarshalText() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseDType.
func (d *DType) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDType(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler with the result of String. It returns
// errors.ErrUnsupported for points and for a mask over the array.
func (s Selection) MarshalText() ([]byte, error) {
	if s.kind != byAxis {
		return nil, fmt.Errorf("%w: text of a selection: got %v, want one index per axis", errors.ErrUnsupported, s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler by ParseSelection.
func (s *Selection) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSelection(string(text))
	return err
}

// MarshalText implements encoding.TextMarshaler with the result of String.
func (r Region) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler for the form of String, with or without the
// brackets, for example "[0:2, 4:5]". It returns ErrParam, with the input, for any other text.
func (r *Region) UnmarshalText(text []byte) error {
	inner := strings.TrimSpace(string(text))
	if open, ok := strings.CutPrefix(inner, "["); ok {
		if inner, ok = strings.CutSuffix(open, "]"); !ok {
			return fmt.Errorf("%w: region %q: the closing bracket is missing", ErrParam, text)
		}
	}
	var region Region
	for part := range strings.SplitSeq(inner, ",") {
		if strings.TrimSpace(inner) == "" {
			break
		}
		from, to, _ := strings.Cut(part, ":")
		start, err1 := strconv.ParseInt(strings.TrimSpace(from), 10, 64)
		end, err2 := strconv.ParseInt(strings.TrimSpace(to), 10, 64)
		if err1 != nil || err2 != nil || start < 0 || end < start {
			return fmt.Errorf("%w: region %q: axis %d: got %q, want START:STOP with 0 ≤ START ≤ STOP", ErrParam, text, len(region.Start), strings.TrimSpace(part))
		}
		region.Start, region.Shape = append(region.Start, start), append(region.Shape, end-start)
	}
	*r = region
	return nil
}

// MarshalText implements encoding.TextMarshaler with the result of String.
func (c Compression) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler for the form of String, for example
// "shuffle + zstd 5", "lz4" with level 0, or "none". It returns ErrParam, with the input, for any
// other text. Create checks the names.
func (c *Compression) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "+")
	var parsed Compression
	for i, part := range parts {
		words := strings.Fields(part)
		last := i == len(parts)-1
		if len(words) == 0 || len(words) > 2 || len(words) == 2 && !last {
			return fmt.Errorf("%w: compression %q: got %q, want FILTER + … + CODEC LEVEL", ErrParam, text, strings.TrimSpace(part))
		}
		if !last {
			parsed.Filters = append(parsed.Filters, words[0])
			continue
		}
		parsed.Codec = words[0]
		if len(words) == 1 {
			continue
		}
		level, err := strconv.Atoi(words[1])
		if err != nil {
			return fmt.Errorf("%w: compression %q: level: got %q, want a number", ErrParam, text, words[1])
		}
		parsed.Level = level
	}
	*c = parsed
	return nil
}
