// From the flags of convert to the array to be created and its attributes.

package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/dimscale"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// targets are the values of --format.
var targets = []string{string(hyperslab.B2ND), string(hyperslab.HDF5), string(hyperslab.Bcolz), string(hyperslab.Caterva),
	string(hyperslab.B2Z), string(hyperslab.B2D), string(hyperslab.B2E), tableFormat, shell.FrameFormat, shell.NPYFormat, shell.RawFormat}

// Check checks the flags that do not depend on the arrays.
func (j *ConvertJob) Check() error {
	if err := cmp.Or(j.StoreFlags.check(), j.pick.Check(), j.types.check()); err != nil {
		return err
	}
	if j.strings != "" {
		if err := shell.OneOf("--strings", j.strings, textModes...); err != nil {
			return err
		}
	}
	if j.Format != "" {
		if err := shell.OneOf("--format", j.Format, targets...); err != nil {
			return err
		}
	}
	_, err := j.Job.Check()
	return err
}

// ResolveTarget determines the format of the target. It fails before any work is done if the target
// must not be replaced.
func (j *ConvertJob) ResolveTarget() (format hyperslab.Format, err error) {
	target := j.Target
	if target == shell.Stdio {
		switch j.Format {
		case "", shell.NPYFormat:
			return shell.NPYFormat, nil
		case shell.RawFormat:
			return shell.RawFormat, nil
		}
		return "", shell.Usagef("--format %s: standard output takes npy or raw; other formats need a file", j.Format)
	}
	whole, _ := shell.SplitSelection(j.Source)
	from, err := locate.Parse(whole)
	if err != nil {
		return "", err
	}
	to, err := locate.Parse(target)
	if err != nil {
		return "", err
	}
	if format = hyperslab.Format(j.Format); format == "" {
		var ok bool
		if format, ok = formatForName(to.File); !ok {
			if filepath.Ext(to.File) == "" {
				return "", shell.Usagef("%s: the name has no extension, which selects the format; end the name in .b2nd, .h5, .bcolz or "+
					".npy, or add --format", to.File)
			}
			return "", shell.Usagef("%s: the extension %q is not that of a format; end the name in .b2nd, .h5, .bcolz or .npy, or "+
				"add --format", to.File, strings.ToLower(filepath.Ext(to.File)))
		}
	}
	if shell.IsStore(format) {
		if strings.Trim(to.Object, "/") == "" {
			return "", shell.Usagef("%s: a store holds many arrays; name this one, for example %s:/%s", target, to.File, nameOf(from))
		}
		return hyperslab.B2ND, nil // Create checks the store
	}
	switch named := strings.Trim(to.Object, "/") != ""; {
	case format == hyperslab.HDF5 && !named:
		return "", shell.Usagef("%s: an HDF5 file can hold many arrays; name this one, for example %s:/data", target, to.File)
	case format != hyperslab.HDF5 && named:
		return "", shell.Usagef("%s: a %s file contains one array and has no paths", target, format)
	}
	if format == hyperslab.HDF5 {
		return format, j.mayAdd(from.File, to)
	}
	if j.inPlace {
		return "", shell.Usagef("--in-place adds an array to an HDF5 file; %s is of format %s", target, format)
	}
	return format, j.mayReplace(to.File)
}

// mayReplace checks whether the target may be replaced, if it exists.
func (j *ConvertJob) mayReplace(target string) error {
	_, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !j.force:
		return &ndarray.Error{Op: "create", Path: target, Err: ndarray.ErrExists}
	}
	return nil
}

