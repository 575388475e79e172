// Headers and credentials of requests, and cookies.

package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// authorize sets the headers of the options on a request to a host that the caller named. Those
// that the request needs stay.
func (o *Options) authorize(r *http.Request) error {
	for name, values := range o.Header {
		name = http.CanonicalHeaderKey(name)
		if _, needed := r.Header[name]; !needed || name == "User-Agent" {
			r.Header[name] = values
		}
	}
	return o.sign(r)
}

// sign sets the header Authorization of a request to any host.
func (o *Options) sign(r *http.Request) error {
	if o.Authorization == nil {
		return nil
	}
	value, err := o.Authorization(r.Context(), r.URL)
	if err != nil {
		return fmt.Errorf("authorization for %s: %w", r.URL.Host, err)
	}
	if r.Header.Del("Authorization"); value != "" {
		r.Header.Set("Authorization", value)
	}
	return nil
}

// redirected prepares a request that follows a redirect. Another host gets none of the headers of
// the options.
func (o *Options) redirected(r *http.Request, first *url.URL) error {
	if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
		for name := range o.Header {
			r.Header.Del(name)
		}
		r.Header.Del("Authorization")
	}
	return o.sign(r)
}

// cookies returns the jar of a client with Authorization, and nil for any other.
func (o *Options) cookies() http.CookieJar {
	if o.Authorization == nil {
		return nil
	}
	jar, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List}) // it always succeeds
	return jar
}

// Netrc reads user names and passwords for hosts from a file in the format of .netrc, and returns
// a function for Options.Authorization that uses them for HTTP basic authentication. An empty name
// is the file of the environment variable NETRC, or .netrc in the home directory (_netrc on
// Windows); if it does not exist, the function returns "" for every host.
//
// Credentials are sent over https, and over http to loopback addresses only. An entry "default",
// which names no host, is not used.
//
// Netrc returns fs.ErrNotExist for a named file that does not exist, and an error for an entry
// without a host, a name without a value, or a word that .netrc does not have.
func Netrc(file string) (func(ctx context.Context, u *url.URL) (string, error), error) {
	named := file != ""
	if !named {
		if file = os.Getenv("NETRC"); file == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return noAuthorization, nil //nolint:nilerr // without a home directory there is no file
			}
			file = filepath.Join(home, map[bool]string{false: ".netrc", true: "_netrc"}[runtime.GOOS == "windows"])
		}
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return noAuthorization, nil
	}
	if err != nil {
		return nil, err
	}
	hosts, err := parseNetrc(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return func(_ context.Context, u *url.URL) (string, error) {
		login, ok := hosts[strings.ToLower(u.Hostname())]
		if !ok || u.Scheme != "https" && !loopback(u.Hostname()) {
			return "", nil
		}
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(login.user+":"+login.password)), nil
	}, nil
}

func noAuthorization(context.Context, *url.URL) (string, error) { return "", nil }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// netrcLogin is an entry of a .netrc.
type netrcLogin struct{ user, password string }

// parseNetrc returns the entries by host. The first entry of a host is used. Errors contain no
// value of an entry.
func parseNetrc(text string) (map[string]netrcLogin, error) {
	hosts := make(map[string]netrcLogin)
	var host string
	var entry netrcLogin
	end := func() {
		if _, before := hosts[host]; host != "" && !before {
			hosts[host] = entry
		}
		host, entry = "", netrcLogin{}
	}
	p := &netrcParser{text: text}
	inEntry := false
	for {
		word, ok := p.word()
		if !ok {
			end()
			return hosts, nil
		}
		var value *string
		switch {
		case strings.HasPrefix(word, "#"):
			p.skip("\n")
			continue
		case word == "macdef":
			p.skip("\n\n")
			continue
		case word == "default":
			end()
			inEntry = true
			continue
		case word == "machine":
			end()
			inEntry, value = true, &host
		case inEntry && (word == "login" || word == "user"):
			value = &entry.user
		case inEntry && word == "password":
			value = &entry.password
		case inEntry && word == "account":
			value = new(string)
		default:
			return nil, fmt.Errorf("line %d: got an unknown word, want machine, default, login, password, account or macdef", p.line())
		}
		if *value, ok = p.word(); !ok {
			return nil, fmt.Errorf("line %d: %s without a value", p.line(), word)
		}
		if value == &entry.user && strings.Contains(entry.user, ":") { // RFC 7617
			return nil, fmt.Errorf("line %d: a colon in a user name, which HTTP cannot send", p.line())
		}
		if word == "machine" {
			host = strings.ToLower(host)
		}
	}
}

// netrcParser divides a text into words.
type netrcParser struct {
	text string
	at   int
}

// line returns the number of the current line.
func (p *netrcParser) line() int { return 1 + strings.Count(p.text[:p.at], "\n") }

// skip goes to the end of the next occurrence of a text.
func (p *netrcParser) skip(to string) {
	n := strings.Index(p.text[p.at:], to)
	if n < 0 {
		p.at = len(p.text)
		return
	}
	p.at += n + len(to)
}

// word returns the next word. One in double quotes may contain spaces, and a backslash there quotes
// the next character. It returns false at the end.
func (p *netrcParser) word() (string, bool) {
	for p.at < len(p.text) && strings.ContainsRune(" \t\r\n", rune(p.text[p.at])) {
		p.at++
	}
	if p.at == len(p.text) {
		return "", false
	}
	quoted := p.text[p.at] == '"'
	if quoted {
		p.at++
	}
	var word strings.Builder
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		switch {
		case quoted && c == '"':
			p.at++
			return word.String(), true
		case !quoted && strings.ContainsRune(" \t\r\n", rune(c)):
			return word.String(), true
		case c == '\\' && p.at+1 < len(p.text):
			p.at++
			c = p.text[p.at]
		}
		word.WriteByte(c)
	}
	return word.String(), true
}
