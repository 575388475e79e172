// Objects, clients and their registration.

package urlfile

import (
	"context"
	"errors"
	"io/fs"
	neturl "net/url"
	"path"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/errs"
)

// Object is an open object.
type Object interface {
	readahead.Reader
	Size() int64
	Close() error
	// ETag returns the entity tag of the object, or "" without one.
	ETag() string
	// Version returns a string that differs between versions of the object, as far as the
	// validators of the server and the beginning of the object do.
	Version() string
}

// Client makes the requests.
type Client interface {
	Open(ctx context.Context, url string) (Object, error)
	// OpenWhole is Open for a file that is read as a whole if it has at most readahead.SmallFile
	// bytes, for example to list its objects. It requests more than the beginning at once.
	OpenWhole(ctx context.Context, url string) (Object, error)
	FS(ctx context.Context, url string) (fs.FS, error)
	// Vacant returns an error that matches fs.ErrExist if there is an object at a URL. Only URLs of
	// S3 can be written to.
	Vacant(ctx context.Context, url string) error
	// Upload stores a file or a directory at a URL. After an error no new object is visible.
	Upload(ctx context.Context, url string, u Upload) error
	// Stat returns the size and ETag of the object at a URL of S3, or fs.ErrNotExist.
	Stat(ctx context.Context, url string) (Entry, error)
	// Read returns the current content of an object, at most limit bytes of it.
	Read(ctx context.Context, url string, limit int64) ([]byte, error)
	// List calls f for each object whose URL is below a URL of S3, in the order of their names.
	List(ctx context.Context, url string, f func(Entry) error) error
	// Remove removes objects below a URL of S3, which need not exist, several at the same time.
	Remove(ctx context.Context, url string, names []string) error
	// Abandon removes the parts of incomplete uploads to a URL of S3 and below it.
	Abandon(ctx context.Context, url string) error
	// Cause returns the error below an error that contains the URL, or nil for any other error.
	Cause(err error) error
}

// Entry describes an object.
type Entry struct {
	Name string // after the URL of List
	Size int64  // in bytes
	Tag  string // ETag
}

// Upload is a file or a directory that Client.Upload stores.
type Upload struct {
	Path     string
	Content  []byte      // of the object, if Path is ""
	Last     string      // name of the file of a directory that is stored after all others
	Replace  bool        // replace existing objects; otherwise they are an error that matches fs.ErrExist
	Progress func(int64) // is called with the bytes of each stored part, concurrently; may be nil
}

// ErrNoClient means that the program does not import package remote.
var ErrNoClient = errs.New(errors.ErrUnsupported.Error()+": URL in a program without package remote: import _ \"github.com/hyperslab/hyperslab/remote\"", errors.ErrUnsupported)

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

func (none) Open(context.Context, string) (Object, error)      { return nil, ErrNoClient }
func (none) OpenWhole(context.Context, string) (Object, error) { return nil, ErrNoClient }
func (none) FS(context.Context, string) (fs.FS, error)         { return nil, ErrNoClient }
func (none) Vacant(context.Context, string) error              { return ErrNoClient }
func (none) Upload(context.Context, string, Upload) error      { return ErrNoClient }
func (none) Cause(error) error                                 { return nil }
func (none) Stat(context.Context, string) (Entry, error)       { return Entry{}, ErrNoClient }
func (none) Read(context.Context, string, int64) ([]byte, error) {
	return nil, ErrNoClient
}

func (none) List(context.Context, string, func(Entry) error) error {
	return ErrNoClient
}
func (none) Remove(context.Context, string, []string) error { return ErrNoClient }
func (none) Abandon(context.Context, string) error          { return ErrNoClient }

// IsURL reports whether s begins with a scheme of package remote: http, https or s3.
func IsURL(s string) bool {
	scheme, _, found := strings.Cut(s, "://")
	switch strings.ToLower(scheme) {
	case "http", "https", "s3":
		return found
	}
	return false
}

// Join returns the URL of a file in the directory at the URL dir. rel is its path in the directory,
// with slashes and not escaped. In S3 only characters with a meaning in URLs are escaped, because
// users write keys as they are.
func Join(dir, rel string) string {
	if len(dir) >= 3 && strings.EqualFold(dir[:3], "s3:") {
		rel = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(rel)
	} else {
		rel = (&neturl.URL{Path: "/" + rel}).EscapedPath()[1:]
	}
	return strings.TrimSuffix(dir, "/") + "/" + rel
}

// Base returns the last element of the path of a URL, not escaped. It is "" if the URL has none.
func Base(s string) string {
	u, err := neturl.Parse(s)
	if err != nil {
		return ""
	}
	switch name := path.Base(u.Path); name {
	case ".", "..", "/":
		return ""
	default:
		return name
	}
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
