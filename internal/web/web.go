// Objects, clients and their registration.

package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/ahead"
)

// Object is an open object.
type Object interface {
	ahead.Reader
	Size() int64
	Close() error
}

// Client makes the requests.
type Client interface {
	Open(ctx context.Context, url string) (Object, error)
	FS(ctx context.Context, url string) (fs.FS, error)
	// Vacant returns an error that matches fs.ErrExist if there is an object at a URL. Only URLs of
	// S3 can be written to.
	Vacant(ctx context.Context, url string) error
	// Upload stores a file or a directory at a URL. After an error no new object is visible.
	Upload(ctx context.Context, url string, u Upload) error
	// Cause returns the error below an error that contains the URL, or nil for any other error.
	Cause(err error) error
}

// Upload is a file or a directory that Client.Upload stores.
type Upload struct {
	Path     string
	Last     string      // name of the file of a directory that is stored after all others
	Replace  bool        // replace existing objects; otherwise they are an error that matches fs.ErrExist
	Progress func(int64) // is called with the bytes of each stored part, concurrently; may be nil
}

// ErrNoClient means that the program does not import package remote.
var ErrNoClient = fmt.Errorf("%w: URL in a program without package remote: import _ \"github.com/hyperslab/hyperslab/remote\"", errors.ErrUnsupported)

var (
	mu     sync.RWMutex
	client Client = none{}
)

// Register sets the client.
func Register(c Client) {
	mu.Lock()
	defer mu.Unlock()
	client = c
}

// Get returns the registered client. Without one all its methods return ErrNoClient.
func Get() Client {
	mu.RLock()
	defer mu.RUnlock()
	return client
}

type none struct{}

func (none) Open(context.Context, string) (Object, error) { return nil, ErrNoClient }
func (none) FS(context.Context, string) (fs.FS, error)    { return nil, ErrNoClient }
func (none) Vacant(context.Context, string) error         { return ErrNoClient }
func (none) Upload(context.Context, string, Upload) error { return ErrNoClient }
func (none) Cause(error) error                            { return nil }

// IsURL reports whether s begins with a scheme of package remote: http, https or s3.
func IsURL(s string) bool {
	scheme, _, found := strings.Cut(s, "://")
	switch strings.ToLower(scheme) {
	case "http", "https", "s3":
		return found
	}
	return false
}

// Redact returns s for messages: without credentials, query and fragment, each replaced by "...".
// Queries of presigned URLs contain credentials. A string that is not a URL is returned unchanged.
func Redact(s string) string {
	if !IsURL(s) {
		return s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, path := rest[:end], rest[end:]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = "..." + host[at:]
	}
	// A path of an object may follow the query, and is kept.
	if q := strings.IndexAny(path, "?#"); q >= 0 {
		object := ""
		if at := strings.Index(path[q:], ":/"); at >= 0 {
			object = path[q+at:]
		}
		path = path[:q+1] + "..." + object
	}
	return scheme + "://" + host + path
}
