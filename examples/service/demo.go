// Requests to the service.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

// demonstrate creates an empty log and prints the answers to some requests.
func demonstrate(s *service) {
	ctx := context.Background()
	spec := ndarray.Spec{Shape: []int64{0}, ChunkShape: []int64{1024}, DType: ndarray.DTypeOf[float64]()}
	draft, err := hyperslab.Create(ctx, "log.b2nd", spec, nil)
	if err != nil {
		log.Fatal(err)
	}
	etopo, err := os.ReadFile("testdata/etopo120.h5")
	if err := errors.Join(err, draft.Commit(ctx), draft.Close()); err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	for _, x := range [][3]string{
		{"PUT", "/sea.h5", string(etopo)}, {"GET", "/sea.h5"}, {"GET", "/sea.h5/ROSE?selection=45,100:103"},
		{"POST", "/log.b2nd", "[1.5, 2]"}, {"GET", "/log.b2nd"}, {"GET", "/none.h5"},
	} {
		if err := send(ctx, x[0], server.URL, x[1], x[2]); err != nil {
			log.Fatal(err)
		}
	}
}

// send sends a request and prints the answer.
func send(ctx context.Context, method, server, target, body string) error {
	request, err := http.NewRequestWithContext(ctx, method, server+target, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	fmt.Println(method, target, response.StatusCode, strings.TrimSpace(string(b)))
	return err
}
