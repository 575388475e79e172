// Values of stored elements by the CF conventions.

package shell

import (
	"context"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/cf"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Meant returns arr with the values of its elements by the CF conventions, and a description of the
// attributes that apply. It returns arr itself and "" if the elements are the values. Closing the
// result leaves arr open, unless it is arr.
func Meant(ctx context.Context, arr *ndarray.Array, o cf.Options) (*ndarray.Array, string, error) {
	attrs, err := AttrsOf(ctx, arr)
	if err != nil {
		return nil, "", err
	}
	values, applied, err := cf.Unpack(arr, attrs, o)
	if values == nil && err == nil {
		values = arr
	}
	return values, applied, err
}

// NoteUndated reports the numbers of times that are printed as NaT because they are no dates.
func (a *App) NoteUndated(values *ndarray.Array) {
	p, ok := ndarray.As[cf.Printer](values.Backend())
	if !ok {
		return
	}
	u := p.Undated()
	var parts []string
	if u.NaN > 0 {
		parts = append(parts, term.Plural(u.NaN, "element")+" NaN or infinite")
	}
	if u.Outside > 0 {
		parts = append(parts, term.Plural(u.Outside, "element")+" out of range")
	}
	if len(parts) > 0 {
		a.Note("%s no dates, printed as NaT: %s; the first one is %s", a.Talk.Notice("hyperslab dump:"), strings.Join(parts, ", "),
			IndexText(u.First))
	}
}
