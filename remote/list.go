// Requests of S3 about several objects: lists, removal, and incomplete uploads.

package remote

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
)

// stat returns the size and the ETag of an object.
func (c *Client) stat(ctx context.Context, url string) (e urlfile.Entry, err error) {
	u, err := c.newUpload(url, false)
	if err != nil {
		return e, fail("stat", Redact(url), err)
	}
	a, _, err := u.call(ctx, http.MethodHead, "", nil, nil)
	if err != nil {
		return e, fail("stat", Redact(url), err)
	}
	e.Tag = a.header.Get("ETag")
	if e.Size, err = strconv.ParseInt(a.header.Get("Content-Length"), 10, 64); err != nil || e.Tag == "" {
		return e, fail("stat", Redact(url), fmt.Errorf("%w: got size %q and ETag %q, want a number and a tag", ErrResponse, a.header.Get("Content-Length"), e.Tag))
	}
	return e, nil
}

// content returns the current content of an object, at most limit bytes of it.
func (c *Client) content(ctx context.Context, url string, limit int64) (_ []byte, err error) {
	c.stale(url) // a version that was seen before may be gone
	o, err := c.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	b := make([]byte, min(o.Size(), limit))
	_, err = o.ReadAt(b, 0)
	return b, err
}

// list calls f for each object below a URL.
func (c *Client) list(ctx context.Context, url string, f func(urlfile.Entry) error) error {
	u, err := c.newUpload(url, false)
	if err == nil {
		err = u.list(ctx, f)
	}
	return fail("list", Redact(url), err)
}

// bucket returns requests to the bucket, and the prefix of all keys below the key of u.
func (u *upload) bucket() (b *upload, prefix string) {
	v, t := *u, *u.t
	prefix = strings.TrimSuffix(t.key, "/") + "/"
	t.key, v.t = "", &t
	return &v, prefix
}

// list calls f for each object below this one.
func (u *upload) list(ctx context.Context, f func(urlfile.Entry) error) error {
	bucket, prefix := u.bucket()
	token := ""
	for {
		query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
		if token != "" {
			query.Set("continuation-token", token)
		}
		a, _, err := bucket.call(ctx, http.MethodGet, query.Encode(), nil, nil)
		if err != nil {
			return err
		}
		var page struct {
			Contents []struct {
				Key, ETag string
				Size      int64
			}
			IsTruncated           bool
			NextContinuationToken string
		}
		if err := xml.Unmarshal(a.body, &page); err != nil {
			return fmt.Errorf("%w: list of objects: %w", ErrResponse, err)
		}
		for _, o := range page.Contents {
			if name, ok := strings.CutPrefix(o.Key, prefix); ok {
				if err := f(urlfile.Entry{Name: name, Size: o.Size, Tag: o.ETag}); err != nil {
					return err
				}
			}
		}
		if token = page.NextContinuationToken; !page.IsTruncated || token == "" {
			return nil
		}
	}
}

// removeBelow removes objects below a URL.
func (c *Client) removeBelow(ctx context.Context, url string, names []string) error {
	u, err := c.newUpload(url, true)
	if err == nil {
		list := make([]*upload, len(names))
		for i, name := range names {
			list[i] = u.below(name)
		}
		err = u.remove(ctx, list)
	}
	c.stale(url)
	return fail("remove", Redact(url), err)
}

// abandon removes incomplete uploads to a URL and below it, for example those of killed processes.
func (c *Client) abandon(ctx context.Context, location string) error {
	u, err := c.newUpload(location, true)
	if err == nil {
		err = u.abandon(ctx)
	}
	return fail("remove incomplete uploads to", Redact(location), err)
}

func (u *upload) abandon(ctx context.Context) error {
	bucket, below := u.bucket()
	key := strings.TrimSuffix(below, "/")
	marker := url.Values{}
	for {
		query := url.Values{"uploads": {""}, "prefix": {key}}
		for name, value := range marker {
			query[name] = value
		}
		a, _, err := bucket.call(ctx, http.MethodGet, query.Encode(), nil, nil)
		if errors.Is(err, fs.ErrNotExist) { // a store without uploads
			return nil
		}
		if err != nil {
			return err
		}
		var page struct {
			Upload                            []struct{ Key, UploadId string } //nolint:revive // names of elements of S3
			IsTruncated                       bool
			NextKeyMarker, NextUploadIdMarker string //nolint:revive // names of elements of S3
		}
		if err := xml.Unmarshal(a.body, &page); err != nil {
			return fmt.Errorf("%w: list of incomplete uploads: %w", ErrResponse, err)
		}
		for _, x := range page.Upload {
			if x.Key != key && !strings.HasPrefix(x.Key, below) {
				continue
			}
			one := *bucket
			t := *bucket.t
			t.key, one.t = x.Key, &t
			query := url.Values{"uploadId": {x.UploadId}}.Encode()
			if _, _, err := one.call(ctx, http.MethodDelete, query, nil, nil); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !page.IsTruncated || page.NextKeyMarker == "" {
			return nil
		}
		marker = url.Values{"key-marker": {page.NextKeyMarker}, "upload-id-marker": {page.NextUploadIdMarker}}
	}
}
