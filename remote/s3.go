// S3 and compatible stores: endpoint, region, credentials and signatures.

package remote

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
	"gopkg.in/ini.v1"
)

// s3Account is the configuration of S3 in the environment, read at first use.
type s3Account struct {
	once     sync.Once
	err      error
	endpoint *url.URL // nil: AWS
	region   string
	web      *http.Client
	creds    *credentials.Credentials
	meta     *http.Client // for the role of the instance

	mu        sync.Mutex
	anonymous bool
	regions   map[string]string // of buckets in another region
}

// defaultRegion is the region without a setting.
const defaultRegion = "us-east-1"

// metadataTimeout limits the request for the role of the instance, because other machines do not
// answer it.
const metadataTimeout = 2 * time.Second

func (a *s3Account) load(c *Client) error {
	a.once.Do(func() { a.err = a.read(c) })
	return a.err
}

func (a *s3Account) read(c *Client) error {
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"), "default")
	shared, err := sharedConfig(profile)
	if err != nil {
		return err
	}
	a.regions = make(map[string]string)
	a.region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), shared["region"], defaultRegion)
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a.web = &http.Client{Transport: c.web.Transport, CheckRedirect: noRedirect}
	if e := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), shared["endpoint_url"]); e != "" {
		u, err := url.Parse(e)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("%w: endpoint of S3 (AWS_ENDPOINT_URL): want an http or https URL without credentials, for example http://localhost:9000", ErrRefused)
		}
		a.endpoint = u
		// The user chose the endpoint, so that its address may be private.
		a.web = &http.Client{Transport: newHTTP(&c.o, true).Transport, CheckRedirect: noRedirect}
	}
	a.meta = &http.Client{Timeout: metadataTimeout}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{Profile: profile}}
	role := os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "" || os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI") != ""
	if role || a.endpoint == nil && !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		providers = append(providers, &credentials.IAM{Client: a.meta, Region: a.region})
	}
	a.creds = credentials.NewChainCredentials(providers)
	return nil
}

// sharedConfig returns the settings of a profile in the shared configuration file.
func sharedConfig(profile string) (map[string]string, error) {
	file := os.Getenv("AWS_CONFIG_FILE")
	if file == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil //nolint:nilerr // without a home directory there is no file
		}
		file = filepath.Join(home, ".aws", "config")
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := ini.LoadSources(ini.LoadOptions{Loose: true, AllowNestedValues: true, SkipUnrecognizableLines: true}, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	name := "profile " + profile
	if profile == "default" && !f.HasSection(name) {
		name = profile
	}
	if !f.HasSection(name) {
		return nil, nil
	}
	return f.Section(name).KeysHash(), nil
}

// value returns the credentials; those without an access key are anonymous.
func (a *s3Account) value() (credentials.Value, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.anonymous {
		return credentials.Value{}, nil
	}
	v, err := a.creds.GetWithContext(&credentials.CredContext{Client: a.meta})
	if err != nil {
		return v, fmt.Errorf("credentials of S3: %w", err)
	}
	a.anonymous = v.AccessKeyID == ""
	return v, nil
}

func (a *s3Account) closeIdle() {
	for _, c := range []*http.Client{a.web, a.meta} {
		if c != nil { // the configuration may be invalid
			c.CloseIdleConnections()
		}
	}
}

func (a *s3Account) regionOf(bucket string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.regions[bucket], a.region)
}

// s3Target is an object of a bucket.
type s3Target struct {
	a           *s3Account
	bucket, key string
}

func (a *s3Account) target(c *Client, u *url.URL) (target, error) {
	if err := a.load(c); err != nil {
		return nil, err
	}
	t := &s3Target{a, u.Host, strings.TrimPrefix(u.Path, "/")}
	if err := s3utils.CheckValidBucketName(t.bucket); err != nil {
		return nil, fmt.Errorf("%w: bucket %q", ErrRefused, t.bucket)
	}
	if t.key == "" || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: want s3://bucket/key without a query", ErrRefused)
	}
	return t, nil
}

// address returns the URL of the object.
func (t *s3Target) address() *url.URL {
	u := &url.URL{Scheme: "https", Path: "/" + t.key}
	switch {
	case t.a.endpoint != nil:
		u.Scheme, u.Host = t.a.endpoint.Scheme, t.a.endpoint.Host
		u.Path = strings.TrimSuffix(t.a.endpoint.Path, "/") + "/" + t.bucket + u.Path
	case strings.Contains(t.bucket, "."): // the certificate of AWS has no such names
		u.Host = "s3." + t.a.regionOf(t.bucket) + ".amazonaws.com"
		u.Path = "/" + t.bucket + u.Path
	default:
		u.Host = t.bucket + ".s3." + t.a.regionOf(t.bucket) + ".amazonaws.com"
	}
	u.RawPath = s3utils.EncodePath(u.Path)
	return u
}

// emptyHash is the SHA-256 of a request without a body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func (t *s3Target) send(r *http.Request) (*http.Response, error) {
	h, err := t.once(r)
	if err != nil {
		return nil, err
	}
	region := h.Header.Get("X-Amz-Bucket-Region")
	refused := h.StatusCode == http.StatusMovedPermanently || h.StatusCode == http.StatusTemporaryRedirect || h.StatusCode == http.StatusBadRequest
	if !refused || region == "" || region == t.a.regionOf(t.bucket) || strings.ContainsFunc(region, notRegion) {
		return h, nil
	}
	t.a.mu.Lock()
	t.a.regions[t.bucket] = region
	t.a.mu.Unlock()
	_ = h.Body.Close() // the error page is not needed
	return t.once(r)
}

// notRegion reports whether a region cannot contain c. A region becomes part of a host name.
func notRegion(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }

func (t *s3Target) once(r *http.Request) (*http.Response, error) {
	v, err := t.a.value()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	query := r.URL.RawQuery
	r.URL = t.address()
	r.URL.RawQuery = query
	r.Host = r.URL.Host
	if r.GetBody != nil { // the request may be sent twice
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	if v.AccessKeyID != "" {
		if r.Header.Get("X-Amz-Content-Sha256") == "" {
			r.Header.Set("X-Amz-Content-Sha256", emptyHash)
		}
		r = signer.SignV4(*r, v.AccessKeyID, v.SecretAccessKey, v.SessionToken, t.a.regionOf(t.bucket))
	}
	return t.a.web.Do(r)
}
