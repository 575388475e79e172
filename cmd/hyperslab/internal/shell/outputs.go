package shell

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// SameFile reports whether an address leads into a file.
func SameFile(address, file string) bool {
	loc, err := locate.Parse(address)
	if err != nil {
		return false
	}
	x, errX := os.Stat(loc.File)
	y, errY := os.Stat(file)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// NamedFormat returns the format of new files of that name. ok is false if the extension is
// unknown.
func NamedFormat(file string) (f hyperslab.Format, ok bool) {
	name, ok := detect.Name(file)
	return hyperslab.Format(name), ok
}

// NewOutput starts a file or directory that appears when it is complete.
func NewOutput(ctx context.Context, target string, o atomicfile.Options) (*atomicfile.Output, error) {
	out, err := atomicfile.Create(ctx, target, o)
	if path, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrExist) {
		err = path.Err
	}
	return out, ndarray.Wrap("create", target, err)
}

// Written creates a file or directory with write, completely or not at all.
func Written(ctx context.Context, target string, force bool, write func(file string) error) error {
	return WrittenAs(ctx, target, atomicfile.Options{Overwrite: force}, write)
}

// WrittenAs is Written with the options of the output.
func WrittenAs(ctx context.Context, target string, o atomicfile.Options, write func(file string) error) error {
	out, err := NewOutput(ctx, target, o)
	if err != nil {
		return err
	}
	if err = write(out.Path()); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}
