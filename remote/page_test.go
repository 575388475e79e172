package remote

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answers returns a server that counts its requests.
func answers(t *testing.T, f http.HandlerFunc) (s *httptest.Server, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		f(w, r)
	}))
	t.Cleanup(s.Close)
	return s, requests
}

func write(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}
}

func TestClient_Open_page(t *testing.T) {
	const login = "\n<!DOCTYPE html><html><head><title>\nEarthdata\n Login &amp; more</title></head><form><input type=\"password\"></form></html>"
	for name, x := range map[string]struct {
		kind, body string
		login      bool
		text       string
	}{
		"login page":        {"text/html; charset=utf-8", login, true, `login page of 121 bytes from HOST with the title "Earthdata Login & more"`},
		"page of a program": {"application/xhtml+xml", "\ufeff<html>results</html>", false, "web page of 23 bytes from HOST instead"},
	} {
		t.Run(name, func(t *testing.T) {
			s, requests := answers(t, write(x.kind, x.body))
			_, err := local(t).Open(t.Context(), s.URL+"/x.h5?token=secret")
			require.ErrorIs(t, err, ErrResponse)
			require.Equal(t, x.login, errors.Is(err, fs.ErrPermission))
			u, _ := url.Parse(s.URL)
			require.ErrorContains(t, err, strings.Replace(x.text, "HOST", u.Host, 1))
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, int64(1), requests.Load())
		})
	}
	t.Run("redirect to a login page of unknown length", func(t *testing.T) {
		s, requests := answers(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/sso" {
				http.Redirect(w, r, "/sso?back="+r.URL.Path, http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("<html><h1>Please sign in</h1>"))
		})
		_, err := local(t).Open(t.Context(), s.URL+"/x.h5")
		require.ErrorIs(t, err, fs.ErrPermission)
		require.Equal(t, int64(2), requests.Load())
	})
	t.Run("data with the type of a page", func(t *testing.T) {
		body := content(100_000)
		body[0] = 0x89
		s, _ := answers(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		})
		o := open(t, local(t), s.URL+"/x.h5")
		got := make([]byte, len(body))
		_, err := o.ReadAt(got, 0)
		require.NoError(t, err)
		require.Equal(t, body, got)
	})
	t.Run("end of a session between reads", func(t *testing.T) {
		s := serve(t, content(2<<20))
		o := open(t, local(t), s.URL)
		s.set(func() {
			s.wrap = func(w http.ResponseWriter, r *http.Request, _ http.Handler) { write("text/html", login)(w, r) }
		})
		before := s.requests.Load()
		_, err := o.ReadAt(make([]byte, 10), 1<<20)
		require.ErrorIs(t, err, fs.ErrPermission)
		require.NotErrorIs(t, err, ErrChanged)
		require.Equal(t, before+1, s.requests.Load())
	})
}

func TestClient_Open_expired(t *testing.T) {
	past, future := time.Now().Add(-2*time.Hour).UTC(), time.Now().Add(time.Hour).UTC()
	amz := func(at time.Time) string {
		return "X-Amz-Signature=secret&X-Amz-Expires=3600&X-Amz-Date=" + at.Format("20060102T150405Z")
	}
	xml := func(status int, code, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/xml")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
		}
	}
	denied := xml(http.StatusForbidden, "AccessDenied", "Access Denied")
	const at, unknown = "the signature of the URL expired at ", "the signature or the token has expired"
	for name, x := range map[string]struct {
		query   string
		answer  http.HandlerFunc
		want    string
		without bool
	}{
		"Amazon":                {amz(past), denied, at + past.Add(time.Hour).Format(time.RFC3339), false},
		"Google":                {"X-Goog-Expires=1&X-Goog-Date=" + past.Format("20060102T150405Z"), denied, at, false},
		"CloudFront":            {"Signature=secret&Expires=" + strconv.FormatInt(past.Unix(), 10), denied, at, false},
		"Azure":                 {"sig=secret&se=" + past.Format(time.RFC3339), denied, at, false},
		"message of the server": {"", xml(http.StatusForbidden, "AccessDenied", "Request has expired"), unknown, false},
		"token":                 {"", xml(http.StatusBadRequest, "ExpiredToken", "The provided token has expired."), unknown, false},
		"valid signature":       {amz(future), denied, "expired", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, requests := answers(t, x.answer)
			_, err := local(t).Open(t.Context(), s.URL+"/x.h5?"+x.query)
			require.Error(t, err)
			if x.without {
				require.NotContains(t, err.Error(), x.want)
			} else {
				require.ErrorContains(t, err, x.want)
			}
			require.NotContains(t, err.Error(), "secret")
			require.Equal(t, int64(1), requests.Load())
		})
	}
}

func TestClient_Open_throttled(t *testing.T) {
	body := content(1000)
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			var refused atomic.Int64
			s := serve(t, body)
			s.wrap = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if refused.Add(1) == 1 {
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(status)
					return
				}
				next.ServeHTTP(w, r)
			}
			began := time.Now()
			open(t, local(t), s.URL)
			require.GreaterOrEqual(t, time.Since(began), time.Second)
			require.Equal(t, int64(2), s.requests.Load())
		})
	}
	t.Run("longer than the timeout", func(t *testing.T) {
		s, requests := answers(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
		})
		_, err := local(t).Open(t.Context(), s.URL)
		require.ErrorIs(t, err, ErrResponse)
		require.ErrorContains(t, err, "the server asks to wait")
		require.Equal(t, int64(1), requests.Load())
	})
	t.Run("without a time", func(t *testing.T) {
		require.Zero(t, retryAfter(&http.Response{Header: http.Header{"Retry-After": {"soon"}}}))
		require.Zero(t, retryAfter(&http.Response{Header: http.Header{"Retry-After": {"-5"}}}))
		require.Zero(t, retryAfter(&http.Response{}))
	})
}
