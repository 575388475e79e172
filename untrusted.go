// Untrusted files. They are checked in Go before a C library reads them, and read in a separate
// process if possible.

package hyperslab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/isolated"
	"github.com/hyperslab/hyperslab/internal/tree/opener"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Untrusted are the options for untrusted files. The zero value is suitable for files from any
// source: the file is checked in Go, and then read in a worker process with the isolation that the
// kernel provides, which Sandbox reports. Linux has workers; on other systems, and in a program
// that does not call Init, only InProcess works. Otherwise functions return ErrUnavailable.
//
// The numbers bound the resources. Zero means the default. A file that exceeds a bound returns
// ErrLimit, also if a worker exceeded it.
//
// The other fields list features that a file may use in addition to arrays in the file itself.
// Without them, the codecs and filters of this module that are safe for untrusted bytes are
// allowed, and no references to other files. Other features return errors.ErrUnsupported.
type Untrusted struct {
	InProcess     bool // read in the program's own process, after the check
	FullIsolation bool // return ErrUnavailable unless the worker has every kind of isolation

	MaxArray    int64 // bytes of all elements of an array according to its shape; default 1 TiB
	MaxChunk    int64 // bytes of a decoded chunk; default 512 MiB
	MaxMetadata int64 // bytes of one metadata structure, and of all attributes; default 64 MiB
	MaxCopy     int64 // bytes copied of an io.ReaderAt that is not a file; default 1 GiB

	Memory int64         // bytes of memory of a worker; default 2 GiB
	CPU    time.Duration // processor time of a worker for one call; default 60 s
	Wall   time.Duration // time of one call of a worker; default 120 s

	Codecs  []cblosc.Codec    // of Blosc2 arrays, in addition to those that are safe for any bytes
	Filters []cblosc.FilterID // of Blosc2 arrays, in addition to the safe ones

	// HDF5Filters are allowed in addition to those of package h5/filter. N-bit (5) and scale-offset
	// (6) are always allowed in a worker. Without a worker they must be listed, because libhdf5
	// decodes them without checking the length of their input.
	HDF5Filters []int

	// ExternalLinks allows external links in an HDF5 file. VirtualSources and ExternalFiles allow
	// datasets with elements in other files. Those files are not checked. In a worker they cannot
	// be opened, so that reading their elements returns errors.ErrUnsupported.
	ExternalLinks, VirtualSources, ExternalFiles bool
}

// trust returns the rules for a file, with defaults for bounds that are zero.
func (u *Untrusted) trust() (*tree.Trust, error) {
	limits, err := format.Limits{Array: u.MaxArray, Chunk: u.MaxChunk, Metadata: u.MaxMetadata, Copy: u.MaxCopy, Memory: u.Memory}.Filled()
	if err == nil && (u.CPU < 0 || u.Wall < 0) {
		err = fmt.Errorf("%w: limits of %v and %v", ndarray.ErrParam, u.CPU, u.Wall)
	}
	if err == nil && u.InProcess && u.FullIsolation {
		err = fmt.Errorf("%w: full isolation in the program's own process", ndarray.ErrParam)
	}
	policy := tree.Policy{
		Codecs: u.Codecs, Filters: u.Filters, HDF5Filters: u.HDF5Filters,
		ExternalLinks: u.ExternalLinks, VirtualSources: u.VirtualSources, ExternalFiles: u.ExternalFiles,
	}
	return &tree.Trust{Limits: limits, Policy: policy, Direct: u.InProcess}, err
}

// OpenReaderAt opens an untrusted Blosc2 frame or HDF5 file of size bytes that r reads; see Open.
// object is the path of a dataset in an HDF5 file, and "" for a frame. name is the name of the file
// in messages. o.Untrusted is the zero Untrusted if it is nil.
//
// If r is an *os.File, the file is read in place, and r may be closed afterwards. Otherwise the
// content is first copied to a temporary file without a name, so that the checked bytes are the
// ones that are read. Untrusted.MaxCopy bounds the copy.
func OpenReaderAt(ctx context.Context, r io.ReaderAt, size int64, name, object string, o *OpenOptions) (*ndarray.Array, error) {
	l := locate.Location{File: name, Object: object}
	opts := orZero(o)
	if opts.Untrusted == nil {
		opts.Untrusted = new(Untrusted)
	}
	trust, err := opts.checkUntrusted(ctx)
	if err != nil {
		return nil, ndarray.Wrap("open untrusted", l.String(), err)
	}
	s, err := tree.Reader(ctx, r, size, name, trust)
	if err != nil {
		return nil, ndarray.Wrap("open untrusted", l.String(), err)
	}
	a, err := openSuspect(ctx, s, object, opts)
	return a, ndarray.Wrap("open untrusted", l.String(), err)
}

// checkUntrusted checks the options for an untrusted file, and returns the rules for it.
func (o *OpenOptions) checkUntrusted(ctx context.Context) (*tree.Trust, error) {
	if o.Write || o.Durable || o.Library || o.ExternalDir != "" || o.Missing != nil || o.Shards != nil {
		return nil, fmt.Errorf("%w: an untrusted file is opened with OpenOptions.DType and no other option", ndarray.ErrParam)
	}
	trust, err := o.Untrusted.trust()
	return trust, errors.Join(err, ctx.Err())
}

// openUntrusted opens the array at a location. Of a directory of arrays only its own file is
// opened.
func openUntrusted(ctx context.Context, location string, o OpenOptions) (*ndarray.Array, error) {
	trust, err := o.checkUntrusted(ctx)
	if err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	s, err := tree.Untrusted(ctx, l.File, trust)
	if err != nil {
		return nil, err
	}
	return openSuspect(ctx, s, l.Object, o)
}

// openSuspect opens the array at a path of an untrusted source, in this process or in a worker. It
// takes ownership of the source.
func openSuspect(ctx context.Context, s *tree.Source, object string, o OpenOptions) (*ndarray.Array, error) {
	s, f, path, err := opener.All().Part(s, object)
	if err != nil {
		return nil, err
	}
	t, err := o.openSource(ctx, f, s, &isolated.Options{Alone: true, Path: path, DType: o.DType})
	if err != nil {
		return nil, err
	}
	return tree.NewArray(tree.OpenArray(ctx, t, path, &tree.ArrayOptions{DType: o.DType}))
}

// openSource opens an untrusted source, in this process or in a worker. It takes ownership of the
// source.
func (o *OpenOptions) openSource(ctx context.Context, f *tree.Format, s *tree.Source, x *isolated.Options) (tree.Tree, error) {
	if o.Untrusted.InProcess {
		return opener.Open(ctx, f, s, &tree.OpenOptions{Alone: x.Alone, Path: x.Path})
	}
	x.CPU, x.Wall, x.Full = o.Untrusted.CPU, o.Untrusted.Wall, o.Untrusted.FullIsolation
	return isolated.Open(ctx, f, s, x)
}

// openUntrustedTree is OpenTree for an untrusted file.
func openUntrustedTree(ctx context.Context, location string, o OpenOptions) (*Tree, error) {
	if o.DType != nil {
		return nil, fmt.Errorf("%w: OpenOptions.DType is for Open", ndarray.ErrParam)
	}
	trust, err := o.checkUntrusted(ctx)
	if err != nil {
		return nil, err
	}
	l, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	s, err := tree.Untrusted(ctx, l.File, trust)
	if err != nil {
		return nil, err
	}
	f, err := opener.All().Of(s)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	t, err := o.openSource(ctx, f, s, &isolated.Options{})
	if err != nil {
		return nil, err
	}
	return newTree(t, f, l, &o), nil
}
