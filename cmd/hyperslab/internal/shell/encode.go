// Output of elements for programs, with the advice of the command in its errors.

package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/encode"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Encode writes the elements of an array to w.
func Encode(ctx context.Context, w io.Writer, arr *ndarray.Array, o *encode.Options) error {
	if o.Format == encode.NPY {
		if _, err := NPYHeader(arr.Meta()); err != nil {
			return err
		}
	}
	e, err := encode.New(ctx, arr, o)
	if nulls, ok := errors.AsType[*encode.NullError](err); ok {
		return &ndarray.Error{Op: "dump", Path: arr.Meta().Path, Err: fmt.Errorf("%w: %s in .npy; --json and --csv have null elements",
			errors.ErrUnsupported, term.Plural(nulls.N, "null element"))}
	}
	if err == nil {
		_, err = e.WriteTo(w)
	}
	return err
}

// NPYHeader returns everything before the elements of a .npy file.
func NPYHeader(m ndarray.Meta) ([]byte, error) {
	head, err := encode.NPYHeader(m)
	if err != nil {
		err = Usagef("%s: %w; use --json", cmp.Or(m.Path, "the array"), err)
	}
	return head, err
}
