package remote

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
)

// old is a modification time that is a strong validator.
var old = time.Unix(1e9, 0).UTC().Format(http.TimeFormat)

// state is an object with the validators of its responses.
type state struct {
	body      []byte
	tag, time string
	whole     bool // answer requests with status 200 and the whole object
}

// changing is a server that ignores preconditions. It sends the first state for some requests.
type changing struct {
	*httptest.Server
	left   atomic.Int64
	states [2]state
}

func serveStates(t *testing.T, before, after state) *changing {
	s := &changing{states: [2]state{before, after}}
	s.left.Store(1)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now := s.states[1]
		if s.left.Add(-1) >= 0 {
			now = s.states[0]
		}
		h := w.Header()
		for name, value := range map[string]string{"ETag": now.tag, "Last-Modified": now.time} {
			if value != "" {
				h.Set(name, value)
			}
		}
		var first, last int
		_, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last)
		if err != nil || now.whole {
			h.Set("Content-Length", strconv.Itoa(len(now.body)))
			_, _ = w.Write(now.body)
			return
		}
		if first >= len(now.body) {
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", len(now.body)))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		last = min(last, len(now.body)-1)
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, last, len(now.body)))
		h.Set("Content-Length", strconv.Itoa(last-first+1))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(now.body[first : last+1])
	}))
	t.Cleanup(s.Close)
	return s
}

// waysToRead read an object whose first blocks are in the cache.
var waysToRead = map[string]func(t *testing.T, o *Object) error{
	"one block": func(_ *testing.T, o *Object) error {
		_, err := o.ReadAt(make([]byte, 10), o.Size()-20)
		return err
	},
	"windows in sequence": func(_ *testing.T, o *Object) error {
		_, err := io.Copy(io.Discard, io.NewSectionReader(o, 0, o.Size()))
		return err
	},
	"parallel": func(_ *testing.T, o *Object) error {
		_, err := o.ReadAt(make([]byte, o.Size()), 0)
		return err
	},
	"prefetch": func(t *testing.T, o *Object) error {
		ranges := [][2]int64{{1 << 20, 100}, {9 << 20, 100}, {o.Size() - 20, 20}}
		defer o.Prefetch(t.Context(), readahead.List(ranges))()
		for _, r := range ranges {
			if _, err := o.ReadAt(make([]byte, r[1]), r[0]); err != nil {
				return err
			}
		}
		return nil
	},
}

