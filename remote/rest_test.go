package remote

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
)

// TestClient_Open_whole opens objects that are read as a whole if they are small.
func TestClient_Open_whole(t *testing.T) {
	for name, tt := range map[string]struct {
		size     int
		requests int64
		cut      bool // the body of the first response ends early
	}{
		"one block": {100, 1, false}, "beginning": {firstRead, 1, false}, "small": {firstRead + 1, 1, false}, "limit": {readahead.SmallFile, 1, false},
		"truncated": {firstRead + 3*blockSize, 2, true}, "large": {readahead.SmallFile + 1, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			body := content(tt.size)
			s := serve(t, body)
			if tt.cut {
				s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
					if s.requests.Load() == 1 {
						w = &shortBody{w, firstRead + blockSize + 5}
					}
					next.ServeHTTP(w, r)
				}
			}
			c := local(t)
			o, err := c.open(t.Context(), s.URL+"/x", true, s.URL)
			require.NoError(t, err)
			defer func() { require.NoError(t, o.Close()) }()
			if tt.size > readahead.SmallFile {
				require.LessOrEqual(t, o.count.stats().Bytes, int64(2*firstRead))
			}
			got := make([]byte, tt.size)
			_, err = o.ReadAt(got, 0)
			require.True(t, err == nil || err == io.EOF, err)
			require.True(t, bytes.Equal(body, got))
			require.LessOrEqual(t, s.requests.Load(), tt.requests)
		})
	}
}

// shortBody ends the connection after left bytes of the body.
type shortBody struct {
	http.ResponseWriter
	left int
}

func (w *shortBody) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b[:min(len(b), w.left)])
	if w.left -= n; w.left == 0 {
		panic(http.ErrAbortHandler)
	}
	return n, err
}
