package cf_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// weather creates a directory of arrays with packed temperatures at two times, and returns its
// tree.
func weather(ctx context.Context, dir string) (*hyperslab.Tree, error) {
	save := func(name string, spec ndarray.Spec, write func(*ndarray.Array) error) error {
		d, err := hyperslab.Create(ctx, filepath.Join(dir, name+".b2nd"), spec, nil)
		if err != nil {
			return err
		}
		if err := write(d.Array); err != nil {
			return err
		}
		return d.Commit(ctx)
	}
	err := save("time", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int32](), Attrs: []ndarray.Attr{
		{Name: "units", Value: ndarray.Text("days since 2000-02-28")}, {Name: "calendar", Value: ndarray.Text("noleap")},
	}}, func(a *ndarray.Array) error { return ndarray.Write(ctx, a, []int32{0, 1}, ndarray.Whole(a.Shape())) })
	if err != nil {
		return nil, err
	}
	err = save("t2m", ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int16](), AxisNames: []string{"time"}, Attrs: []ndarray.Attr{
		{Name: "scale_factor", Value: ndarray.Scalar(0.01)}, {Name: "add_offset", Value: ndarray.Scalar(273.15)},
		{Name: "_FillValue", Value: ndarray.Scalar[int16](-32768)}, {Name: "units", Value: ndarray.Text("K")},
	}}, func(a *ndarray.Array) error {
		return ndarray.Write(ctx, a, []int16{1000, -32768}, ndarray.Whole(a.Shape()))
	})
	if err != nil {
		return nil, err
	}
	return hyperslab.OpenTree(ctx, dir, nil)
}

// The values of a packed variable, with the marks of the missing ones, and its coordinates.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cf")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	tree, err := weather(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()

	v, err := cf.Open(ctx, tree, "/t2m")
	if err != nil {
		log.Fatal(err)
	}
	defer v.Close()
	values, err := v.Values(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer values.Close()
	kelvin, err := ndarray.ReadAll[float64](ctx, values)
	if err != nil {
		log.Fatal(err)
	}
	missing := make([]bool, 2)
	if err := values.ReadNulls(ctx, missing, ndarray.Whole(values.Shape())); err != nil {
		log.Fatal(err)
	}
	fmt.Println(kelvin, v.Units, missing)

	coordinates, err := v.Coords(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range coordinates {
		dates, err := c.Dates(ctx, ndarray.Whole(c.Array.Shape()))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(c.Path, c.Dims, c.Axis, dates[1])
	}
	// Output:
	// [283.15 NaN] K [false true]
	// /time [0] T 2000-03-01T00:00:00.000000
}

// An array that is open has a meaning too. Without a tree it has no coordinates.
func ExampleNew() {
	ctx := context.Background()
	a, err := inMemory(ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int64](), Attrs: []ndarray.Attr{
		{Name: "units", Value: ndarray.Text("hours since 2024-01-01")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	if err := ndarray.Write(ctx, a, []int64{36}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	v, err := cf.New(ctx, a, nil, "/time")
	if err != nil {
		log.Fatal(err)
	}
	times, err := v.Times(ctx, ndarray.Whole(a.Shape()))
	fmt.Println(times, err)
	// Output: [2024-01-02 12:00:00 +0000 UTC] <nil>
}

// Of returns the variable of an array of values, for example to format its dates.
func ExampleOf() {
	ctx := context.Background()
	a, err := inMemory(ndarray.Spec{Shape: []int64{1}, DType: ndarray.DTypeOf[int16](), Attrs: []ndarray.Attr{
		{Name: "units", Value: ndarray.Text("days since 2001-02-28")}, {Name: "calendar", Value: ndarray.Text("360_day")},
		{Name: "scale_factor", Value: ndarray.Text("broken")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	v, err := cf.New(ctx, a, nil, "/time")
	if err != nil {
		log.Fatal(err)
	}
	values, err := v.Values(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer values.Close()
	texts, err := cf.Of(values).Formatter(ctx, ndarray.Whole(a.Shape()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(texts(0))
	for _, w := range v.Warnings() {
		fmt.Println(w)
	}
	// Output:
	// 2001-02-28T00:00:00.000000
	// attribute scale_factor: got a string, want a number
}
