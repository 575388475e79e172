// Uploads to S3. An object becomes visible with the last request of its upload.

package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

const (
	partSize  = 16 << 20 // of an upload in parts; a smaller file is one request
	maxParts  = 10_000   // of S3
	partUnit  = 1 << 20
	maxAnswer = 1 << 20 // bytes of a response to a request of an upload

	// cleanupTime limits the requests that remove an incomplete upload.
	cleanupTime = 30 * time.Second
)

// tokenHeader is metadata of an object that identifies its upload. A repeated request whose first
// response was lost fails, and the metadata then shows that the first one succeeded.
const tokenHeader = "X-Amz-Meta-Hyperslab-Upload"

// vacant returns an error that matches fs.ErrExist if there is an object at a URL.
func (c *Client) vacant(ctx context.Context, url string) error {
	u, err := c.newUpload(url, false)
	if err == nil {
		err = u.vacant(ctx)
	}
	return fail("write", Redact(url), err)
}

// upload stores a file at a URL. The files of a directory are stored below the URL.
func (c *Client) upload(ctx context.Context, url string, o urlfile.Upload) error {
	u, err := c.newUpload(url, o.Replace)
	if err != nil {
		return fail("write", Redact(url), err)
	}
	if o.Progress != nil {
		u.progress = o.Progress
	}
	defer c.stale(url)
	if o.Path == "" {
		return fail("write", Redact(url), u.object(ctx, bytes.NewReader(o.Content), int64(len(o.Content))))
	}
	info, err := os.Stat(o.Path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = u.directory(ctx, o.Path, o.Last)
	} else {
		err = u.file(ctx, o.Path)
	}
	return fail("write", Redact(url), err)
}

// stale makes the next Open of a URL, and of the URLs below it, ask the server.
func (c *Client) stale(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for known := range c.known {
		if known == url || strings.HasPrefix(known, strings.TrimSuffix(url, "/")+"/") {
			delete(c.known, known)
		}
	}
}

// upload is an upload of one object.
type upload struct {
	c        *Client
	t        *s3Target
	replace  bool
	token    string
	progress func(int64)
}

func (c *Client) newUpload(url string, replace bool) (*upload, error) {
	t, err := c.target(url)
	if err != nil {
		return nil, err
	}
	s3, ok := t.(*s3Target)
	if !ok {
		return nil, fmt.Errorf("%w: writing to a web server: want s3://bucket/key", errors.ErrUnsupported)
	}
	return &upload{c: c, t: s3, replace: replace, token: rand.Text(), progress: func(int64) {}}, nil
}

// below returns the upload of an object below this one.
func (u *upload) below(name string) *upload {
	t := *u.t
	t.key = strings.TrimSuffix(t.key, "/") + "/" + name
	v := *u
	v.t, v.token = &t, rand.Text()
	return &v
}

// answer is the response to a request of an upload.
type answer struct {
	header http.Header
	body   []byte
}

// call sends a request, and repeats it if it fails. It also returns the number of attempts.
func (u *upload) call(ctx context.Context, method, query string, header http.Header, body *io.SectionReader) (a answer, attempts int, err error) {
	sum, size := emptyHash, int64(0)
	if body != nil {
		h := sha256.New()
		if size, err = io.Copy(h, io.NewSectionReader(body, 0, body.Size())); err != nil {
			return a, 0, err
		}
		sum = hex.EncodeToString(h.Sum(nil))
	}
	err = u.c.repeat(ctx, nil, func() error {
		attempts++
		u.c.requested()
		limit := u.c.o.Timeout * time.Duration(1+size/perTimeout)
		once, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: no complete answer in %v", errTimeout, limit))
		defer cancel()
		r, err := http.NewRequestWithContext(once, method, "", http.NoBody)
		if err != nil {
			return err
		}
		for name, values := range header {
			r.Header[name] = values
		}
		r.Header.Set("User-Agent", "hyperslab")
		r.Header.Set("X-Amz-Content-Sha256", sum)
		r.URL.RawQuery = query
		if size > 0 {
			r.ContentLength = size
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(body, 0, size)), nil }
		}
		a, err = u.exchange(r)
		if cause := context.Cause(once); err != nil && errors.Is(cause, errTimeout) {
			err = cause
		}
		return err
	})
	return a, attempts, err
}

