// URLs as sources: --allow-private, --io-stats, and local copies for commands that need a file.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/chunked/readahead"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/remote"
)

// remoteFlags are the options for URLs.
type remoteFlags struct {
	allowPrivate, stats bool
	cacheDir            string
	indexes             []string

	before *remote.Client // client before the command
}

func (r *remoteFlags) add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.BoolVar(&r.allowPrivate, "allow-private", false, "allow URLs with addresses in private networks, for example 127.0.0.1")
	f.BoolVar(&r.stats, "io-stats", false, "report requests, bytes and cache hits of URLs on standard error")
	f.StringVar(&r.cacheDir, "cache-dir", "", "`DIRECTORY` of a disk cache for URLs (at most 16 GiB)")
	f.StringArrayVar(&r.indexes, "url-index", nil, "`INDEX` of a URL, written by hyperslab index; INDEX=URL for another URL")
}

// begin sets the client of the command.
func (r *remoteFlags) begin(a *app) error {
	if r.before == nil {
		r.before = remote.DefaultClient
		remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: r.allowPrivate, CacheDir: r.cacheDir, OnUnverified: a.unverified})
	}
	for _, x := range r.indexes {
		file, url, _ := strings.Cut(x, "=")
		if err := remote.DefaultClient.UseIndex(file, url); err != nil {
			return err
		}
	}
	return nil
}

// end reports the counters and restores the client.
func (r *remoteFlags) end(a *app) {
	if r.before == nil {
		return
	}
	c := remote.DefaultClient
	remote.DefaultClient, r.before = r.before, nil
	c.CloseIdle()
	if r.stats {
		a.note("%s %s", a.talk.Notice(*a.name.Load()+": io:"), c.Stats())
	}
}

// unverified warns once about an object of which parts of two versions may be mixed.
func (a *app) unverified(err error) {
	if _, before := a.warned.LoadOrStore(err.Error(), true); !before {
		a.note("%s warning: %s; if it changes during the command, the result may contain data of two versions", a.talk.Notice(*a.name.Load()+":"), err.Error())
	}
}

// openHDF5URL opens an HDF5 file at a URL with libhdf5.
func openHDF5URL(url string) (*h5.File, error) {
	o, err := remote.DefaultClient.Open(context.Background(), url)
	if err != nil {
		return nil, err
	}
	f, err := h5.OpenReaderAt(o, o.Size(), &h5.ReaderOptions{BlockSize: 512, Blocks: 256, Concurrent: true, Close: o.Close})
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return f, nil
}

// sourceFile is an open file or remote object.
type sourceFile interface {
	io.ReaderAt
	io.Closer
}

// directoryAtURL returns the directory of a sparse frame or of a bcolz tree at a URL, and its kind
// for explain. It returns nil for any other URL.
func directoryAtURL(url string) (dir fs.FS, kind string) {
	dir, err := remote.DefaultClient.FS(context.Background(), url)
	if err != nil {
		return nil, ""
	}
	if _, err := fs.Stat(dir, cframe.IndexFile); err == nil {
		return dir, asFrame
	}
	if kind, err := bcolztree.Detect(dir, "."); err == nil && kind != bcolztree.NotATree {
		return dir, asBcolz
	}
	return nil, ""
}

// mostCopied is the maximum size of a file that a command copies from a URL.
const mostCopied = 16 << 30

// fetched returns the path of a local copy of the file at a URL, and a function that deletes it.
// Another path is returned as it is. The commands that examine every byte of a file use it.
func fetched(ctx context.Context, file string) (name string, done func() error, err error) {
	if !remote.IsURL(file) {
		return file, func() error { return nil }, nil
	}
	o, err := remote.DefaultClient.Open(ctx, file)
	if err == nil {
		defer func() { err = errors.Join(err, o.Close()) }()
		_, err = sniffStructure(o, o.Size())
	}
	if err != nil {
		// A server may answer the request for a directory with a page.
		if dir, _ := directoryAtURL(file); dir != nil {
			return "", nil, fmt.Errorf("%w: a local copy of the directory %s, because HTTP cannot list its files", errors.ErrUnsupported, remote.Redact(file))
		}
		if o == nil {
			return "", nil, err
		}
	}
	if o.Size() > mostCopied {
		return "", nil, fmt.Errorf("%w: %s: size: got %d bytes, want at most %d for a local copy", hyperslab.ErrLimit, remote.Redact(file), o.Size(), int64(mostCopied))
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
