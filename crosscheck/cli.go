// Programs that print an object as JSON or as a .npy file.

package crosscheck

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/npy"
)

// cliOutput is the number of bytes up to which the output of a program is read.
const cliOutput = 64 << 20

// cliUnsupported is the exit status of a program that does not support a case.
const cliUnsupported = "exit status 77"

// runCLI runs the CLI command for one case, and reports false if the program does not support it.
func runCLI(ctx context.Context, dir string, c Case, out string, o *RunOptions) (Result, bool) {
	res := Result{Case: c.ID, Area: c.Area, Direction: Reading}
	in, err := filepath.Abs(filepath.Join(dir, filepath.FromSlash(c.Path)))
	if err != nil {
		return Judge(dir, c, nil, err), true
	}
	object := c.Object
	if c.Area == "metalayer" {
		object = c.Params["name"]
	}
	line := fmt.Sprintf("ulimit -f %d || exit 125\n(\n%s\n) >{out}", cliOutput/512, o.CLI)
	done := execute(ctx, o, line, map[string]string{"{path}": in, "{out}": out, "{object}": object, "{area}": c.Area}, &res)
	info, err := os.Stat(out)
	switch {
	case err == nil && info.Size() >= cliOutput:
		res.Verdict, res.Detail = Wrong, fmt.Sprintf("more than %d MiB of output", cliOutput>>20)
		return res, true
	case !done && strings.HasPrefix(res.Detail, cliUnsupported):
		return res, false
	case !done && res.Verdict != Refused:
		return res, true
	case !done:
		err = errors.New(res.Detail)
	}
	var got []byte
	if err == nil && c.Must == Accept {
		if got, err = os.ReadFile(out); err == nil {
			if got, err = printed(dir, c, got); errors.Is(err, errors.ErrUnsupported) {
				return res, false
			} else if err != nil {
				res.Verdict, res.Detail = Wrong, err.Error()
				return res, true
			}
		}
	}
	judged := Judge(dir, c, got, err)
	judged.Time = res.Time
	return judged, true
}

// printed returns the stored elements for the output of a program.
func printed(dir string, c Case, b []byte) ([]byte, error) {
	if bytes.HasPrefix(b, []byte(npy.Magic)) {
		return printedNPY(dir, c, b)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return nil, fmt.Errorf("the output is neither .npy nor JSON, where NaN and Infinity are strings: %w", err)
	}
	if m, is := v.(map[string]any); is {
		if text, is := m["base64"].(string); is {
			return base64.StdEncoding.DecodeString(text)
		}
		if v, is = m["values"]; !is {
			return nil, errors.New("the output is an object without base64 and values")
		}
	}
	if v == nil { // the values of a null dataspace
		v = []any{}
	}
	if err := judgeable(dir, c); err != nil {
		return nil, err
	}
	flat, err := flatten(nil, v)
	if err != nil {
		return nil, err
	}
	return elementsOf(dir, c, flat)
}

// judgeable returns errors.ErrUnsupported for elements of a type that JSON has no numbers for:
// these are compared as .npy and base64 only.
func judgeable(dir string, c Case) error {
	dtype := c.Decoded.DType
	if dtype == "" && c.Area == "hdf5" {
		if _, name, err := hdf5Numbers(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object); err != nil || name != "" {
			return err
		}
	} else if dtype == "" || numeric(dtype, c.Decoded.Item) {
		return nil
	}
	return fmt.Errorf("values of elements of dtype %q: %w", dtype, errors.ErrUnsupported)
}

// flatten appends the numbers of nested arrays as text.
func flatten(to []string, v any) (_ []string, err error) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if to, err = flatten(to, e); err != nil {
				return nil, err
			}
		}
		return to, nil
	case json.Number:
		return append(to, v.String()), nil
	case string:
		return append(to, v), nil
	case bool:
		return append(to, strconv.Itoa(btoi(v))), nil
	}
	return nil, fmt.Errorf("the output contains %v, want numbers", v)
}