// mayAdd checks the HDF5 file that an array is added to, if it exists.
func (j *ConvertJob) mayAdd(source string, to locate.Location) (err error) {
	if _, err := os.Lstat(to.File); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if j.inPlace && source != "" && shell.SameFile(source, to.File) {
		return shell.Usagef("%s is in the file that changes; this is possible without --in-place", source)
	}
	format, err := hyperslab.Sniff(to.File)
	switch {
	case err != nil:
		return err
	case format != hyperslab.HDF5:
		return shell.Usagef("%s is of format %s; arrays are added to HDF5 files", to.File, format)
	case j.force:
		return nil
	}
	f, err := h5.Open(to.File, h5.ReadOnly)
	if err != nil {
		return ndarray.Wrap("open", to.File, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	exists, err := f.Root().HasLink("/" + strings.Trim(to.Object, "/"))
	if err != nil {
		return ndarray.Wrap("create", to.String(), err)
	}
	if exists {
		return &ndarray.Error{Op: "create", Path: to.String(), Err: ndarray.ErrExists}
	}
	return nil
}

// attrDecisions contains the decisions about the attributes of the source.
type attrDecisions struct {
	keep        []ndarray.Attr
	names       []string                  // all names that are left out
	unsupported []ndarray.UnsupportedAttr // those left out because they cannot be kept
}

// decide divides the attributes into kept and excluded ones. An attribute that cannot be converted
// and is not excluded, or any of the facts, is an error that names the flags to add. An attribute
// is never dropped silently. named reports whether the target gets the dimension names of the
// source.
func (j *ConvertJob) decide(attrs ndarray.Attrs, named bool, facts []fact, format hyperslab.Format) (attrDecisions, error) {
	x := &j.Attrs
	s := attrDecisions{names: []string{}}
	var refused []ndarray.UnsupportedAttr
	for _, attr := range attrs.List {
		attr, reason := held(format, attr)
		switch {
		case slices.Contains(x.Names, attr.Name):
			s.names = append(s.names, attr.Name)
		case reason == "":
			s.keep = append(s.keep, attr)
		default:
			attrs.Unsupported = append(attrs.Unsupported,
				ndarray.UnsupportedAttr{Name: attr.Name, Type: attr.Value.DType.String(), Reason: reason})
		}
	}
	for _, u := range attrs.Unsupported {
		if raw, ok := u.Stored(); ok && storesRaw(format, raw) && !slices.Contains(x.Names, u.Name) {
			s.keep = append(s.keep, raw)
			continue
		}
		if dimscale.Links(u, named) && !slices.Contains(x.Names, u.Name) {
			u.Reason = "the names of the scales are kept as dimension names"
			s.names = append(s.names, u.Name)
			s.unsupported = append(s.unsupported, u)
			continue
		}
		if !x.Unsupported && !slices.Contains(x.Names, u.Name) {
			refused = append(refused, u)
			continue
		}
		s.names = append(s.names, u.Name)
		s.unsupported = append(s.unsupported, u)
	}
	if x.Unsupported {
		facts = nil
	}
	if len(refused)+len(facts) == 0 {
		return s, nil
	}
	var lines, flags strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&lines, "\n  %s", term.Safe(f.String()))
	}
	for _, u := range refused {
		fmt.Fprintf(&lines, "\n  %s (%s): %s", term.Safe(u.Name), term.Safe(u.Type), term.Safe(u.Reason))
		fmt.Fprintf(&flags, " --exclude-attr %s", shellword.Quote(u.Name))
	}
	if len(facts) > 0 {
		return s, fmt.Errorf("%s of %s cannot be stored in %s; no file was written:%s\n  to go on without add --exclude-unsupported",
			term.Plural(int64(len(refused)+len(facts)), "thing"), j.Source, j.Target, lines.String())
	}
	return s, fmt.Errorf("%s of %s cannot be stored in %s; no file was written:%s\n  to go on without add%s, or --exclude-unsupported",
		term.Plural(int64(len(refused)), "attribute"), j.Source, j.Target, lines.String(), flags.String())
}

// held returns an attribute as a format stores it, or the reason why the format cannot represent
// it.
func held(format hyperslab.Format, attr ndarray.Attr) (_ ndarray.Attr, reason string) {
	if isFlat(format) {
		return attr, fmt.Sprintf("%s stores elements only", format)
	}
	if format == hyperslab.HDF5 {
		converted, err := textview.Attr(attr)
		if err != nil {
			return attr, err.Error()
		}
		return converted, ""
	}
	return attr, ""
}

// storesRaw reports whether a format stores an attribute without a Value: a Blosc2 frame any, and
// bcolz those that JSON can represent.
func storesRaw(format hyperslab.Format, raw ndarray.Attr) bool {
	one := ndarray.Spec{Shape: []int64{0}, DType: ndarray.DTypeOf[bool](), Attrs: []ndarray.Attr{raw}}
	return shell.IsFrame(format) || format == hyperslab.Bcolz && !raw.Fixed && bcolz.Check(one) == nil
}

// textModes are the values of --strings.
var textModes = []string{string(textview.Auto), string(textview.Fixed), string(textview.Error)}

// replaceStrings gives src the type of strings that the target stores. It returns the change.
func (j *ConvertJob) replaceStrings(ctx context.Context, src *shell.Part, format hyperslab.Format) ([]fact, error) {
	m := src.Meta()
	if m.Path == shell.Stdio || format == shell.RawFormat || format == hyperslab.Caterva {
		return nil, nil // a pipe is read once, and the other formats store no type
	}
	d, err := textview.Type(ctx, src.Array, format == hyperslab.HDF5, cmp.Or(textview.Mode(j.strings), textview.Auto))
	if err != nil {
		return nil, ndarray.Wrap("convert", m.Path, err)
	}
	arr, err := textview.New(src.Array, d)
	if err != nil || arr == src.Array {
		return nil, err
	}
	src.Show(arr)
	changed := []fact{{"type", m.DType.String(), fmt.Sprintf("%s stores the same strings as %v", format, d)}}
	if len(bytes.Trim(m.Fill, "\x00")) > 0 {
		changed = append(changed, fact{"fill value", ndarray.FormatElement(m.DType, m.Fill), fmt.Sprintf("strings of type %v have none",
			d)})
	}
	return changed, nil
}

// createOptions returns the flags as options of hyperslab.Create.
func (j *ConvertJob) createOptions() *hyperslab.CreateOptions {
	if j.Format == shell.FrameFormat {
		return &hyperslab.CreateOptions{Format: hyperslab.B2ND, Plain: true, Overwrite: j.force, Lock: j.lock}
	}
	return &hyperslab.CreateOptions{Format: hyperslab.Format(j.Format), Sparse: j.Sparse, Overwrite: j.force, InPlace: j.inPlace,
		Lock: j.lock}
}