func TestObject_ReadAt_changed(t *testing.T) {
	a, b := content(12<<20), bytes.Repeat([]byte{7}, 12<<20)
	longer := append(bytes.Clone(b), 1)
	now := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, x := range map[string]struct{ before, after state }{
		"strong ETag, content":               {state{a, `"1"`, old, false}, state{b, `"2"`, old, false}},
		"strong ETag, size":                  {state{a, `"1"`, old, false}, state{longer, `"1"`, old, false}},
		"strong ETag dropped":                {state{a, `"1"`, old, false}, state{b, "", old, false}},
		"strong ETag becomes weak":           {state{a, `"1"`, old, false}, state{b, `W/"1"`, old, false}},
		"strong ETag, whole object":          {state{a, `"1"`, old, false}, state{b, `"2"`, old, true}},
		"weak ETag, content":                 {state{a, `W/"1"`, "", false}, state{b, `W/"2"`, "", false}},
		"weak ETag, size":                    {state{a, `W/"1"`, "", false}, state{longer, `W/"1"`, "", false}},
		"weak ETag, whole object of size":    {state{a, `W/"1"`, "", false}, state{longer, `W/"1"`, "", true}},
		"weak ETag unchanged, time":          {state{a, `W/"1"`, old, false}, state{b, `W/"1"`, now, false}},
		"weak ETag dropped":                  {state{a, `W/"1"`, old, false}, state{b, "", old, false}},
		"weak ETag, time dropped":            {state{a, `W/"1"`, old, false}, state{b, `W/"1"`, "", false}},
		"ETag appears":                       {state{a, "", old, false}, state{b, `"1"`, old, false}},
		"time":                               {state{a, "", old, false}, state{b, "", now, false}},
		"time, size":                         {state{a, "", old, false}, state{longer, "", old, false}},
		"time dropped":                       {state{a, "", old, false}, state{b, "", "", false}},
		"time, whole object":                 {state{a, "", old, false}, state{b, "", now, true}},
		"recent time, size":                  {state{a, "", now, false}, state{longer, "", now, false}},
		"no validator, size":                 {state{a, "", "", false}, state{longer, "", "", false}},
		"no validator, shorter object":       {state{a, "", "", false}, state{b[:100], "", "", false}},
		"no validator, time appears":         {state{a, "", "", false}, state{b, "", old, false}},
		"no validator, whole object of size": {state{a, "", "", false}, state{longer, "", "", true}},
	} {
		for way, read := range waysToRead {
			for _, requests := range []int64{1, 2} { // the second state begins within a parallel read
				if requests == 2 && way == "one block" {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%d", name, way, requests), func(t *testing.T) {
					s := serveStates(t, x.before, x.after)
					s.left.Store(requests)
					c := local(t, func(o *Options) { o.CacheDir = filepath.Join(t.TempDir(), "cache") })
					o := open(t, c, s.URL+"/x?signature=secret")
					err := read(t, o)
					require.ErrorIs(t, err, ErrChanged)
					require.NotContains(t, err.Error(), "secret")
					_, err = o.ReadAt(make([]byte, 1), 0) // also for blocks in the cache
					require.ErrorIs(t, err, ErrChanged)
					if x.after.whole {
						return // the object has no ranges any more
					}
					again := open(t, c, s.URL+"/x?signature=secret")
					got, err := io.ReadAll(io.NewSectionReader(again, 0, again.Size()))
					require.NoError(t, err)
					require.True(t, bytes.Equal(x.after.body, got), "parts of the first version")
				})
			}
		}
	}
}

func TestClient_Open_unverified(t *testing.T) {
	body := content(2 << 20)
	future := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for name, x := range map[string]struct {
		state
		reason string
	}{
		"strong ETag":                 {state{tag: `"1"`}, ""},
		"strong ETag and recent time": {state{tag: `"1"`, time: future}, ""},
		"time":                        {state{time: old}, ""},
		"weak ETag and time":          {state{tag: `W/"1"`, time: old}, ""},
		"no validator":                {state{}, "neither an ETag nor a modification time"},
		"weak ETag":                   {state{tag: `W/"1"`}, "the ETag is weak"},
		"invalid ETag":                {state{tag: `1`}, "the ETag is weak"},
		"recent time":                 {state{time: future}, "not older than the response"},
		"weak ETag and recent time":   {state{tag: `W/"1"`, time: future}, "not older than the response"},
		"invalid time":                {state{time: "yesterday"}, "not older than the response"},
	} {
		t.Run(name, func(t *testing.T) {
			x.body = body
			s := serveStates(t, x.state, x.state)
			var reported []error
			c := local(t, func(o *Options) { o.OnUnverified = func(err error) { reported = append(reported, err) } })
			for range 3 {
				open(t, c, s.URL+"/x?signature=secret")
			}
			refusing := local(t, func(o *Options) { o.RefuseUnverified = true })
			_, err := refusing.Open(t.Context(), s.URL+"/x?signature=secret")
			if x.reason == "" {
				require.Empty(t, reported)
				require.NoError(t, err)
				require.Zero(t, c.Stats().Unverified)
				require.NotContains(t, c.Stats().String(), "cannot be detected")
				return
			}
			require.Len(t, reported, 1)
			require.Equal(t, int64(1), c.Stats().Unverified)
			require.Contains(t, c.Stats().String(), "1 objects whose changes cannot be detected")
			for _, err := range []error{reported[0], err} {
				require.ErrorIs(t, err, ErrUnverified)
				require.ErrorContains(t, err, x.reason)
				var e *Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, s.URL+"/x?...", e.URL)
				require.NotContains(t, err.Error(), "secret")
			}
			open(t, c, s.URL+"/y")
			require.Len(t, reported, 2)
		})
	}
	t.Run("directory", func(t *testing.T) {
		s := serveStates(t, state{body: body}, state{body: body})
		var reported []string
		c := local(t, func(o *Options) { o.OnUnverified = func(err error) { reported = append(reported, err.Error()) } })
		dir, err := c.FS(t.Context(), s.URL+"/d")
		require.NoError(t, err)
		for _, name := range []string{"chunks.b2frame", "00000000.chunk", "00000001.chunk"} {
			f, err := dir.Open(name)
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		require.Len(t, reported, 1)
		require.True(t, strings.HasPrefix(reported[0], "open "+s.URL+"/d: "), reported[0])
	})
	t.Run("blocks are not shared", func(t *testing.T) {
		other := bytes.Repeat([]byte{7}, len(body))
		s := serveStates(t, state{body: body}, state{body: other})
		c := local(t)
		open(t, c, s.URL)
		c.known[s.URL].seen = time.Now().Add(-2 * freshFor)
		o := open(t, c, s.URL)
		got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size()))
		require.NoError(t, err)
		require.True(t, bytes.Equal(other, got))
	})
}

