// The files of the served directory: confined names, open sources, and signatures for ETags.

package serve

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	memory "github.com/hyperslab/hyperslab/internal/chunked/budget"
)

// signature identifies the content of a file or directory at one time.
type signature [sha256.Size]byte

// maxSigned is the maximum number of files of a directory whose times are part of its signature.
// A larger directory is opened again for each request.
const maxSigned = 4096

// files opens the files of a directory. os.Root guarantees that a name never leads out of it, also
// not by a symbolic link.
type files struct {
	root    *os.Root // nil: only remote files
	remote  map[string]*remoteFile
	options *Options

	mu     sync.Mutex
	list   []*openFile // the last used one at the end
	closed bool
}

// openFile is a file whose source is open. One request at a time uses the source.
type openFile struct {
	name  string
	sig   signature
	turn  chan struct{} // holds one value while a request uses the source
	file  *os.File
	src   source
	users int  // requests that use or wait for the source
	stale bool // not in the list any more: the last user closes it
}

// fileName returns the clean name of a file: relative, with slashes.
func fileName(name string) (string, error) {
	name = strings.TrimLeft(name, "/")
	if name == "" {
		return "", fail(http.StatusUnprocessableEntity, "the parameter file is missing")
	}
	if !fs.ValidPath(path.Clean(name)) || strings.ContainsRune(name, 0) {
		return "", notFound(name)
	}
	return path.Clean(name), nil
}

// notFound is the error for a missing file. h5web matches "File not found".
func notFound(name string) error {
	return fail(http.StatusNotFound, "File not found: %s", name)
}

// look returns the signature of a file or directory. ok is false if the directory is too large.
func (f *files) look(ctx context.Context, name string) (sig signature, ok bool, err error) {
	if r := f.remote[name]; r != nil {
		sig, err = r.look(ctx, name)
		return sig, err == nil, err
	}
	if only := f.options.File; f.root == nil || only != "" && name != only {
		return sig, false, notFound(name)
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return sig, false, openError(name, err)
	}
	h := sha256.New()
	sign := func(p string, info fs.FileInfo) {
		fmt.Fprintf(h, "%q", p)
		b := binary.LittleEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano()))
		b = binary.LittleEndian.AppendUint64(b, uint64(info.Size()))
		h.Write(binary.LittleEndian.AppendUint64(b, inode(info)))
	}
	sign(name, info)
	if info.IsDir() {
		n := 0
		err = fs.WalkDir(f.root.FS(), name, func(p string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if n++; n > maxSigned {
				return errLarge
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			sign(p, info)
			return nil
		})
		if errors.Is(err, errLarge) {
			return sig, false, nil
		}
		if err != nil {
			return sig, false, openError(name, err)
		}
	} else if !info.Mode().IsRegular() {
		return sig, false, fail(http.StatusForbidden, "Permission denied: %s is not a regular file", name)
	}
	h.Sum(sig[:0])
	return sig, true, nil
}

var errLarge = errors.New("too many files")

// openError returns the error for a file that cannot be opened. It contains no path of this system.
func openError(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notFound(name)
	case errors.Is(err, fs.ErrPermission):
		return &problem{Status: http.StatusForbidden, Message: "Permission denied: " + name, err: err}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok { // for example, a link that leads out of the directory
		return &problem{Status: http.StatusForbidden, Message: fmt.Sprintf("Permission denied: %s: %v", name, e.Err), err: err}
	}
	return &problem{Status: http.StatusInternalServerError, Message: name + ": cannot be opened", err: err}
}

// answer answers a request for the content of a file with a known signature.
func (f *files) answer(ctx context.Context, name string, sig signature, keep bool, q *request) (r response, err error) {
	o, err := f.take(name, sig, keep)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, f.put(o)) }()
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return r, ctx.Err()
	}
	defer func() { <-o.turn }()
	if o.src == nil {
		if err := f.open(ctx, o); err != nil {
			return r, err
		}
	}
	return o.src.answer(ctx, q)
}

// take returns the open file with this name and signature, or a new one that is not open yet.
func (f *files) take(name string, sig signature, keep bool) (*openFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fail(http.StatusServiceUnavailable, "the server is closed")
	}
	if i := slices.IndexFunc(f.list, func(o *openFile) bool { return keep && o.name == name && o.sig == sig }); i >= 0 {
		o := f.list[i]
		f.list = append(slices.Delete(f.list, i, i+1), o)
		o.users++
		return o, nil
	}
	o := &openFile{name: name, sig: sig, turn: make(chan struct{}, 1), users: 1, stale: !keep}
	if !keep {
		return o, nil
	}
	var out []*openFile
	f.list = slices.DeleteFunc(f.list, func(x *openFile) bool {
		if x.name == name { // an older version
			out = append(out, x)
		}
		return x.name == name
	})
	f.list = append(f.list, o)
	for len(f.list) > f.options.Files {
		out = append(out, f.list[0])
		f.list = slices.Delete(f.list, 0, 1)
	}
	var err error
	for _, x := range out {
		x.stale = true
		if x.users == 0 {
			err = errors.Join(err, x.close())
		}
	}
	return o, err
}

// put ends the use of a file.
func (f *files) put(o *openFile) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	o.users--
	if o.stale && o.users == 0 {
		return o.close()
	}
	return nil
}

// stat returns the size and the time of a file. raw is set for a regular file.
func (f *files) stat(ctx context.Context, name string) (size int64, changed time.Time, raw bool, err error) {
	if r := f.remote[name]; r != nil {
		_, err = r.look(ctx, name)
		return r.size, r.since, true, err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return 0, changed, false, openError(name, err)
	}
	return info.Size(), info.ModTime(), info.Mode().IsRegular(), nil
}

// open opens the file and its source.
func (f *files) open(ctx context.Context, o *openFile) (err error) {
	opts := &sourceOptions{Name: path.Base(o.name), Trusted: f.options.Trusted, Limits: f.options.Untrusted, Blocks: f.options.ChunkCache, Memory: memory.Limit()}
	r := f.remote[o.name]
	switch {
	case r == nil:
		if o.file, err = f.root.OpenFile(o.name, os.O_RDONLY|nonBlocking, 0); err != nil {
			return openError(o.name, err)
		}
	case f.options.Trusted:
		o.src, err = openRemoteSource(ctx, r.url, opts)
		return err
	default:
		if o.file, err = r.copyOf(ctx, o.name, f.options.Untrusted.MaxCopy); err != nil {
			return err
		}
	}
	if f.options.Trusted || f.options.Untrusted.InProcess {
		opts.Direct = true
		o.src, err = openSource(ctx, o.file, opts)
		if err != nil {
			p := problemOf(err)
			err = &problem{Status: p.Status, Message: renamed(p.Message, o.name, o.file), err: err}
		}
	} else {
		var s *isolated
		if s, err = newIsolated(o.file, opts); err == nil {
			o.src = s
		}
	}
	if err != nil {
		err = errors.Join(err, o.file.Close())
		o.file = nil
	}
	return err
}

func (o *openFile) close() error {
	var err error
	if o.src != nil {
		err = o.src.close()
		o.src = nil
	}
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
		o.file = nil
	}
	return err
}

func (f *files) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	for _, o := range f.list {
		o.stale = true
		if o.users == 0 {
			err = errors.Join(err, o.close())
		}
	}
	f.list, f.closed = nil, true
	if f.root == nil {
		return err
	}
	return errors.Join(err, f.root.Close())
}
