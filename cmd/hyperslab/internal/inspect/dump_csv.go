// dump --csv: names of columns, and header lines of several arrays.

package inspect

import (
	"bufio"
	"context"
	"path"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// dumpCSV writes the elements as CSV. An array after another one has no header line if it is the
// same.
func (j *dumpJob) dumpCSV(ctx context.Context, w *bufio.Writer, address string, arr *ndarray.Array, o *encode.Options) error {
	o.Format = encode.CSV
	o.Table = encode.Table{NoHeader: j.noHeader, Index: j.index, Safe: j.csvSafe, Name: columnName(address)}
	if j.columns != nil {
		o.Table.Columns = j.columns
	}
	if m := arr.Meta(); !o.Table.NoHeader && !m.Null {
		head := encode.Header(m, &o.Table)
		o.Table.NoHeader, j.before = head == j.before, head
	}
	return shell.Encode(ctx, w, arr, o)
}

// columnName returns the name of an array with one column: its field, its name in the file, or
// "value".
func columnName(address string) string {
	location, text := shell.SplitSelection(address)
	if _, field := shell.CutField(text); field != "" {
		return field
	}
	if loc, err := locate.Parse(location); err == nil && strings.Trim(loc.Object, "/") != "" {
		return path.Base(loc.Object)
	}
	return "value"
}
