package h5value

import (
	"reflect"

	"github.com/hyperslab/hyperslab/h5"
)

// NaturalType returns the Go type that Read uses for the empty interface.
func NaturalType(t h5.Datatype) (reflect.Type, error) { return natural(&t, 0) }
