// Queries of URLs, which may contain signatures and tokens, are not written.

package shell

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/remote"
)

// Secrets are the URLs with a query that a command line names. Writers replace each query by
// "...".
type Secrets struct {
	mu    sync.Mutex
	forms [][2][]byte // a URL as it is written, and its replacement; the longest first
}

// Of adds the URLs in arguments. It reports whether there are any, or may be in a list.
func (s *Secrets) Of(args []string) bool {
	for _, arg := range args {
		s.Add(arg)
	}
	return !s.none() || slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--files-from") })
}

// Add adds the URL in an argument: a location, or FLAG=LOCATION.
func (s *Secrets) Add(arg string) {
	for _, scheme := range []string{"http://", "https://", "s3://"} {
		at := strings.Index(strings.ToLower(arg), scheme)
		if at < 0 || !strings.Contains(arg[at:], "?") {
			continue
		}
		url := arg[at:]
		if l, err := locate.Parse(url); err == nil {
			url = l.File
		}
		if shown := remote.Redact(url); shown != url {
			s.add(url, shown)
		}
	}
}

// add adds the forms in which text, JSON and the URIs of SARIF contain a URL.
func (s *Secrets) add(url, shown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	quoted, err := json.Marshal(url) // it escapes "&"
	forms := []string{url, strings.ReplaceAll(url, "?", "%3F")}
	if err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for _, form := range forms {
		s.forms = append(s.forms, [2][]byte{[]byte(form), []byte(shown)})
	}
	slices.SortFunc(s.forms, func(a, b [2][]byte) int { return len(b[0]) - len(a[0]) })
}

// replaced returns a text without the queries, and the number of bytes at its end that may be the
// beginning of a URL.
func (s *Secrets) replaced(text []byte) (_ []byte, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.forms {
		text = bytes.ReplaceAll(text, f[0], f[1])
	}
	for _, f := range s.forms {
		for n := min(len(f[0])-1, len(text)); n > open; n-- {
			if bytes.HasSuffix(text, f[0][:n]) {
				open = n
			}
		}
	}
	return text, open
}

// Writer returns w without the queries. Flush writes the rest.
func (s *Secrets) Writer(w io.Writer) *SecretWriter { return &SecretWriter{secrets: s, w: w} }

// SecretWriter replaces the queries of URLs.
type SecretWriter struct {
	secrets *Secrets
	mu      sync.Mutex
	w       io.Writer
	rest    []byte
}

var _ term.Filter = (*SecretWriter)(nil)

// Target implements term.Filter.
func (w *SecretWriter) Target() io.Writer { return w.w }

// Write implements io.Writer. It keeps the end of b that may be the beginning of a URL.
func (w *SecretWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && w.secrets.none() {
		return w.w.Write(b)
	}
	text, open := w.secrets.replaced(append(w.rest, b...))
	w.rest = slices.Clone(text[len(text)-open:])
	if _, err := w.w.Write(text[:len(text)-open]); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Flush writes the rest.
func (w *SecretWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := w.w.Write(rest)
	return err
}

func (s *Secrets) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.forms) == 0
}
