// URLs as sources: --allow-private, --io-stats, and local copies for commands that need a file.

package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/remote"
)

// remoteFlags are the options for URLs.
type remoteFlags struct {
	AllowPrivate, stats bool
	cacheDir            string
	indexes             []string

	before *remote.Client // client before the command
}

// Add adds the flags to all commands.
func (r *remoteFlags) Add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVar(&r.AllowPrivate, "allow-private", false, "allow URLs with addresses in private networks, for example 127.0.0.1")
	f.BoolVar(&r.stats, "io-stats", false, "report requests, bytes and cache hits of URLs on standard error")
	f.StringVar(&r.cacheDir, "cache-dir", "", "`DIRECTORY` of a disk cache for URLs (at most 16 GiB)")
	f.StringArrayVar(&r.indexes, "url-index", nil, "`INDEX` of a URL, written by hyperslab index; INDEX=URL for another URL")
}

// Begin sets the client of the command.
func (r *remoteFlags) Begin(a *App) error {
	if r.before == nil {
		r.before = remote.DefaultClient
		remote.DefaultClient = remote.NewClient(&remote.Options{
			AllowPrivate: r.AllowPrivate, CacheDir: r.cacheDir, OnUnverified: a.Unverified, Authorization: netrc(),
		})
	}
	for _, x := range r.indexes {
		file, url, _ := strings.Cut(x, "=")
		if err := remote.DefaultClient.UseIndex(file, url); err != nil {
			return err
		}
	}
	return nil
}

// netrc returns the credentials in the user's .netrc, which is read for the first request.
func netrc() func(ctx context.Context, u *url.URL) (string, error) {
	read := sync.OnceValues(func() (func(context.Context, *url.URL) (string, error), error) { return remote.Netrc("") })
	return func(ctx context.Context, u *url.URL) (string, error) {
		authorization, err := read()
		if err != nil {
			return "", err
		}
		return authorization(ctx, u)
	}
}

// End reports the counters and restores the client.
func (r *remoteFlags) End(a *App) {
	if r.before == nil {
		return
	}
	c := remote.DefaultClient
	remote.DefaultClient, r.before = r.before, nil
	c.CloseIdle()
	if r.stats {
		a.Note("%s %s", a.Talk.Notice(*a.Name.Load()+": io:"), c.Stats())
	}
}

// Unverified warns once about an object of which parts of two versions may be mixed.
func (a *App) Unverified(err error) {
	if _, before := a.warned.LoadOrStore(err.Error(), true); !before {
		a.Note("%s warning: %s; if it changes during the command, the result may contain data of two versions",
			a.Talk.Notice(*a.Name.Load()+":"), err.Error())
	}
}

// SourceFile is an open file or remote object.
type SourceFile interface {
	io.ReaderAt
	io.Closer
}

// DirectoryAtURL returns the directory of a sparse frame or of a bcolz tree at a URL, and its kind
// for explain. It returns nil for any other URL.
func DirectoryAtURL(url string) (dir fs.FS, kind string) {
	dir, err := remote.DefaultClient.FS(context.Background(), url)
	if err != nil {
		return nil, ""
	}
	if _, err := fs.Stat(dir, cframe.IndexFile); err == nil {
		return dir, AsFrame
	}
	if kind, err := bcolztree.Detect(dir, "."); err == nil && kind != bcolztree.NotATree {
		return dir, AsBcolz
	}
	return nil, ""
}

// mostCopied is the maximum size of a file that a command copies from a URL.
const mostCopied = 16 << 30

// Fetched returns the path of a local copy of the file at a URL, and a function that deletes it.
// Another path is returned as it is. The commands that examine every byte of a file use it.
func Fetched(ctx context.Context, file string) (name string, done func() error, err error) {
	if !remote.IsURL(file) {
		return file, func() error { return nil }, nil
	}
	o, err := remote.DefaultClient.Open(ctx, file)
	if err == nil {
		defer func() { err = errors.Join(err, o.Close()) }()
		_, err = SniffStructure(o, o.Size())
	}
	if err != nil {
		// A server may answer the request for a directory with a page.
		if dir, _ := DirectoryAtURL(file); dir != nil {
			return "", nil, fmt.Errorf("%w: a local copy of the directory %s, because HTTP cannot list its files", errors.ErrUnsupported,
				remote.Redact(file))
		}
		if o == nil {
			return "", nil, err
		}
	}
	if o.Size() > mostCopied {
		return "", nil, fmt.Errorf("%w: %s: size: got %d bytes, want at most %d for a local copy", hyperslab.ErrLimit, remote.Redact(file),
			o.Size(), int64(mostCopied))
	}
	dir, err := os.MkdirTemp("", "hyperslab-*")
	if err != nil {
		return "", nil, err
	}
	done = func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()
	base, _, _ := strings.Cut(file, "?")
	if base = path.Base(base); base == "." || base == "/" {
		base = "file"
	}
	f, err := os.Create(path.Join(dir, base))
	if err != nil {
		return "", nil, err
	}
	defer o.Prefetch(ctx, readahead.List([][2]int64{{0, o.Size()}}))()
	_, err = io.Copy(f, urlfile.Reader(ctx, io.NewSectionReader(o, 0, o.Size())))
	return f.Name(), done, errors.Join(err, f.Close())
}