// exchange sends a request once and reads the response.
func (u *upload) exchange(r *http.Request) (a answer, err error) {
	h, err := u.t.send(r)
	if err != nil {
		return a, cleaned(err)
	}
	defer func() { _ = h.Body.Close() }()
	if h.StatusCode/100 != 2 {
		return a, problem(h, h.Body)
	}
	a.header = h.Header
	if a.body, err = io.ReadAll(io.LimitReader(h.Body, maxAnswer+1)); err != nil {
		return a, truncated(err)
	}
	if len(a.body) > maxAnswer {
		return a, fmt.Errorf("%w: response of more than %d bytes", ErrLimit, maxAnswer)
	}
	return a, nil
}

// vacant returns an error that matches fs.ErrExist if the object exists.
func (u *upload) vacant(ctx context.Context) error {
	_, _, err := u.call(ctx, http.MethodHead, "", nil, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		return errs.ErrExists
	}
	return err
}

// header returns the headers of a request that makes the object visible.
func (u *upload) header() http.Header {
	h := make(http.Header)
	if !u.replace {
		h.Set("If-None-Match", "*")
	}
	return h
}

// publish sends the request that makes the object visible, and finds out whether it is.
func (u *upload) publish(ctx context.Context, send func() (attempts int, err error)) error {
	attempts, err := send()
	if err == nil {
		return nil
	}
	if attempts > 1 { // the response to a request that succeeded may be lost
		short, cancel := context.WithTimeout(ctx, cleanupTime)
		defer cancel()
		if a, _, herr := u.call(short, http.MethodHead, "", nil, nil); herr == nil && a.header.Get(tokenHeader) == u.token {
			return nil
		}
	}
	var status *statusError
	if errors.As(err, &status) && (status.status == http.StatusPreconditionFailed || status.status == http.StatusConflict) {
		return fmt.Errorf("%w: %w", errs.ErrExists, err)
	}
	return err
}

// file uploads a file.
func (u *upload) file(ctx context.Context, path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return u.object(ctx, f, info.Size())
}

// object uploads the first size bytes of r.
func (u *upload) object(ctx context.Context, r io.ReaderAt, size int64) error {
	if size > partSize {
		return u.parts(ctx, r, size)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx) // a store may complete a request that its client has cancelled
	return u.publish(ctx, func() (int, error) {
		h := u.header()
		h.Set(tokenHeader, u.token)
		_, attempts, err := u.call(ctx, http.MethodPut, "", h, io.NewSectionReader(r, 0, size))
		if err == nil {
			u.progress(size)
		}
		return attempts, err
	})
}

// part is a part of a complete upload, as S3 expects it.
type part struct {
	PartNumber int
	ETag       string
}

