// Program tree lists the objects of a file with their attributes.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/hyperslab/hyperslab"
)

func main() {
	ctx := context.Background()
	tree, err := hyperslab.OpenTree(ctx, "testdata/etopo120.h5", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for e, err := range tree.Walk(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		switch e.Kind {
		case hyperslab.Group:
			fmt.Println(e.Path)
		case hyperslab.Array:
			fmt.Println(e.Path, e.Meta.Shape, e.Meta.DType, e.Meta.AxisNames)
			if err := units(ctx, tree, e.Path); err != nil {
				log.Fatal(err)
			}
		}
	}
}

// units prints the attribute "units" of an array.
func units(ctx context.Context, tree *hyperslab.Tree, path string) error {
	a, err := tree.Open(ctx, path)
	if err != nil {
		return err
	}
	defer a.Close()
	attrs, err := a.Attrs(ctx)
	if v, ok := attrs.Get("units"); ok {
		fmt.Println("   units:", v)
	}
	return err
}
