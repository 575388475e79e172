// Versions of objects: their validators, and the changes that these detect.

package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"
)

// version is one version of an object. Handles of the same version share it and its blocks.
type version struct {
	target target
	shown  string // URL for messages
	size   int64
	tag    string // ETag, or ""
	time   string // Last-Modified, or ""
	seen   time.Time

	weakness string // why a change may keep the size and the validators, or ""
	start    string // digest of the first blocks, if weakness is set
}

// strong reports whether the ETag can be used in If-Match.
func (v *version) strong() bool { return len(v.tag) > 1 && v.tag[0] == '"' }

// dated reports whether the modification time of a response is a strong validator. RFC 9110
// requires that it is at least one second older than the response (section 8.8.2.2).
func dated(h http.Header) bool {
	modified, err1 := http.ParseTime(h.Get("Last-Modified"))
	sent, err2 := http.ParseTime(h.Get("Date"))
	return err1 == nil && err2 == nil && sent.Sub(modified) >= time.Second
}

// classify sets weakness and start from the first response and its blocks.
func (v *version) classify(h http.Header, blocks [][]byte) {
	switch {
	case v.strong() || dated(h):
		return
	case v.time != "":
		v.weakness = "the modification time is not older than the response, and there is no strong ETag"
	case v.tag != "":
		v.weakness = "the ETag is weak, and there is no modification time"
	default:
		v.weakness = "the server sends neither an ETag nor a modification time"
	}
	sum := sha256.Sum256(bytes.Join(blocks, nil))
	v.start = hex.EncodeToString(sum[:])
}

// same compares the validators of a response with those of the version. A strong ETag is compared
// alone, because responses of one version may have different modification times then.
func (v *version) same(h http.Header) error {
	if tag := h.Get("ETag"); tag != v.tag {
		return fmt.Errorf("%w: ETag: got %q, want %q", ErrChanged, tag, v.tag)
	}
	if at := h.Get("Last-Modified"); !v.strong() && at != v.time {
		return fmt.Errorf("%w: modification time: got %q, want %q", ErrChanged, at, v.time)
	}
	return nil
}

// verified returns ErrUnverified if changes of a version cannot be detected and Options refuses it.
// Otherwise it reports unit, the URL of the object or of its directory, once.
func (c *Client) verified(v *version, unit string) error {
	if v.weakness == "" {
		return nil
	}
	err := fmt.Errorf("%w: %s", ErrUnverified, v.weakness)
	if c.o.RefuseUnverified {
		return err
	}
	c.mu.Lock()
	again := c.warned[unit]
	if len(c.warned) >= maxKnown {
		clear(c.warned)
	}
	c.warned[unit] = true
	c.mu.Unlock()
	if again {
		return nil
	}
	c.count.unverified.Add(1)
	if c.o.OnUnverified != nil {
		c.o.OnUnverified(fail("open", Redact(unit), err))
	}
	return nil
}
