// The object that dump --ddl writes.

package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/ddl"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// ddlPlace is the object that --ddl writes.
type ddlPlace struct {
	where     string // as given
	file      string
	what      ddl.Options
	selection string // in NumPy's notation; "" without a selection
}

// parseDDL returns the file and the part of it that the arguments name: all of it, an object, or a
// part of a dataset.
func parseDDL(args []string) (*ddlPlace, error) {
	d := &ddlPlace{where: shell.Address(args)}
	var location string
	location, d.selection = shell.SplitSelection(d.where)
	if _, field := shell.CutField(d.selection); field != "" {
		return nil, shell.Usagef("%s: DDL has whole structures; leave out .%s", d.where, field)
	}
	loc, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	d.file = loc.File
	if object := strings.Trim(loc.Object, "/"); object != "" {
		d.what.Object = "/" + object
	}
	if d.selection != "" && d.what.Object == "" {
		return nil, shell.Usagef("%s: a selection is a part of a dataset; name it, as FILE:/path[...]", d.where)
	}
	return d, nil
}

// part converts the selection to h5dump's start, stride and count.
func (d *ddlPlace) part(f *h5.File) error {
	if d.selection == "" {
		return nil
	}
	s, err := ndarray.ParseSelection(d.selection)
	if err != nil {
		return shell.Usagef("%s: %w", d.where, err)
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
			return fmt.Errorf("%s: --ddl: %w: axis %d: step %d; h5dump's STRIDE must be positive", d.where, errors.ErrUnsupported, axis,
				step[axis])
		}
	}
	d.what.Part = &h5.Region{Start: start, Stride: step, Count: count}
	return nil
}
