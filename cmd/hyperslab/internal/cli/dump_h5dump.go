// Flags that are compatible with h5dump.

package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/ndarray"
)

// h5dumpFlags are h5dump's -d -g -t -a -s -S -c -k, an alternative to an address with a selection.
// -g, -t and -a require --ddl. The flags are not listed in the help.
type h5dumpFlags struct {
	dataset, group, datatype, attribute string
	start, stride, count, block         string
}

func (o *h5dumpFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.dataset, "dataset", "d", "", "the object `PATH`, as in h5dump")
	f.StringVarP(&o.start, "start", "s", "", "first `INDEX` along each axis, as in h5dump")
	f.StringVarP(&o.stride, "stride", "S", "", "`STEP` along each axis, as in h5dump")
	f.StringVarP(&o.count, "count", "c", "", "`NUMBER` of blocks along each axis, as in h5dump")
	f.StringVarP(&o.block, "block", "k", "", "`LENGTH` of a block along each axis, as in h5dump")
	f.StringVarP(&o.group, "group", "g", "", "with --ddl: the group `PATH`, as in h5dump")
	f.StringVarP(&o.datatype, "datatype", "t", "", "with --ddl: the named datatype `PATH`, as in h5dump")
	f.StringVarP(&o.attribute, "attribute", "a", "", "with --ddl: the attribute `PATH`/NAME, as in h5dump")
	for _, name := range []string{"group", "datatype", "attribute", "dataset", "start", "stride", "count", "block"} {
		if err := f.MarkHidden(name); err != nil {
			panic("cli: " + err.Error())
		}
	}
}

// object returns the file and the part of it to be written with --ddl: all of it, an object, a part
// of an object, or an attribute.
func (o *h5dumpFlags) object(args []string) (_ *ddlPlace, err error) {
	if err := o.unfold(); err != nil {
		return nil, err
	}
	path, flag := "", ""
	for _, x := range [][2]string{{"-d", o.dataset}, {"-g", o.group}, {"-t", o.datatype}, {"-a", o.attribute}} {
		switch {
		case x[1] == "":
		case flag != "" || len(args) > 1:
			return nil, usagef("%s %s: --ddl writes one object, or the whole file", x[0], x[1])
		default:
			flag, path = x[0], x[1]
		}
	}
	d := &ddlPlace{where: address(args)}
	if path != "" {
		d.where = address([]string{args[0], path})
	}
	location := d.where
	if flag != "-g" && flag != "-t" && flag != "-a" {
		location, d.selection = splitSelection(d.where)
	}
	if _, field := cutField(d.selection); field != "" {
		return nil, usagef("%s: DDL has whole structures; leave out .%s", d.where, field)
	}
	if d.region, err = o.region(); err != nil {
		return nil, err
	}
	loc, err := hyperslab.ParseLocation(location)
	if err != nil {
		return nil, err
	}
	d.file = loc.File
	if object := strings.Trim(loc.Object, "/"); object != "" {
		d.what.Object = "/" + object
	}
	switch {
	case d.region != nil && d.selection != "":
		return nil, usagef("%s has a selection already; leave out -s, -S, -c and -k", d.where)
	case (d.region != nil || d.selection != "") && (d.what.Object == "" || flag != "" && flag != "-d"):
		return nil, usagef("%s: a part is one of a dataset; name it with -d, or as FILE:/path", d.where)
	}
	if flag == "-a" {
		at := strings.LastIndex(d.what.Object, "/")
		if at < 0 || d.what.Object == "/" {
			return nil, usagef("-a %s: want the path of an object, a slash and the name of an attribute, for example /time/units", path)
		}
		d.what.Object, d.what.Attribute = d.what.Object[:at], d.what.Object[at+1:]
	}
	return d, nil
}

// ddlPlace is the object that --ddl writes.
type ddlPlace struct {
	where     string // as given
	file      string
	what      ddl.Options
	selection string     // in NumPy's notation; "" without a selection
	region    *h5.Region // from h5dump's flags; nil without them
}

// part converts the selection to h5dump's start, stride and count.
func (d *ddlPlace) part(f *h5.File) error {
	d.what.Part = d.region
	if d.selection == "" {
		return nil
	}
	s, err := ndarray.ParseSelection(d.selection)
	if err != nil {
		return usagef("%s: %w", d.where, err)
	}
	dataset, err := f.Root().OpenDataset(d.what.Object)
	if err != nil {
		return err
	}
	info, err := dataset.Info()
	if err = errors.Join(err, dataset.Close()); err != nil {
		return err
	}
	start, count, step, err := s.Steps(info.Space.Dims)
	if err != nil {
		return fmt.Errorf("%s: --ddl: %w", d.where, err)
	}
	for axis := range step {
		if count[axis] <= 1 {
			step[axis] = max(step[axis], 1)
		}
		if step[axis] < 0 {
			return fmt.Errorf("%s: --ddl: %w: axis %d: step %d; h5dump's STRIDE must be positive", d.where, errors.ErrUnsupported, axis, step[axis])
		}
	}
	d.what.Part = &h5.Region{Start: start, Stride: step, Count: count}
	return nil
}

