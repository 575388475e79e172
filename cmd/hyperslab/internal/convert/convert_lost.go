// Properties of an array, other than its elements and attributes, that a target cannot represent.
// They are determined before anything is written.

package convert

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/format/msgpack"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5attr"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// fact is a property of an array that is not converted.
type fact struct{ what, value, reason string }

func (f fact) String() string { return fmt.Sprintf("%s (%s): %s", f.what, f.value, f.reason) }

// leaveOut removes properties that the format cannot represent from spec, which is for the array
// that m describes. Properties of the array itself are refused until the user excludes them. How
// its elements were stored, and types that a target never keeps, are only reported.
func (j *ConvertJob) leaveOut(spec *ndarray.Spec, m ndarray.Meta, format hyperslab.Format) (refused, reported []fact) {
	bare := isFlat(format) || format == hyperslab.Caterva || format == shell.FrameFormat
	reason := fmt.Sprintf("%s cannot store it", format)
	if isFlat(format) {
		reason = fmt.Sprintf("%s stores elements only", format)
	}
	if bare && len(bytes.Trim(m.Fill, "\x00")) > 0 {
		refused = append(refused, fact{"fill value", ndarray.FormatElement(m.DType, m.Fill), reason})
		spec.Fill = nil
	}
	if bare && slices.ContainsFunc(m.AxisNames, func(name string) bool { return name != "" }) {
		refused = append(refused, fact{"dimension names", strings.Join(m.AxisNames, ", "), reason})
	}
	if bare {
		spec.AxisNames = nil
	}
	if most := m.MaxShape; most != nil && len(j.Grow) == 0 {
		f := fact{"maximum shape", mostText(most), reason}
		switch {
		case isFlat(format):
			if !slices.Equal(most, m.Shape) {
				reported = append(reported, f)
			}
		case bare, format == hyperslab.Bcolz && !growsAlong(m.Shape, most):
			f.reason = fmt.Sprintf("%s arrays grow along any axis", format)
			if format == hyperslab.Bcolz {
				f.reason = "bcolz arrays grow along the first axis only"
			}
			refused = append(refused, f)
			spec.MaxShape = nil
		}
	}
	if d := m.DType; format == shell.NPYFormat && !d.NumPy().EqualValues(d) {
		reported = append(reported, fact{"type", d.String(), fmt.Sprintf("npy stores %v", d.NumPy())})
	} else if bare && format != shell.NPYFormat && format != shell.FrameFormat {
		reported = append(reported, fact{"type", spec.DType.String(), fmt.Sprintf("%s stores no dtype; read it with --dtype %s", format,
			shellword.Quote(spec.DType.String()))})
	}
	if m.Format == detect.Objects {
		reported = append(reported, fact{"objects", fmt.Sprintf("%d Python objects", m.NumElems()),
			fmt.Sprintf("%s stores their JSON as strings", format)})
	}
	reported = append(reported, encodingLost(m, spec.Compression, format)...)
	if m.Comment != "" && format != hyperslab.HDF5 {
		reported = append(reported, fact{"comment", m.Comment, reason})
	}
	return refused, reported
}

// stringFill returns the fill value of an HDF5 dataset of variable strings, which ndarray.Spec does
// not have; "" is also the default. The fill values of untrusted files are not read.
func stringFill(ctx context.Context, a *shell.App, source string, m ndarray.Meta) (text string, err error) {
	if m.Format != string(hyperslab.HDF5) || m.DType.Kind != ndarray.String || a.Untrusted() {
		return "", nil
	}
	err = inspect.WithDataset(ctx, a, source, func(_ *h5.File, d *h5.Dataset) error {
		text, err = textview.Fill(d)
		return err
	})
	return text, err
}

