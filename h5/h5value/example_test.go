package h5value_test

import (
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

func ExampleRead_structs() {
	f, err := h5.CreateImage(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	type event struct {
		Time  int64     `h5:"time"`
		Where string    `h5:"where"`
		Hits  []float32 `h5:"hits"`
	}
	dt, err := h5value.DatatypeFor[event]()
	if err != nil {
		log.Fatal(err)
	}
	d, err := f.Root().CreateDataset("events", dt, h5.SimpleSpace(2), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := h5value.Write(d, []event{{10, "west", []float32{1, 2}}, {11, "Süd", nil}}, h5.All); err != nil {
		log.Fatal(err)
	}
	places, err := h5value.ReadAll[struct {
		Where string `h5:"where"`
	}](d)
	fmt.Println(places, err)
	records, err := h5value.ReadAll[h5value.Record](d)
	fmt.Println(records[0], err)
	// Output:
	// [{west} {Süd}] <nil>
	// [{time 10} {where west} {hits [1 2]}] <nil>
}

func ExampleReadAttr() {
	f, err := h5.CreateImage(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	type origin struct {
		Station string    `h5:"station"`
		At      []float32 `h5:"at"`
	}
	if err := h5value.WriteAttr(f.Root(), "origin", []origin{{"Zürich", []float32{47.4, 8.5}}}); err != nil {
		fmt.Println(err)
		return
	}
	back, err := h5value.ReadAttr[origin](f.Root(), "origin")
	fmt.Println(back, err)
	record, err := h5value.ReadAttr[any](f.Root(), "origin")
	fmt.Println(record, err)
	// Output:
	// [{Zürich [47.4 8.5]}] <nil>
	// [[{station Zürich} {at [47.4 8.5]}]] <nil>
}
