// Remote objects: files of the handler that are at URLs.

package serve

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"sync"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// remoteFile is a remote object that is served as a file.
type remoteFile struct {
	url string

	mu    sync.Mutex
	sig   signature
	size  int64
	since time.Time // of the version
}

// remoteFiles returns the remote objects by their names: the last elements of the paths of the
// URLs.
func remoteFiles(urls []string) (map[string]*remoteFile, error) {
	files := map[string]*remoteFile{}
	for _, x := range urls {
		if !urlfile.IsURL(x) {
			return nil, fmt.Errorf("serve: option URLs: got %q, want a URL with the scheme http, https or s3", urlfile.Redact(x))
		}
		u, err := url.Parse(x)
		if err != nil {
			return nil, fmt.Errorf("serve: option URLs: invalid URL %s", urlfile.Redact(x))
		}
		name := path.Base(u.Path)
		if _, err := fileName(name); err != nil || name == "." || name == "/" {
			return nil, fmt.Errorf("serve: option URLs: got %s, want the URL of a file", urlfile.Redact(x))
		}
		if files[name] != nil {
			return nil, fmt.Errorf("serve: option URLs: two URLs of files with the name %s", name)
		}
		files[name] = &remoteFile{url: x}
	}
	return files, nil
}

// look returns the signature of the present version of the object. The client requests it again
// after some seconds.
func (f *remoteFile) look(ctx context.Context, name string) (signature, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, err := urlfile.Get().Open(ctx, f.url)
	if err != nil {
		return signature{}, remoteError(name, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q %d %q", f.url, o.Size(), o.Version())
	var sig signature
	h.Sum(sig[:0])
	if sig != f.sig {
		f.sig, f.size, f.since = sig, o.Size(), time.Now()
	}
	return f.sig, o.Close()
}

// remoteError returns the error for an object that cannot be opened. It contains no URL.
func remoteError(name string, err error) error {
	message := err.Error()
	if cause := urlfile.Get().Cause(err); cause != nil {
		message = cause.Error()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &problem{Status: http.StatusNotFound, Message: "File not found: " + name, err: err}
	case errors.Is(err, fs.ErrPermission):
		return &problem{Status: http.StatusForbidden, Message: "Permission denied: " + name, err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &problem{Status: http.StatusBadGateway, Message: name + ": " + message, err: err}
}

// copyOf returns a file without a name with the content of the object, because workers have no
// network and the checked bytes must be the ones that are read.
func (f *remoteFile) copyOf(ctx context.Context, name string, most int64) (*os.File, error) {
	o, err := urlfile.Get().Open(ctx, f.url)
	if err != nil {
		return nil, remoteError(name, err)
	}
	file, err := urlfile.Copy(ctx, o, most)
	if err == nil {
		return file, o.Close()
	}
	if errors.Is(err, hyperslab.ErrLimit) {
		err = &problem{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("%s has %d bytes: a remote file of more than %d bytes is not copied", name, o.Size(), most), err: err}
	}
	return nil, errors.Join(err, o.Close())
}

// send writes the content of the object.
func (f *remoteFile) send(w http.ResponseWriter, r *http.Request, name string) error {
	o, err := urlfile.Get().Open(r.Context(), f.url)
	if err != nil {
		return remoteError(name, err)
	}
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(o, 0, o.Size()))
	return o.Close()
}

// openRemoteSource opens a trusted object for reading by ranges.
func openRemoteSource(ctx context.Context, url string, o *sourceOptions) (source, error) {
	format, err := hyperslab.Sniff(url)
	if err != nil {
		return nil, remoteError(o.Name, err)
	}
	if format != hyperslab.HDF5 {
		return opened(openArraySource(ctx, url, o))
	}
	object, err := urlfile.Get().Open(ctx, url)
	if err != nil {
		return nil, remoteError(o.Name, err)
	}
	s, err := openHDF5Source(object, object.Size(), o)
	if err != nil {
		return nil, errors.Join(err, object.Close())
	}
	return &remoteSource{s, object}, nil
}

// remoteSource is a source that owns a remote object.
type remoteSource struct {
	source
	object io.Closer
}

func (s *remoteSource) close() error { return errors.Join(s.source.close(), s.object.Close()) }