// parts uploads a file in parts, several at the same time. The request that completes the upload is
// the last one.
func (u *upload) parts(ctx context.Context, f io.ReaderAt, size int64) (err error) {
	each := max(int64(partSize), (size/maxParts/partUnit+1)*partUnit)
	a, _, err := u.call(ctx, http.MethodPost, "uploads=", http.Header{tokenHeader: {u.token}}, nil)
	if err != nil {
		return err
	}
	var began struct{ UploadId string } //nolint:revive // the name of an element of S3
	if err := xml.Unmarshal(a.body, &began); err != nil || began.UploadId == "" {
		return fmt.Errorf("%w: no identifier of an upload", ErrResponse)
	}
	id := url.Values{"uploadId": {began.UploadId}}.Encode()
	defer func() {
		if err == nil {
			return
		}
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		if _, _, aerr := u.call(short, http.MethodDelete, id, nil, nil); aerr != nil && !errors.Is(aerr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("removing the incomplete upload: %w", aerr))
		}
	}()
	list := make([]part, grid.DivUp(size, each))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(u.c.o.Parallel)
	for i := range list {
		group.Go(func() error {
			n := min(each, size-int64(i)*each)
			a, _, err := u.call(within, http.MethodPut, fmt.Sprintf("partNumber=%d&%s", i+1, id), nil, io.NewSectionReader(f, int64(i)*each, n))
			if err != nil {
				return err
			}
			if list[i] = (part{i + 1, a.header.Get("ETag")}); list[i].ETag == "" {
				return fmt.Errorf("%w: part %d without an ETag", ErrResponse, i+1)
			}
			u.progress(n)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{Part: list})
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // as in file
	return u.publish(ctx, func() (int, error) {
		a, attempts, err := u.call(ctx, http.MethodPost, id, u.header(), io.NewSectionReader(strings.NewReader(string(text)), 0, int64(len(text))))
		if err == nil {
			err = completed(a.body)
		}
		return attempts, err
	})
}

// completed returns the error in a response with status 200, which S3 sends before it knows the
// result.
func completed(body []byte) error {
	var e struct {
		XMLName xml.Name
		Code    string
	}
	if err := xml.Unmarshal(body, &e); err != nil {
		return fmt.Errorf("%w: %w", ErrResponse, err)
	}
	if e.XMLName.Local != "Error" {
		return nil
	}
	if e.Code == "PreconditionFailed" || e.Code == "ConditionalRequestConflict" {
		return errs.ErrExists
	}
	return fmt.Errorf("%w: the store cannot complete the upload: %.100q", ErrResponse, e.Code)
}

// directory uploads the files of a directory, and last the file that makes them visible as an
// array. If it fails it removes the objects that it has created.
func (u *upload) directory(ctx context.Context, dir, last string) (err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.Type().IsRegular() {
			return fmt.Errorf("%w: uploading %s, which is not a regular file", errors.ErrUnsupported, filepath.Join(dir, e.Name()))
		}
	}
	index := u.below(last)
	if !u.replace {
		if err := index.vacant(ctx); err != nil {
			return err
		}
	} else if err := u.clear(ctx, index); err != nil {
		return err
	}
	var mu sync.Mutex
	var created []*upload
	defer func() {
		if err == nil {
			return
		}
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
		defer cancel()
		err = errors.Join(err, u.remove(short, created))
	}()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(u.c.o.Parallel)
	for _, e := range list {
		if e.Name() == last {
			continue
		}
		group.Go(func() error {
			one := u.below(e.Name())
			err := one.file(within, filepath.Join(dir, e.Name()))
			if err == nil {
				mu.Lock()
				created = append(created, one)
				mu.Unlock()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return index.file(ctx, filepath.Join(dir, last))
}

// clear removes the objects of an array that is replaced, first the one that makes it visible,
// because readers of an old index must not read new chunks.
func (u *upload) clear(ctx context.Context, index *upload) error {
	if err := u.remove(ctx, []*upload{index}); err != nil {
		return err
	}
	var old []*upload
	err := u.list(ctx, func(e urlfile.Entry) error {
		if isChunkName(e.Name) {
			old = append(old, u.below(e.Name))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return u.remove(ctx, old)
}

// isChunkName reports whether name is that of a chunk of a sparse frame, for example
// "0000001F.chunk".
func isChunkName(name string) bool {
	digits, ok := strings.CutSuffix(name, ".chunk")
	return ok && len(digits) == 8 && strings.Trim(digits, "0123456789ABCDEFabcdef") == ""
}

// remove removes objects, which need not exist.
func (u *upload) remove(ctx context.Context, list []*upload) error {
	var group errgroup.Group
	group.SetLimit(u.c.o.Parallel)
	for _, one := range list {
		group.Go(func() error {
			if _, _, err := one.call(ctx, http.MethodDelete, "", nil, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing the object %s: %w", one.t.key, err)
			}
			return nil
		})
	}
	return group.Wait()
}
