// The .npy format (NumPy Enhancement Proposal 1): a header in Python syntax, then the elements.

package shell

import (
	"bufio"
	"cmp"
	"context"
	"errors"

	"github.com/hyperslab/hyperslab/internal/format/npy"
	"github.com/hyperslab/hyperslab/ndarray"
)

// DumpNPY writes a .npy file with the elements in this machine's byte order.
func DumpNPY(ctx context.Context, w *bufio.Writer, arr *ndarray.Array, progress func(bytes int64)) error {
	m := arr.Meta()
	head, err := NPYHeader(m)
	if err == nil {
		err = noNulls(ctx, arr, ".npy")
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return EachBlock(ctx, arr, OutputBlock, progress, func(_ ndarray.Region, e *Batch) error {
		_, err := w.Write(e.Data)
		return err
	})
}

// NPYHeader returns everything before the elements of a .npy file.
func NPYHeader(m ndarray.Meta) ([]byte, error) {
	if m.DType.Size == 0 || m.Null {
		what := "elements of variable size"
		if m.Null {
			what = "an array without a shape"
		}
		return nil, Usagef("%s: %w: .npy cannot store %s; use --json", cmp.Or(m.Path, "the array"), errors.ErrUnsupported, what)
	}
	head, err := npy.Header(m.DType.Native(), m.Shape)
	if err != nil {
		err = Usagef("%s: %w; use --json", cmp.Or(m.Path, "the array"), err)
	}
	return head, err
}