// printedNPY returns the stored elements for a .npy file. Elements of the same type in another byte
// order are reversed, and other numbers are compared by value.
func printedNPY(dir string, c Case, b []byte) ([]byte, error) {
	a, err := npy.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	if a.Fortran && len(a.Shape) > 1 {
		return nil, errors.New("the elements are in Fortran order")
	}
	descr, err := npy.Descr(a.DType)
	if err != nil {
		return nil, err
	}
	descr = strings.Trim(descr, "'")
	data, want, isNumber := b[a.Offset:], c.Decoded.DType, numeric(descr, a.DType.Size)
	if want == "" && c.Area == "hdf5" {
		if !isNumber || errors.Is(judgeable(dir, c), errors.ErrUnsupported) {
			return storedOf(dir, c, &a, data)
		}
	}
	if !slices.Equal(a.Shape, c.Decoded.Shape) {
		return nil, fmt.Errorf("shape: got %v, want %v", a.Shape, c.Decoded.Shape)
	}
	switch {
	case descr == want || want == "" && c.Area != "hdf5":
		return data, nil
	case len(want) > 1 && descr[1:] == want[1:]:
		return fromLittle(fromLittle(data, descr, c.Decoded.Item), want, c.Decoded.Item), nil
	case !isNumber:
		return nil, fmt.Errorf("dtype: got %s, want %s", descr, want)
	}
	var flat []string
	for i := 0; i+a.DType.Size <= len(data); i += a.DType.Size {
		flat = append(flat, fmt.Sprint(jsonNumber(data[i:i+a.DType.Size], descr)))
	}
	return elementsOf(dir, c, flat)
}

// storedOf returns the stored elements for a .npy file of an HDF5 type that has no name in NumPy,
// for example a compound. The numbers may be in the order of the file or little-endian, and
// dimensions of the type follow the shape. It returns errors.ErrUnsupported for other elements than
// the stored ones if NumPy does not have the type.
func storedOf(dir string, c Case, a *npy.Array, data []byte) ([]byte, error) {
	if n := len(c.Decoded.Shape); len(a.Shape) < n || !slices.Equal(a.Shape[:n], c.Decoded.Shape) {
		return nil, fmt.Errorf("shape: got %v, want %v", a.Shape, c.Decoded.Shape)
	}
	stored, err := Decode(dir, c)
	if err != nil || bytes.Equal(data, stored) {
		return data, err
	}
	little, err := hdf5Little(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object, stored)
	switch {
	case err != nil:
		return nil, err
	case little == nil:
		return nil, fmt.Errorf(".npy of a type that NumPy does not have: %w", errors.ErrUnsupported)
	case bytes.Equal(data, little):
		return stored, nil
	}
	return data, nil
}

// elementsOf returns the stored elements for numbers. An equal number becomes the element of the
// reference, any other number its complement, so that it counts as a difference.
func elementsOf(dir string, c Case, flat []string) ([]byte, error) {
	size, dtype := c.Decoded.Item, c.Decoded.DType
	if dtype == "" && c.Area == "hdf5" {
		return convertedElements(dir, c, flat)
	}
	if !numeric(dtype, size) {
		return nil, fmt.Errorf("numbers for elements of dtype %q: want .npy or base64", dtype)
	}
	want, err := Decode(dir, c)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(flat)*size)
	for i, text := range flat {
		if (i+1)*size > len(want) {
			out = append(out, make([]byte, size)...)
			continue
		}
		e := slices.Clone(want[i*size : (i+1)*size])
		if !sameNumber(text, fmt.Sprint(jsonNumber(e, dtype)), single(dtype, size)) {
			for k := range e {
				e[k] = ^e[k]
			}
		}
		out = append(out, e...)
	}
	return out, nil
}

// convertedElements returns the stored elements for numbers of a type that NumPy does not have, for
// example integers with padding, if they are those of the reference, and otherwise the complement.
func convertedElements(dir string, c Case, flat []string) ([]byte, error) {
	numbers, dtype, err := hdf5Numbers(filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object)
	if err != nil {
		return nil, err
	}
	if dtype == "" {
		return nil, errors.New("numbers for elements without a dtype: want .npy or base64")
	}
	want, err := Decode(dir, c)
	if err != nil {
		return nil, err
	}
	right := len(flat) == len(numbers)/8
	for i := 0; right && i < len(flat); i++ {
		right = sameNumber(flat[i], fmt.Sprint(jsonNumber(numbers[8*i:8*i+8], dtype)), single(dtype, c.Decoded.Item))
	}
	if right {
		return want, nil
	}
	for i := range want {
		want[i] = ^want[i]
	}
	return want, nil
}

// sameNumber reports whether two strings are the same number, or float32 if single is true.
func sameNumber(got, want string, single bool) bool {
	if got == want {
		return true
	}
	if x, is := new(big.Int).SetString(got, 10); is {
		if y, is := new(big.Int).SetString(want, 10); is {
			return x.Cmp(y) == 0
		}
	}
	x, err := strconv.ParseFloat(got, 64)
	y, werr := strconv.ParseFloat(want, 64)
	if err != nil || werr != nil {
		return false
	}
	if single {
		return float32(x) == float32(y)
	}
	return x == y && !(strings.ContainsAny(got, ".eE") && !strings.ContainsAny(want, ".eE") && (y >= 1<<53 || y <= -(1<<53)))
}
