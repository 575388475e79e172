// Serve an array over HTTP and read a part of it.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

func main() {
	hyperslab.Init() // first: a worker process reads the files
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	draft, err := hyperslab.Create(ctx, "grid.h5:/grid", ndarray.Spec{Shape: []int64{2, 3}, DType: ndarray.DTypeOf[float32]()}, nil)
	if err != nil {
		return err
	}
	defer draft.Close()
	if err := ndarray.Write(ctx, draft.Array, []float32{1, 2, 3, 4, 5, 6}, ndarray.Whole(draft.Shape())); err != nil {
		return err
	}
	if err := draft.Commit(ctx); err != nil {
		return err
	}

	handler, err := serve.New(".", &serve.Options{Token: "a long random token"})
	if err != nil {
		return err
	}
	defer handler.Close()
	server := httptest.NewServer(handler) // or http.ListenAndServe("localhost:8090", handler)
	defer server.Close()

	for _, target := range []string{"/data?file=grid.h5&path=/grid&selection=:,1:", "/stats?file=grid.h5&path=/grid"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+target, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer a long random token")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		response.Body.Close()
		fmt.Println(response.StatusCode, string(body))
	}
	return nil
}