// TestClient_UseIndex_changed opens objects with the index of an older version.
func TestClient_UseIndex_changed(t *testing.T) {
	a := content(6 << 20)
	b := bytes.Clone(a)
	b[5<<20+77]++ // in a part of the index that is far from the beginning
	read := func(c *Client, url string) error {
		o, err := c.Open(t.Context(), url)
		if err != nil {
			return err
		}
		defer o.Close()
		for _, at := range []int64{0, 5 << 20} {
			if _, err := o.ReadAt(make([]byte, 1000), at); err != nil {
				return err
			}
		}
		return nil
	}
	later := time.Unix(1e9+5, 0).UTC().Format(http.TimeFormat)
	for name, x := range map[string]struct{ before, after state }{
		"strong ETag":         {state{a, `"1"`, old, false}, state{b, `"2"`, old, false}},
		"strong ETag dropped": {state{a, `"1"`, old, false}, state{b, "", old, false}},
		"strong ETag, size":   {state{a, `"1"`, old, false}, state{append(b, 1), `"1"`, old, false}},
		"weak ETag, block":    {state{a, `W/"1"`, "", false}, state{b, `W/"1"`, "", false}},
		"weak ETag, size":     {state{a, `W/"1"`, "", false}, state{append(b, 1), `W/"1"`, "", false}},
		"time":                {state{a, "", old, false}, state{b, "", later, false}},
		"time dropped":        {state{a, "", old, false}, state{b, "", "", false}},
		"no validator, block": {state{a, "", "", false}, state{b, "", "", false}},
		"no validator, size":  {state{a, "", "", false}, state{append(b, 1), "", "", false}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveStates(t, x.before, x.after)
			s.left.Store(1 << 30)
			var index bytes.Buffer
			require.NoError(t, WriteIndex(t.Context(), &index, s.URL+"/x", "", &Options{AllowPrivate: true}, read))
			file := filepath.Join(t.TempDir(), "x.index")
			require.NoError(t, os.WriteFile(file, index.Bytes(), 0o600))
			c := local(t)
			require.NoError(t, c.UseIndex(file, ""))
			require.NoError(t, read(c, s.URL+"/x"))
			s.left.Store(0)
			c = local(t)
			if x.after.tag == x.before.tag && len(x.after.body) == len(a) {
				// A handle without the index is open, so that the version is known.
				open(t, c, s.URL+"/x")
			}
			require.NoError(t, c.UseIndex(file, ""))
			o, err := c.Open(t.Context(), s.URL+"/x")
			if err == nil {
				_, err = o.ReadAt(make([]byte, 100), 5<<20+3000) // in the block of the changed byte
				require.NoError(t, o.Close())
			}
			require.ErrorIs(t, err, ErrChanged)
		})
	}
}
