// Targets at s3:// URLs: the output is written to a temporary directory and then uploaded.

package shell

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// UploadHelp describes targets at URLs.
const UploadHelp = `

The target can be s3://bucket/key: the output is written to the temporary directory and
uploaded in parts, which become an object at the end. An existing object is replaced only
with -f. The chunks of a sparse frame are uploaded before its index. A run that fails or
is interrupted leaves no object.`

// UploadFlags are the flags of a command that writes to a URL.
type UploadFlags struct {
	Force, DryRun bool
	Progress      string
}

// Upload calls write with a location in a temporary directory, and uploads the file or sparse frame
// that it creates to the URL target.
func (a *App) Upload(ctx context.Context, target string, o UploadFlags, write func(location string) error) error {
	to, err := locate.Parse(target)
	if err != nil {
		return err
	}
	url, shown := to.File, remote.Redact(to.File)
	format, _ := NamedFormat(strings.TrimSuffix(url, "/"))
	switch {
	case !strings.HasPrefix(strings.ToLower(url), "s3:"):
		return Usagef("%s: web servers cannot be written to; want s3://bucket/key", shown)
	case format == hyperslab.Bcolz || format == hyperslab.B2D:
		return severalFiles(shown)
	}
	if !o.Force {
		for _, object := range []string{url, strings.TrimSuffix(url, "/") + "/" + cframe.IndexFile} {
			if err := urlfile.Get().Vacant(ctx, object); err != nil {
				return existingTarget(shown, err)
			}
		}
	}
	return atomicfile.Scratch(ctx, path.Base(strings.TrimSuffix(url, "/")), func(file string) error {
		if err := write(locate.Location{File: file, Object: to.Object}.String()); err != nil || o.DryRun {
			return err
		}
		return a.uploadFile(ctx, file, url, o)
	})
}

// uploadFile uploads a file or sparse frame to a URL.
func (a *App) uploadFile(ctx context.Context, file, url string, o UploadFlags) error {
	if info, err := os.Stat(file); err != nil {
		return err
	} else if info.IsDir() {
		if _, err := os.Stat(filepath.Join(file, cframe.IndexFile)); err != nil {
			return severalFiles(remote.Redact(url))
		}
	}
	size, err := PathBytes(file)
	if err != nil {
		return err
	}
	m := term.NewMeter(o.Progress, a.Stderr, "upload", size, time.Now)
	defer m.Finish()
	var done atomic.Int64
	ChangesInPlace.Add(1) // an interrupted upload removes its parts and chunks first
	defer ChangesInPlace.Add(-1)
	return existingTarget(remote.Redact(url), urlfile.Get().Upload(ctx, url, urlfile.Upload{
		Path: file, Last: cframe.IndexFile, Replace: o.Force, Progress: func(n int64) { m.Update(done.Add(n)) },
	}))
}

// existingTarget returns the error of an upload as an error of a target that exists, if it is one.
func existingTarget(url string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &ndarray.Error{Op: "create", Path: url, Err: ndarray.ErrExists}
	}
	return err
}

// severalFiles refuses a directory that is not a sparse frame.
func severalFiles(url string) error {
	return fmt.Errorf("%w: %s: several files cannot be uploaded at once; .b2z and .h5 contain many arrays in one file",
		errors.ErrUnsupported, url)
}

// JoinTarget returns the path of a file in a directory, which may be a URL.
func JoinTarget(dir, name string) string {
	if remote.IsURL(dir) {
		return strings.TrimSuffix(dir, "/") + "/" + name
	}
	return filepath.Join(dir, name)
}
