// Program remote reads a region of an array at a URL. It serves the file itself, on this machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

func main() {
	ctx := context.Background()
	server := httptest.NewServer(http.FileServer(http.Dir("testdata")))
	defer server.Close()
	url := server.URL + "/etopo120.h5"

	_, err := hyperslab.Open(ctx, url+":/ROSE", nil)
	fmt.Println(errors.Is(err, remote.ErrRefused)) // 127.0.0.1 is a private address

	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true, Parallel: 8})
	for e, err := range hyperslab.Walk(ctx, url, nil) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Kind == hyperslab.Array {
			fmt.Println(e.Path, e.Meta.Shape)
		}
	}
	a, err := hyperslab.Open(ctx, url+":/ROSE", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	depth := make([]float32, 3)
	if err := ndarray.Read(ctx, a, depth, ndarray.Region{Start: []int64{45, 100}, Shape: []int64{1, 3}}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(depth, remote.DefaultClient.Stats().Requests)
}