// unfold splits h5dump's -d PATH[START;STRIDE;COUNT;BLOCK].
func (o *h5dumpFlags) unfold() error {
	at := strings.LastIndex(o.dataset, "[")
	if at < 0 || !strings.HasSuffix(o.dataset, "]") || !strings.Contains(o.dataset[at:], ";") {
		return nil
	}
	if o.start+o.stride+o.count+o.block != "" {
		return usagef("-d %s has a selection already; leave out -s, -S, -c and -k", o.dataset)
	}
	lists := strings.Split(o.dataset[at+1:len(o.dataset)-1], ";")
	if len(lists) > 4 {
		return usagef("-d %s: want [START;STRIDE;COUNT;BLOCK], for example /time[0,10;;1,5;]", o.dataset)
	}
	for i, flag := range []*string{&o.start, &o.stride, &o.count, &o.block} {
		if i < len(lists) {
			*flag = strings.TrimSpace(lists[i])
		}
	}
	if o.dataset = o.dataset[:at]; o.start+o.stride+o.count+o.block == "" {
		return usagef("-d %s[;;;]: no axis is given", o.dataset)
	}
	return nil
}

// region returns the region of -s, -S, -c and -k, with h5dump's defaults: one element at index 0.
// It returns nil without these flags.
func (o *h5dumpFlags) region() (*h5.Region, error) {
	lists := map[string][]int64{}
	axes := 0
	for _, given := range [][2]string{{"-s", o.start}, {"-S", o.stride}, {"-c", o.count}, {"-k", o.block}} {
		flag, text := given[0], given[1]
		if text == "" {
			continue
		}
		for part := range strings.SplitSeq(strings.Trim(text, `"`), ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
			if err != nil || n < 0 || n == 0 && flag != "-s" {
				return nil, usagef("%s %s: want a number for each axis, for example %s 0,10", flag, text, flag)
			}
			lists[flag] = append(lists[flag], n)
		}
		if axes != 0 && axes != len(lists[flag]) {
			return nil, usagef("%s %s: %d axes, another flag has %d", flag, text, len(lists[flag]), axes)
		}
		axes = len(lists[flag])
	}
	if axes == 0 {
		return nil, nil
	}
	list := func(flag string, otherwise int64) []int64 {
		if l := lists[flag]; l != nil {
			return l
		}
		return slices.Repeat([]int64{otherwise}, axes)
	}
	r := &h5.Region{Start: list("-s", 0), Stride: list("-S", 1), Count: list("-c", 1), Block: list("-k", 1)}
	for axis := range axes {
		start, stride, count, block := r.Start[axis], r.Stride[axis], r.Count[axis], r.Block[axis]
		switch {
		case start > math.MaxInt64-block || count-1 > (math.MaxInt64-block-start)/stride:
			return nil, usagef("axis %d: %d blocks of %d every %d from %d end beyond the largest dimension", axis, count, block, stride, start)
		case block > stride && count > 1:
			return nil, usagef("-k and -S: axis %d: blocks of %d every %d overlap", axis, block, stride)
		}
	}
	return r, nil
}

// address converts the flags to the equivalent address.
func (o *h5dumpFlags) address(args []string) (string, error) {
	if err := o.unfold(); err != nil {
		return "", err
	}
	if o.dataset != "" {
		if len(args) > 1 {
			return "", usagef("-d %s and %s are two objects; dump writes one", o.dataset, args[1])
		}
		args = []string{args[0], o.dataset}
	}
	for _, x := range [][2]string{{"-g", o.group}, {"-t", o.datatype}, {"-a", o.attribute}} {
		if x[1] != "" {
			return "", usagef("%s %s requires --ddl; without it dump writes the values of arrays", x[0], x[1])
		}
	}
	where := address(args)
	r, err := o.region()
	if err != nil || r == nil {
		return where, err
	}
	if _, selection := splitSelection(where); selection != "" {
		return "", usagef("%s has a selection already; leave out -s, -S, -c and -k", where)
	}
	parts := make([]string, len(r.Start))
	for axis := range parts {
		start, stride, count, block := r.Start[axis], r.Stride[axis], r.Count[axis], r.Block[axis]
		switch {
		case block == 1:
			parts[axis] = fmt.Sprintf("%d:%d:%d", start, start+(count-1)*stride+1, stride)
		case count == 1 || block == stride:
			parts[axis] = fmt.Sprintf("%d:%d", start, start+count*block)
		default:
			if count*block > 1<<20 {
				return "", usagef("axis %d: %d blocks of %d are more than a selection lists; write a slice", axis, count, block)
			}
			var list []string
			for i := range count {
				for k := range block {
					list = append(list, strconv.FormatInt(start+i*stride+k, 10))
				}
			}
			parts[axis] = "[" + strings.Join(list, ", ") + "]"
		}
	}
	return where + "[" + strings.Join(parts, ", ") + "]", nil
}
