package textview

import (
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// Fill returns the fill value of a dataset of variable strings, which ndarray.Spec does not have.
// "" is also the default.
func Fill(d *h5.Dataset) (string, error) {
	info, err := d.Info()
	if err != nil || info.FillKind != h5.FillValue || info.Datatype.Class != h5.String || !info.Datatype.Variable {
		return "", err
	}
	fill, err := h5value.Decode[string](info.FillValues)
	return strings.Join(fill, ""), err
}
