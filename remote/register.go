// Registration as the client of package hyperslab.

package remote

import (
	"context"
	"io/fs"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// registered is DefaultClient as the client of package hyperslab.
type registered struct{}

func init() { urlfile.Register(registered{}) }

// Open implements urlfile.Client.
func (r registered) Open(ctx context.Context, url string) (urlfile.Object, error) {
	return r.open(ctx, url, false)
}

// OpenWhole implements urlfile.Client.
func (r registered) OpenWhole(ctx context.Context, url string) (urlfile.Object, error) {
	return r.open(ctx, url, true)
}

func (registered) open(ctx context.Context, url string, whole bool) (urlfile.Object, error) {
	o, err := DefaultClient.open(ctx, url, whole, url)
	if err != nil {
		return nil, err
	}
	return opened{o}, nil
}

var _ readahead.Indexed = (*Object)(nil)

// opened implements urlfile.Object.
type opened struct{ *Object }

// Version implements urlfile.Object.
func (o opened) Version() string { return o.v.tag + " " + o.v.time + " " + o.v.start }

// FS implements urlfile.Client.
func (registered) FS(ctx context.Context, url string) (fs.FS, error) {
	return DefaultClient.FS(ctx, url)
}

// Cause implements urlfile.Client.
func (registered) Cause(err error) error {
	if e, ok := err.(*Error); ok {
		return e.Err
	}
	return nil
}

// Vacant implements urlfile.Client.
func (registered) Vacant(ctx context.Context, url string) error {
	return DefaultClient.vacant(ctx, url)
}

// Upload implements urlfile.Client.
func (registered) Upload(ctx context.Context, url string, u urlfile.Upload) error {
	return DefaultClient.upload(ctx, url, u)
}

// Stat implements urlfile.Client.
func (registered) Stat(ctx context.Context, url string) (urlfile.Entry, error) {
	return DefaultClient.stat(ctx, url)
}

// Read implements urlfile.Client.
func (registered) Read(ctx context.Context, url string, limit int64) ([]byte, error) {
	return DefaultClient.content(ctx, url, limit)
}

// List implements urlfile.Client.
func (registered) List(ctx context.Context, url string, f func(urlfile.Entry) error) error {
	return DefaultClient.list(ctx, url, f)
}

// Remove implements urlfile.Client.
func (registered) Remove(ctx context.Context, url string, names []string) error {
	return DefaultClient.removeBelow(ctx, url, names)
}

// Abandon implements urlfile.Client.
func (registered) Abandon(ctx context.Context, url string) error {
	return DefaultClient.abandon(ctx, url)
}
