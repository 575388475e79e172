package remote

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/internal/testkit/s3test"
)

// store starts an S3 server in memory with the bucket "data" and sets the environment for it. The
// function check is called with each request and may be nil.
func store(t *testing.T, objects map[string][]byte, check func(*http.Request)) *httptest.Server {
	return s3test.Start(t, objects, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if check != nil {
			check(r)
		}
		next.ServeHTTP(w, r)
	}).Server
}

func TestClient_Open_s3(t *testing.T) {
	body := content(3 << 20)
	objects := map[string][]byte{"dir/a b+ü.h5": body}
	read := func(t *testing.T, c *Client, url string) {
		o := open(t, c, url)
		got := make([]byte, len(body))
		_, err := o.ReadAt(got, 0)
		require.NoError(t, err)
		require.True(t, bytes.Equal(body, got))
	}
	t.Run("credentials of the environment", func(t *testing.T) {
		var signed atomic.Pointer[http.Request]
		store(t, objects, func(r *http.Request) { signed.Store(r) })
		c := NewClient(nil) // a private endpoint is allowed because the user has configured it
		t.Cleanup(c.CloseIdle)
		read(t, c, "s3://data/dir/a b+ü.h5")
		read(t, c, "s3://data/dir/a%20b%2B%C3%BC.h5")
		r := signed.Load()
		require.Contains(t, r.Header.Get("Authorization"), "Credential=key/")
		require.Contains(t, r.Header.Get("Authorization"), "/eu-west-3/s3/")
		require.Equal(t, "token", r.Header.Get("X-Amz-Security-Token"))
	})
	t.Run("shared files", func(t *testing.T) {
		var signed atomic.Pointer[http.Request]
		s := store(t, objects, func(r *http.Request) { signed.Store(r) })
		for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"} {
			t.Setenv(name, "")
		}
		t.Setenv("AWS_PROFILE", "lab")
		require.NoError(t, os.WriteFile(os.Getenv("AWS_CONFIG_FILE"), []byte("[default]\nregion = x\n[profile lab]\nregion = us-west-2\nendpoint_url = "+s.URL+"\ns3 =\n  max_concurrent_requests = 20\n"), 0o600))
		require.NoError(t, os.WriteFile(os.Getenv("AWS_SHARED_CREDENTIALS_FILE"), []byte("[lab]\naws_access_key_id = labkey\naws_secret_access_key = s\n"), 0o600))
		c := NewClient(nil)
		t.Cleanup(c.CloseIdle)
		read(t, c, "s3://data/dir/a b+ü.h5")
		require.Contains(t, signed.Load().Header.Get("Authorization"), "Credential=labkey/")
		require.Contains(t, signed.Load().Header.Get("Authorization"), "/us-west-2/s3/")
	})
	t.Run("role of the instance", func(t *testing.T) {
		var signed atomic.Pointer[http.Request]
		store(t, objects, func(r *http.Request) { signed.Store(r) })
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		var asked atomic.Int64
		role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = io.WriteString(w, `{"AccessKeyId":"rolekey","SecretAccessKey":"s","Token":"roletoken","Expiration":"2999-01-01T00:00:00Z"}`)
		}))
		t.Cleanup(role.Close)
		t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
		c := NewClient(nil)
		t.Cleanup(c.CloseIdle)
		read(t, c, "s3://data/dir/a b+ü.h5")
		require.Contains(t, signed.Load().Header.Get("Authorization"), "Credential=rolekey/")
		require.Equal(t, "roletoken", signed.Load().Header.Get("X-Amz-Security-Token"))
		require.Equal(t, int64(1), asked.Load())
	})
	t.Run("anonymous", func(t *testing.T) {
		var signed atomic.Pointer[http.Request]
		store(t, objects, func(r *http.Request) { signed.Store(r) })
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		c := NewClient(nil)
		t.Cleanup(c.CloseIdle)
		read(t, c, "s3://data/dir/a b+ü.h5")
		require.Empty(t, signed.Load().Header.Get("Authorization"))
	})
	t.Run("errors", func(t *testing.T) {
		store(t, objects, nil)
		c := NewClient(nil)
		t.Cleanup(c.CloseIdle)
		for url, want := range map[string]error{
			"s3://data/none":          fs.ErrNotExist,
			"s3://other/none":         fs.ErrNotExist,
			"s3://data":               ErrRefused,
			"s3://data/x?versionId=1": ErrRefused,
			"s3://-/x":                ErrRefused,
			"s3://k:secret@data/x":    ErrRefused,
		} {
			_, err := c.Open(t.Context(), url)
			require.ErrorIs(t, err, want, url)
			require.NotContains(t, err.Error(), "secret")
		}
		_, err := c.Open(t.Context(), "s3://other/none")
		require.ErrorContains(t, err, "NoSuchBucket")
	})
	t.Run("endpoint with credentials", func(t *testing.T) {
		store(t, nil, nil)
		t.Setenv("AWS_ENDPOINT_URL_S3", "http://u:secret@localhost")
		_, err := NewClient(nil).Open(t.Context(), "s3://data/x")
		require.ErrorIs(t, err, ErrRefused)
		require.NotContains(t, err.Error(), "secret")
	})
	t.Run("endpoint without a scheme", func(t *testing.T) {
		store(t, nil, nil)
		for _, e := range []string{"localhost:9000", "localhost", "ftp://localhost", "http://"} {
			t.Setenv("AWS_ENDPOINT_URL_S3", e)
			c := NewClient(nil)
			for range 2 {
				_, err := c.Open(t.Context(), "s3://data/x")
				require.ErrorIs(t, err, ErrRefused)
				require.ErrorContains(t, err, "AWS_ENDPOINT_URL")
			}
			c.CloseIdle()
		}
	})
	t.Run("another region", func(t *testing.T) {
		var regions []string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			regions = append(regions, strings.Split(r.Header.Get("Authorization"), "/")[2])
			if len(regions) == 1 {
				w.Header().Set("X-Amz-Bucket-Region", "ap-south-1")
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			http.ServeContent(w, r, "", fileInfo{}.ModTime(), bytes.NewReader(body))
		}))
		t.Cleanup(s.Close)
		store(t, nil, nil)
		t.Setenv("AWS_ENDPOINT_URL_S3", s.URL)
		c := NewClient(nil)
		t.Cleanup(c.CloseIdle)
		open(t, c, "s3://data/x")
		require.Equal(t, []string{"eu-west-3", "ap-south-1"}, regions)
	})
	t.Run("addresses of AWS", func(t *testing.T) {
		store(t, nil, nil)
		t.Setenv("AWS_ENDPOINT_URL_S3", "")
		c := NewClient(nil)
		for url, want := range map[string]string{
			"s3://bucket/a b/c":  "https://bucket.s3.eu-west-3.amazonaws.com/a%20b/c",
			"s3://with.dots/key": "https://s3.eu-west-3.amazonaws.com/with.dots/key",
		} {
			x, err := c.target(url)
			require.NoError(t, err)
			require.Equal(t, want, x.(*s3Target).address().String())
		}
	})
}
