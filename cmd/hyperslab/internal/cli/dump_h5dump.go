// The flags that people who know h5dump have in their fingers.

package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// h5dumpFlags are h5dump's -d -g -t -a -s -S -c -k, which say in another way what an
// address with a selection says; all but -d, -s, -S, -c and -k go with --ddl alone. They are
// not listed in the help.
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

// object finds out the file, and what of it is to be written with --ddl: all of it, an
// object, or an attribute.
func (o *h5dumpFlags) object(args []string) (file string, what *ddl.Options, err error) {
	path, flag := "", ""
	for _, x := range [][2]string{{"-d", o.dataset}, {"-g", o.group}, {"-t", o.datatype}, {"-a", o.attribute}} {
		switch {
		case x[1] == "":
		case flag != "" || len(args) > 1:
			return "", nil, usagef("%s %s: --ddl writes one object, or the whole file", x[0], x[1])
		default:
			flag, path = x[0], x[1]
		}
	}
	where := address(args)
	if path != "" {
		where = address([]string{args[0], path})
	}
	location, selection := splitSelection(where)
	if selection != "" || strings.Contains(path, "[") || o.start+o.stride+o.count+o.block != "" {
		return "", nil, usagef("%s: %w: --ddl with a selection; it writes all elements, or with --header none", where, errors.ErrUnsupported)
	}
	loc, err := formats.ParseLocation(location)
	if err != nil {
		return "", nil, err
	}
	what = &ddl.Options{}
	if object := strings.Trim(loc.Object, "/"); object != "" {
		what.Object = "/" + object
	}
	if flag == "-a" {
		at := strings.LastIndex(what.Object, "/")
		if at < 0 || what.Object == "/" {
			return "", nil, usagef("-a %s: want the path of an object and behind a slash the name of an attribute, for example /time/units", path)
		}
		what.Object, what.Attribute = what.Object[:at], what.Object[at+1:]
	}
	return loc.File, what, nil
}

// address turns the flags into the address that means the same.
func (o *h5dumpFlags) address(args []string) (string, error) {
	if o.dataset != "" {
		if len(args) > 1 {
			return "", usagef("-d %s and %s are two objects; dump writes one", o.dataset, args[1])
		}
		args = []string{args[0], o.dataset}
	}
	for _, x := range [][2]string{{"-g", o.group}, {"-t", o.datatype}, {"-a", o.attribute}} {
		if x[1] != "" {
			return "", usagef("%s %s goes with --ddl; without it dump writes the values of arrays", x[0], x[1])
		}
	}
	where := address(args)
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
				return "", usagef("%s %s: want a number for each axis, for example %s 0,10", flag, text, flag)
			}
			lists[flag] = append(lists[flag], n)
		}
		if axes != 0 && axes != len(lists[flag]) {
			return "", usagef("%s %s: %d axes, another flag has %d", flag, text, len(lists[flag]), axes)
		}
		axes = len(lists[flag])
	}
	if axes == 0 {
		return where, nil
	}
	if _, selection := splitSelection(where); selection != "" {
		return "", usagef("%s has a selection already; leave out -s, -S, -c and -k", where)
	}
	value := func(flag string, axis int, otherwise int64) int64 {
		if l := lists[flag]; l != nil {
			return l[axis]
		}
		return otherwise
	}
	parts := make([]string, axes)
	for axis := range parts {
		start, block := value("-s", axis, 0), value("-k", axis, 1)
		stride, count := value("-S", axis, 1), value("-c", axis, 1)
		switch {
		case start > math.MaxInt64-block || count-1 > (math.MaxInt64-block-start)/stride:
			return "", usagef("axis %d: %d blocks of %d every %d behind %d end beyond every axis", axis, count, block, stride, start)
		case block > stride && count > 1:
			return "", usagef("-k and -S: axis %d: blocks of %d every %d overlap", axis, block, stride)
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
