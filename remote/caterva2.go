// Kinds of objects on Caterva2 servers that have no ranges.

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Routes of a Caterva2 server.
const (
	fetchRoute = "/api/fetch/"
	infoRoute  = "/api/info/"
)

// computed returns the error for an object that a Caterva2 server computes for each request, with
// the kind that the server reports. It returns err if the server reports none.
func (o *Object) computed(ctx context.Context, url string, err error) error {
	var status *statusError
	refused := errors.Is(err, errors.ErrUnsupported) || errors.As(err, &status) && status.status == http.StatusInternalServerError
	location, query, _ := strings.Cut(url, "?")
	if !refused || query != "" || !strings.Contains(location, fetchRoute) || strings.HasPrefix(url, "s3:") {
		return err
	}
	if kind := o.kind(ctx, strings.Replace(location, fetchRoute, infoRoute, 1)); kind != "" {
		return fmt.Errorf("%w: %w: kind of the object: got %s, want a stored array or container", ErrResponse, errors.ErrUnsupported, kind)
	}
	return err
}

// kind returns the kind of the object that the server describes at a URL, or "".
func (o *Object) kind(ctx context.Context, url string) string {
	ctx, cancel := context.WithTimeout(ctx, min(o.c.o.Timeout, 10*time.Second))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "", nil)
	if err != nil {
		return ""
	}
	r.Header.Set("User-Agent", "hyperslab")
	o.count.requests.Add(1)
	o.c.requested()
	h, err := (&webTarget{o.c, url}).send(r)
	if err != nil {
		return ""
	}
	defer h.Body.Close()
	var info struct {
		Kind       string
		Expression string
		Expr       string // with operands that the server cannot find
		Error      string
		Schunk     json.RawMessage
	}
	if h.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(h.Body, 1<<20)).Decode(&info) != nil {
		return ""
	}
	const longest = 200
	switch {
	case info.Expression != "" && len(info.Expression) <= longest:
		return fmt.Sprintf("a lazy expression (%q)", info.Expression)
	case info.Expression != "" || info.Expr != "":
		return "a lazy expression"
	case info.Kind == "ctable", info.Kind == "group":
		return "a " + info.Kind
	case info.Error != "":
		return "a corrupt object"
	case info.Schunk != nil:
		return "an array that the server assembles, for example from an HDF5 dataset"
	}
	return ""
}
