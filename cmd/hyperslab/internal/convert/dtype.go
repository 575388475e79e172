// Flags that change the element type of arrays, or give that of elements that are stored without
// one.

package convert

import (
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/numberview"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// typeFlags are the flags of the element type.
type typeFlags struct {
	values []string // of --dtype
	round  bool
	clip   bool

	rules []typeRule
}

// typeRule is a value of --dtype.
type typeRule struct {
	pattern string // of the paths of arrays; "": all arrays of numbers
	dtype   ndarray.DType
}

// typeHelp is the part of the help about the flags.
const typeHelp = `

--dtype TYPE converts numbers to another type, for example <f4. Each value must be
exactly representable; the first one that is not is an error with its index. --round
rounds values to the nearest one, ties to even, and --clip replaces values beyond the
minimum or maximum of the type by it; both report the number of changed elements. An
integer cannot represent NaN, with either flag. Fill values and the attributes whose
type is that of the elements, for example _FillValue, are converted too. In a tree,
--dtype converts all arrays of numbers, and --dtype PATTERN=TYPE those whose path
matches, for example '/t2m=<f4'; it may be given several times, and the last match
counts. TYPE is bool, an integer, f4 or f8; f2 can be read, but not be the target. .npy
and raw bytes have the byte order of the machine. For raw bytes, Caterva arrays and
plain frames, which store no type, --dtype is the type of the source.`

func (f *typeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVar(&f.values, "dtype", nil, "convert numbers to `TYPE`, or with /PATTERN=TYPE those of the arrays that the pattern "+
		"matches; for raw bytes and Caterva arrays, the type of the source")
	fs.BoolVar(&f.round, "round", false, "with --dtype: round values to the nearest one, and report their number")
	fs.BoolVar(&f.clip, "clip", false, "with --dtype: replace values beyond the minimum or maximum of the type by it, and report their number")
}

// AddTypes adds the flags of the element type to a command.
func (j *ConvertJob) AddTypes(cmd *cobra.Command) { j.types.add(cmd) }

// AddMany adds the flags of many sources and their trees to a command.
func (j *ConvertJob) AddMany(cmd *cobra.Command) *shell.BatchFlags {
	j.batch.Add(cmd)
	j.pick.Add(cmd)
	j.addStrings(cmd)
	return &j.batch
}

// addStrings adds --strings to a command.
func (j *ConvertJob) addStrings(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.strings, "strings", string(textview.Auto),
		"`KIND` of strings that replace those that the target lacks: auto (variable length in HDF5, fixed size elsewhere), fixed, or error")
	shell.CompleteWords(cmd, "strings", textModes...)
}

// Untyped returns the type of --dtype for elements that are stored without one, or nil.
func (j *ConvertJob) Untyped() *ndarray.DType { return j.types.untyped() }

// check parses the flags.
func (f *typeFlags) check() error {
	f.rules = nil
	for _, value := range f.values {
		r, text := typeRule{}, value
		if at := strings.LastIndexByte(value, '='); strings.HasPrefix(value, "/") && at > 0 {
			r.pattern, text = value[:at], value[at+1:]
			if _, err := path.Match(r.pattern, ""); err != nil {
				return shell.Usagef("--dtype %s: not a valid pattern", value)
			}
		}
		var err error
		if r.dtype, err = shell.ParseDType(text); err != nil {
			return err
		}
		f.rules = append(f.rules, r)
	}
	if len(f.rules) == 0 && (f.round || f.clip) {
		return shell.Usagef("--round and --clip require --dtype TYPE")
	}
	return nil
}

// text returns the type of elements that are stored without one, "" without such a type.
func (f *typeFlags) text() string {
	if dtype := f.untyped(); dtype != nil {
		return dtype.String()
	}
	return ""
}

// untyped returns the type of elements that are stored without one, or nil.
func (f *typeFlags) untyped() *ndarray.DType {
	for _, r := range slices.Backward(f.rules) {
		if r.pattern == "" {
			return &r.dtype
		}
	}
	return nil
}

// conversion returns the conversion of the array at a path, or nil. named reports whether a pattern
// of its path requests it.
func (f *typeFlags) conversion(at string) (c *numberview.Conversion, named bool) {
	for _, r := range f.rules {
		if matches, err := path.Match(r.pattern, at); r.pattern == "" || err == nil && matches {
			c, named = &numberview.Conversion{To: r.dtype, Round: f.round, Clip: f.clip}, r.pattern != ""
		}
	}
	return c, named
}

// StoresNoType reports whether arrays of a format store no element type.
func StoresNoType(format string) bool {
	return format == string(hyperslab.Caterva) || format == shell.FrameFormat || format == shell.RawFormat
}

// ChangeType gives src the element type of --dtype. It returns nil if it has that type, or if it
// stores none, so that it has that type already.
func (j *ConvertJob) ChangeType(src *shell.Part) (*numberview.Conversion, error) {
	location, _ := shell.SplitSelection(j.Source)
	from, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	c, _ := j.types.conversion("/" + strings.Trim(from.Object, "/"))
	if c == nil || StoresNoType(src.Whole().Format) {
		return nil, nil
	}
	shown, err := c.View(src.Array, false)
	if err != nil || shown == src.Array {
		return nil, err
	}
	src.Show(shown)
	return c, nil
}

// reportChanged reports the elements that conversions changed, also with --quiet, and returns their
// numbers.
func (j *ConvertJob) reportChanged(list ...*numberview.Conversion) (rounded, clipped *shell.JSONInt) {
	rounded, clipped = new(shell.JSONInt), new(shell.JSONInt)
	for _, c := range list {
		r, l := c.Changes()
		*rounded += shell.JSONInt(r)
		*clipped += shell.JSONInt(l)
	}
	j.NoteChanged(j.Command, j.Source, *rounded, *clipped)
	return rounded, clipped
}
