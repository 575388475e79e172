// Fields of type time.Time that are stored as integers.

package ndarray

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab/internal/elements/structconv"
)

// units are the names of the units of the CF conventions.
var units = map[string]string{"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}

// unixUnit returns the unit of a field whose times are stored as integers since 1970. It returns
// ErrType for an invalid tag.
func unixUnit(f structconv.Field) (unit TimeUnit, ok bool, err error) {
	text, ok := strings.CutPrefix(f.Options, "unix")
	if !ok {
		return unit, false, nil
	}
	name := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if units[name] == "" || text != "["+name+"]" || f.Type != reflect.TypeFor[time.Time]() {
		return unit, false, fmt.Errorf("%w: field %s: got tag %q of a %v, want unix[s], unix[ms], unix[us] or unix[ns] of a time.Time", ErrType,
			f.StructField.Name, f.Options, f.Type)
	}
	return TimeUnit{Name: name, Count: 1}, true, nil
}

// AttrsFor returns the attributes for Spec.Attrs of an array of structs T: for each field of type
// time.Time with the tag unix[…] its units in the form of the CF conventions, for example
// "microseconds since 1970-01-01". The attribute has the name that PyTables gives the attribute
// units of a column, for example FIELD_2_ATTR_units. pandas.to_datetime converts the integers.
//
// It returns ErrType if T is no struct, and the errors of DTypeFor.
func AttrsFor[T any]() ([]Attr, error) {
	t := reflect.TypeFor[T]()
	d, err := DTypeFor[T]()
	if err == nil && d.Kind != Struct {
		err = fmt.Errorf("%w: got Go %v, want a struct", ErrType, t)
	}
	if err != nil {
		return nil, err
	}
	var attrs []Attr
	for _, f := range structFields(t) {
		unit, ok, err := unixUnit(f)
		if err != nil {
			return nil, err
		}
		if ok {
			i := slices.IndexFunc(d.Fields, func(field Field) bool { return field.Name == f.Name })
			attrs = append(attrs, Attr{Name: fmt.Sprintf("FIELD_%d_ATTR_units", i), Value: Text(units[unit.Name] + " since 1970-01-01")})
		}
	}
	return attrs, nil
}
