// Encoding of errors. An error crosses the pipe with its text, the sentinels that it wraps and the
// values of its registered types, so errors.Is and errors.As work in the host.

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/errs"
)

var errorType = reflect.TypeFor[error]()

// maxErrorText is the maximum length in bytes of a string in an encoded error.
const maxErrorText = 64 << 10

// RemoteError is an error of a worker: its text, the sentinels that it wrapped there,
// and copies of the errors of registered types that it wrapped.
type RemoteError struct {
	Text      string
	Sentinels []error
	Values    []error
}

func (e *RemoteError) Error() string { return e.Text }

// Unwrap returns the sentinels and the values.
func (e *RemoteError) Unwrap() []error { return slices.Concat(e.Values, e.Sentinels) }

// sentinels returns the errors for which errors.Is works in the host when a service's error wraps
// them: those of package errs and some of the standard library. The order is the same in the host
// and in the worker.
var sentinels = sync.OnceValue(func() []error {
	return append([]error{
		errors.ErrUnsupported, fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrExist, io.ErrUnexpectedEOF, io.EOF,
		context.Canceled, context.DeadlineExceeded,
	}, errs.All()...)
})

// RegisterErrorTypes registers the types of the examples, for which errors.As works in the host
// when a service's error wraps a value of the type. It must be called in init functions. It panics
// if Encode does not support the type.
func RegisterErrorTypes(examples ...error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	for _, x := range examples {
		t := reflect.TypeOf(x)
		if slices.Contains(registry.types, t) {
			continue
		}
		base := t
		if t.Kind() == reflect.Pointer {
			base = t.Elem()
		}
		(&encoder{inError: true}).value(reflect.Zero(base)) // panics for an unsupported type
		registry.types = append(registry.types, t)
	}
}

// registered returns the types. No init function runs any more, so the list no longer changes.
func registered() []reflect.Type {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	return registry.types
}

func shownText(s string, names *strings.Replacer) string {
	if names != nil {
		s = names.Replace(s)
	}
	return s[:min(len(s), maxErrorText)]
}

// error encodes an error: 0 for nil, otherwise 1, its text, the indexes of its sentinels, and the
// type and value of each registered error in it. The values contain their own causes.
func (e *encoder) error(err error) {
	if err == nil {
		e.uvarint(0)
		return
	}
	was := e.inError
	e.inError = true
	defer func() { e.inError = was }()
	e.uvarint(1)
	e.string(err.Error())
	types := registered()
	var kinds []uint16
	for i, s := range sentinels() {
		if errors.Is(err, s) {
			kinds = append(kinds, uint16(i))
		}
	}
	e.value(reflect.ValueOf(kinds))
	values := valuesOf(err, types, nil)
	e.uvarint(uint64(len(values)))
	for _, x := range values {
		v := reflect.ValueOf(x)
		e.uvarint(uint64(slices.Index(types, v.Type())))
		e.value(v)
	}
}

// valuesOf appends the outermost errors of registered types in err.
func valuesOf(err error, types []reflect.Type, values []error) []error {
	t := reflect.TypeOf(err)
	if slices.Contains(types, t) && !(t.Kind() == reflect.Pointer && reflect.ValueOf(err).IsNil()) {
		return append(values, err)
	}
	switch x := err.(type) {
	case *RemoteError: // of another worker, or decoded before
		values = append(values, x.Values...)
	case interface{ Unwrap() error }:
		if next := x.Unwrap(); next != nil {
			values = valuesOf(next, types, values)
		}
	case interface{ Unwrap() []error }:
		for _, next := range x.Unwrap() {
			values = valuesOf(next, types, values)
		}
	}
	return values
}

// error decodes an error that encoder.error encoded in a worker of the same binary.
func (d *decoder) error(depth int) error {
	switch n := d.uvarint(); {
	case n == 0 || d.err != nil:
		return nil
	case n > 1:
		d.fail("error %d", n)
		return nil
	}
	e := &RemoteError{}
	var kinds []uint16
	d.value(reflect.ValueOf(&e.Text).Elem(), depth+1)
	d.value(reflect.ValueOf(&kinds).Elem(), depth+1)
	types := registered()
	for _, k := range kinds {
		if int(k) >= len(sentinels()) {
			d.fail("sentinel %d of %d", k, len(sentinels()))
			return nil
		}
		e.Sentinels = append(e.Sentinels, sentinels()[k])
	}
	for range d.uvarint() {
		k := d.uvarint()
		if d.err == nil && k >= uint64(len(types)) {
			d.fail("error type %d of %d", k, len(types))
		}
		if d.err != nil {
			return nil
		}
		v := reflect.New(types[k]).Elem()
		d.value(v, depth+1)
		if d.err != nil {
			return nil
		}
		x, err := usable(v)
		if err != nil {
			d.fail("%v", err)
			return nil
		}
		e.Values = append(e.Values, x)
	}
	return e
}

// usable returns a decoded error if its methods work, because a worker may omit fields that the
// type requires.
func usable(v reflect.Value) (_ error, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("invalid error of type %v: %v", v.Type(), r)
		}
	}()
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("nil error of type %v", v.Type())
	}
	x := v.Interface().(error)
	_, _ = fmt.Sprintf("%+v", x), errors.Is(x, ErrClosed)
	return x, nil
}

// encodeError encodes the error of a call in a frame. If the values of a large error do not fit, it
// sends the text and the sentinels.
func encodeError(err error, names *strings.Replacer) []byte {
	b := Encode(struct{ Err error }{err}, names)
	if len(b) > maxFrame {
		short := &RemoteError{Text: err.Error()}
		for _, s := range sentinels() {
			if errors.Is(err, s) {
				short.Sentinels = append(short.Sentinels, s)
			}
		}
		b = Encode(struct{ Err error }{short}, names)
	}
	return b
}

// Renamed returns err as a RemoteError in which names has replaced parts of its strings.
func Renamed(err error, names *strings.Replacer) error {
	if err == nil {
		return nil
	}
	return decodeError(encodeError(err, names))
}

func decodeError(b []byte) error {
	var x struct{ Err error }
	if err := Decode(b, &x); err != nil {
		return err
	}
	if x.Err == nil {
		return fmt.Errorf("%w: an error without text", ErrProtocol)
	}
	return x.Err
}
