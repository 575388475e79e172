package serve_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// Serve a directory with one array and request a part of the array.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	a, err := hyperslab.Create(ctx, filepath.Join(dir, "grid.b2nd"), ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[int32]()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := ndarray.Write(ctx, a.Array, []int32{1, 2, 3, 4, 5, 6}, ndarray.Whole(a.Shape())); err != nil {
		log.Fatal(err)
	}
	if err := a.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	if err := a.Close(); err != nil {
		log.Fatal(err)
	}

	h, err := serve.New(dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}}) // with workers main must call hyperslab.Init
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	resp, err := http.Get(s.URL + "/data?file=grid.b2nd&path=/grid&selection=:,1:")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(b))
	// Output: [[2,3],[5,6]]
}
