// Elements as Encode writes them.

package ways

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// encoded returns the method that reads the output of an encoder of a view.
func encoded(format hyperslab.Format, fill func(a *Array, r ndarray.Region, d ndarray.DType, dst, document []byte) error) func(context.Context, *ndarray.Array, *Array, ndarray.Region, []byte) error {
	return func(ctx context.Context, x *ndarray.Array, a *Array, r ndarray.Region, dst []byte) (err error) {
		s, _ := selection(r, a.Shape, spans)
		v, err := ndarray.View(x, s)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, v.Close()) }()
		e, err := hyperslab.NewEncoder(ctx, v, format, nil)
		if err != nil {
			return err
		}
		document, err := io.ReadAll(io.LimitReader(e, 100)) // a part by Read, the rest by WriteTo
		if err != nil {
			return err
		}
		rest := bytes.NewBuffer(document)
		if _, err := e.WriteTo(rest); err != nil {
			return err
		}
		return fill(a, r, x.DType(), dst, rest.Bytes())
	}
}

// fillNPY is FillNPY for encoded.
func fillNPY(_ *Array, _ ndarray.Region, _ ndarray.DType, dst, document []byte) error {
	return FillNPY(dst, document)
}

// fillJSON is FillJSON for encoded.
func fillJSON(a *Array, r ndarray.Region, d ndarray.DType, dst, document []byte) error {
	return FillJSON(a, r, d, dst, document, "")
}

// FillLines fills dst with the elements of a region, which have a line of JSON for each index of
// the first dimension.
func FillLines(a *Array, r ndarray.Region, d ndarray.DType, dst, document []byte) error {
	if len(a.Shape) > 0 {
		document = []byte("[" + strings.Join(strings.Split(strings.TrimSpace(string(document)), "\n"), ",") + "]")
	}
	return FillJSON(a, r, d, dst, document, "")
}