// propertiesLost returns the storage properties of an array that differ from the default and that
// ndarray.Spec does not contain. It sorts attrs into their creation order.
func propertiesLost(src *ndarray.Array, format hyperslab.Format, attrs []ndarray.Attr) (lost []fact, err error) {
	stored, ok := ndarray.As[hdf5.Backend](src.Backend())
	if !ok {
		return nil, nil // a format without them, or an untrusted file
	}
	p, err := h5attr.ReadProperties(stored.Dataset())
	if err != nil {
		return nil, err
	}
	reason := fmt.Sprintf("%s cannot store it", format)
	if format == hyperslab.HDF5 {
		reason = "only the conversion of a group or a file keeps it"
	}
	if p.Layout != "" {
		why := "the elements are stored in the target"
		if p.Layout == "compact" {
			why = reason
		}
		lost = append(lost, fact{"layout", p.Layout, why})
	}
	if p.Alloc != "" {
		lost = append(lost, fact{"allocation", p.Alloc, reason})
	}
	p.Arrange(attrs)
	if p.Attrs != nil && format == hyperslab.HDF5 {
		lost = append(lost, fact{"creation order of attributes", strings.Join(p.Attrs, ", "), reason})
	}
	return lost, nil
}

// growsAlong reports whether only the first axis may grow.
func growsAlong(shape, most []int64) bool {
	return len(shape) == 0 || slices.Equal(shape[1:], most[1:])
}

// mostText formats a maximum shape, for example 20xany.
func mostText(most []int64) string {
	parts := make([]string, len(most))
	for i, n := range most {
		parts[i] = "any"
		if n != ndarray.Unlimited {
			parts[i] = fmt.Sprint(n)
		}
	}
	return strings.Join(parts, "x")
}

// encodingLost returns the properties of an array's storage that a format does not support. Within
// a format it returns a checksum that is lost because c has another compression. Codecs that both
// formats support, levels, blocks and chunk sizes do not count, because every format chooses them.
func encodingLost(m ndarray.Meta, c *ndarray.Compression, format hyperslab.Format) (lost []fact) {
	if string(format) == m.Format || shell.IsFrame(format) && shell.IsFrame(hyperslab.Format(m.Format)) {
		if summed(m.Compression) && c != nil && !summed(c) {
			reason := "codec none removes all filters; --checksum keeps this one"
			if checksums[format] == "" {
				reason = fmt.Sprintf("%s has no such filter", format)
			}
			f := m.Compression.Filters[len(m.Compression.Filters)-1]
			lost = append(lost, fact{"filter", f, reason})
		}
		return lost
	}
	kept := summed(c) && !isFlat(format)
	if c := m.Compression; c != nil {
		for _, f := range c.Filters {
			if isChecksum(f) && kept { // with the checksum of the format
				continue
			}
			if isFlat(format) && isChecksum(f) || !isFlat(format) && !slices.Contains(filters[format], f) {
				lost = append(lost, fact{"filter", f, fmt.Sprintf("%s has no such filter", format)})
			}
		}
		codec := c.Codec
		if shell.IsFrame(format) {
			codec = strings.TrimPrefix(codec, converted.Blosc2Prefix)
		}
		if codec != "" && !isFlat(format) && !slices.Contains(Codecs[format], codecName(codec, format)) {
			lost = append(lost, fact{"codec", c.Codec, fmt.Sprintf("%s is not written with it", format)})
		}
	}
	if format == hyperslab.Bcolz && len(m.ChunkShape) > 1 && !slices.Equal(m.ChunkShape[1:], m.Shape[1:]) {
		lost = append(lost, fact{"chunks", term.FormatShape(m.ChunkShape), "those of bcolz cut no rows"})
	}
	return lost
}

// typesLost lists the attributes of the source, and those of Blosc2, that keep their values but not
// their types.
func typesLost(source, attrs []ndarray.Attr, format hyperslab.Format) (lost []fact) {
	unicode := make(map[string]ndarray.DType)
	for _, a := range source {
		if a.Value.DType.Kind == ndarray.Unicode {
			unicode[a.Name] = a.Value.DType
		}
	}
	for _, attr := range attrs {
		if d, ok := unicode[attr.Name]; ok && attr.Value.DType.Kind == ndarray.String {
			lost = append(lost, fact{"type of attribute " + attr.Name, d.String(), fmt.Sprintf("%s stores the same strings as %v", format,
				attr.Value.DType)})
		}
	}
	if shell.IsFrame(format) || isFlat(format) { // the latter have no attributes
		return nil
	}
	for _, attr := range attrs {
		if types := msgpack.Simplified(attr.Raw); len(types) > 0 {
			lost = append(lost, fact{"type of attribute " + attr.Name, strings.Join(types, ", "),
				fmt.Sprintf("%s has lists and strings only", format)})
		}
	}
	return lost
}
