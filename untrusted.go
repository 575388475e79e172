// Untrusted files. They are checked in Go before a C library reads them, and read in a separate
// process if possible.

package hyperslab

import (
	"context"
	"io"
	"time"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
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
	MaxCopy     int64 // bytes copied of an io.ReaderAt or fs.FS that is not a file; default 1 GiB

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

// internal returns the rules for package opened.
func (u *Untrusted) internal() *opened.Untrusted {
	if u == nil {
		return nil
	}
	return &opened.Untrusted{
		InProcess: u.InProcess, FullIsolation: u.FullIsolation, CPU: u.CPU, Wall: u.Wall,
		Limits: format.Limits{Array: u.MaxArray, Chunk: u.MaxChunk, Metadata: u.MaxMetadata, Copy: u.MaxCopy, Memory: u.Memory},
		Policy: tree.Policy{
			Codecs: u.Codecs, Filters: u.Filters, HDF5Filters: u.HDF5Filters,
			ExternalLinks: u.ExternalLinks, VirtualSources: u.VirtualSources, ExternalFiles: u.ExternalFiles,
		},
	}
}

// OpenReaderAt opens an untrusted Blosc2 frame or HDF5 file of size bytes that r reads; see Open.
// object is the path of a dataset in an HDF5 file, and "" for a frame. name is the name of the file
// in messages. o.Untrusted is the zero Untrusted if it is nil.
//
// If r is an *os.File, the file is read in place, and r may be closed afterwards. Otherwise the
// content is first copied into memory, so that the checked bytes are the ones that are read.
// Untrusted.MaxCopy bounds the copy. Outside of Linux the copy is a temporary file without a name.
// The errors of r are those of OpenTreeReaderAt.
func OpenReaderAt(ctx context.Context, r io.ReaderAt, size int64, name, object string, o *OpenOptions) (*ndarray.Array, error) {
	x := orZero(o)
	if x.Untrusted == nil {
		x.Untrusted = new(Untrusted)
	}
	return opened.Reader(ctx, r, size, locate.Location{File: name, Object: object}, x.internal())
}

// Errors of untrusted files and workers, for errors.Is.
var (
	// ErrLimit means that a valid file exceeds a bound of Untrusted, or that a worker exceeded its
	// limit of memory or time.
	ErrLimit = format.ErrLimit
	// ErrUnavailable means that the program does not call Init, or that the system does not support
	// the requested isolation.
	ErrUnavailable = worker.ErrUnavailable
	// ErrCrashed means that a worker failed: a signal killed it, it ended by itself, for example by
	// abort, its Go code panicked, or it sent an invalid response. The message contains the end of
	// its standard error output.
	ErrCrashed = worker.ErrCrashed
)

// Init enables worker processes for this program. It must be the first call of main, and of
// TestMain in tests: a worker is the program's own binary, executed again, and in a worker Init
// serves requests and never returns. Workers read untrusted files; see Untrusted and
// VerifyOptions.Isolated.
//
// A worker has limits of memory, processor time and descriptors, and, if the kernel supports them,
// Landlock and a seccomp filter. A crash, an abort or a hang of a library is then an error of one
// call. Each file has its own worker, which ends when the file is closed. If a program opens a
// second file within five seconds of the first, one more worker starts in advance and waits for at
// most five seconds.
//
// The package catches no signals and waits only for its own workers, so the program may use signals
// and child processes freely. If the program ignores SIGCHLD, or waits for any child, a worker that
// exceeds its limit of processor time returns ErrCrashed instead of ErrLimit. Signals from a
// terminal do not reach workers.
//
// On systems other than Linux, Init does nothing.
func Init() { worker.Init() }
