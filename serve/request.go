// Requests for the content of one file, and the responses to them. They have no HTTP in them,
// because a worker process answers them too.

package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Routes of a request.
const (
	routeMeta  = "meta"
	routeAttr  = "attr"
	routeData  = "data"
	routePaths = "paths"
	routeStats = "stats"

	routePicture = "picture" // PNG
	routeTable   = "table"   // tableDoc, for a page
)

// Values of request.Resolve.
const (
	resolveNone  = "none"
	resolveValid = "only_valid" // those with a target
	resolveAll   = "all"
)

// request asks for one part of a file.
type request struct {
	Route string
	Path  string // of the object in the file, "/a/b"

	Keys      []string // attr: names of attributes; none: all of them
	Selection string   // data, stats: NumPy's notation without brackets
	Format    string   // data: "json", "bin", "npy", "csv" or "tiff"
	Safe      bool     // data: elements for a typed array of JavaScript
	Flatten   bool     // data: elements in one dimension
	Stored    bool     // data: null elements as stored
	Resolve   string   // meta, paths: which links are followed
	Unpack    bool     // stats: values by the CF conventions
	Raw       bool     // table: stored elements
	Look      string   // picture: lookParameters, encoded as in an address

	Limit int64 // maximum bytes of the response
}

// response is the answer to a request.
type response struct {
	Type string // of the content
	File string // name of a download; "" for content that is shown
	Body []byte
}

// source is an open file.
type source interface {
	answer(ctx context.Context, q *request) (response, error)
	close() error
}

// problem is an error with a status of HTTP.
type problem struct {
	Status  int
	Message string
	err     error
}

func (p *problem) Error() string { return p.Message }
func (p *problem) Unwrap() error { return p.err }

func fail(status int, format string, args ...any) error {
	return &problem{Status: status, Message: fmt.Sprintf(format, args...)}
}

// problemOf returns the status and the message for an error. h5web matches parts of some messages.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	status, message := http.StatusInternalServerError, err.Error()
	for _, x := range []struct {
		sentinel error
		status   int
	}{
		{context.Canceled, statusClientLeft},
		{context.DeadlineExceeded, http.StatusServiceUnavailable},
		{worker.ErrTimeout, http.StatusServiceUnavailable},
		{worker.ErrLimit, http.StatusServiceUnavailable},
		{hyperslab.ErrLimit, http.StatusRequestEntityTooLarge},
		{fs.ErrPermission, http.StatusForbidden},
		{ndarray.ErrCorrupt, http.StatusInternalServerError}, // also a tree without one of its files
		{ndarray.ErrNotFound, http.StatusNotFound},
		{fs.ErrNotExist, http.StatusNotFound},
		{ndarray.ErrParam, http.StatusUnprocessableEntity},
		{ndarray.ErrRegion, http.StatusUnprocessableEntity},
		{h5.ErrParam, http.StatusUnprocessableEntity},
		{h5.ErrRegion, http.StatusUnprocessableEntity},
	} {
		if errors.Is(err, x.sentinel) {
			status = x.status
			break
		}
	}
	return &problem{Status: status, Message: message, err: err}
}

// statusClientLeft is nginx's status for a client that closed the connection. Only the log
// contains it.
const statusClientLeft = 499

// clean returns the absolute form of a path in a file.
func clean(p string) string { return path.Clean("/" + p) }

func notAPath(p, file string) error {
	return fail(http.StatusNotFound, "%s is not a valid path in %s", p, file)
}

func tooLarge(limit int64) error {
	return fail(http.StatusRequestEntityTooLarge, "the response exceeds the limit of %d bytes: select a smaller part", limit)
}

// jsonBody encodes a document. encoding/json would escape <, > and &, which is not necessary in a
// response with nosniff.
func jsonBody(doc any, limit int64) (response, error) {
	body, err := jsonform.Marshal(doc)
	if err != nil {
		return response{}, err
	}
	if int64(len(body)) > limit {
		return response{}, tooLarge(limit)
	}
	return response{Type: "application/json", Body: body}, nil
}

// entity is an object of a file, as the API of h5grove describes it.
type entity struct {
	Name       string     `json:"name"`
	Kind       string     `json:"kind"`
	Attributes *[]attrDoc `json:"attributes,omitempty"` // group, dataset, datatype
	Children   *[]entity  `json:"children,omitempty"`   // group, one level deep

	Type    *typeDoc     `json:"type,omitempty"` // dataset, datatype
	Dataset *datasetPart `json:"-"`

	TargetPath *string `json:"target_path,omitempty"` // soft_link, external_link
	TargetFile *string `json:"target_file,omitempty"` // external_link
}

// datasetPart contains the keys that only a dataset has. They may be null.
type datasetPart struct {
	Shape   []int64     `json:"shape"` // null: no elements and no shape
	Chunks  []int64     `json:"chunks"`
	Filters []filterDoc `json:"filters"`
	Blocks  []int64     `json:"blocks,omitempty"` // only b2nd and Caterva; h5grove has no such key
}

// MarshalJSON implements json.Marshaler.
func (e entity) MarshalJSON() ([]byte, error) {
	type plain entity
	if e.Dataset == nil {
		return jsonform.Marshal(plain(e))
	}
	return jsonform.Marshal(struct {
		plain
		*datasetPart
	}{plain(e), e.Dataset})
}

type filterDoc struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type attrDoc struct {
	Name  string  `json:"name"`
	Shape []int64 `json:"shape"` // null: no elements and no shape
	Type  typeDoc `json:"type"`
}

// baseName returns the last part of a path, "" for the root.
func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }
