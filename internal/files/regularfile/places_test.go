// Tests that this module returns an error immediately wherever it finds a special file or a
// directory instead of a regular file.

package regularfile_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/cblosc/frameio"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/sandbox/worker"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

func TestMain(m *testing.M) {
	worker.Init()
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs}, leak.Check{Name: "worker processes", Left: worker.Left})
}

var bg = context.Background()

// odd creates files that are not regular.
var odd = map[string]func(t *testing.T, path string){
	"a named pipe": func(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) },
	"a directory":  func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) },
	"a device":     func(t *testing.T, path string) { require.NoError(t, os.Symlink("/dev/zero", path)) },
	"a socket": func(t *testing.T, path string) {
		short := filepath.Join(t.TempDir(), "s") // paths of sockets must be short
		l, err := net.Listen("unix", short)
		require.NoError(t, err)
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		require.NoError(t, l.Close())
		require.NoError(t, os.Rename(short, path))
	},
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/file", []byte("content"), 0o600))
	f, info, err := regularfile.Open(dir + "/file")
	require.NoError(t, err)
	require.Equal(t, int64(7), info.Size())
	require.NoError(t, f.Close())
	require.NoError(t, regularfile.Check(dir+"/file", info))
	_, _, err = regularfile.Open(dir + "/none")
	require.ErrorIs(t, err, os.ErrNotExist)
	for what, put := range odd {
		path := filepath.Join(dir, what)
		put(t, path)
		_, _, err := regularfile.Open(path)
		require.ErrorIs(t, err, regularfile.ErrNot, what)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.ErrorContains(t, regularfile.Check(path, info), path+": not a regular file but "+what)
		root, err := regularfile.OpenRoot(path)
		if what == "a directory" {
			require.NoError(t, err)
			require.NoError(t, root.Close())
		} else {
			require.ErrorIs(t, err, unix.ENOTDIR, what)
			require.ErrorContains(t, err, path+": ")
		}
	}
}

// place is the path of a file to replace, in a file or directory that is otherwise valid.
type place struct {
	location string // of the array
	file     string // file or directory of the array
	odd      string
}

// save creates an array in dir and returns the path of one of its files as a place.
func save(t *testing.T, location, part string, opts *hyperslab.CreateOptions) place {
	t.Helper()
	l, err := locate.Parse(location)
	require.NoError(t, err)
	p := place{location, l.File, l.File + part}
	if l.Object == "/a" { // array in a directory of arrays
		require.NoError(t, os.Mkdir(l.File, 0o700))
		location = l.File + "/a.b2nd"
	}
	d, err := hyperslab.Create(bg, location, ndarray.Spec{Shape: []int64{64}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{16}}, opts)
	require.NoError(t, err)
	values := make([]int64, 64)
	for i := range values {
		values[i] = int64(i * 7919)
	}
	require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	require.NoError(t, d.Close())
	return p
}

// read reads all elements of an opened array and closes it.
func read(a *ndarray.Array, err error) error {
	if err != nil {
		return err
	}
	b := make([]byte, a.NBytes())
	return errors.Join(a.Read(bg, b, ndarray.Whole(a.Shape())), a.Close())
}

// closed closes x if it was opened.
func closed[T interface{ Close() error }](x T, err error) error {
	if err != nil {
		return err
	}
	return x.Close()
}

// attempts are the operations to try on a path, by name. Each must return an error.
type attempts map[string]func(p place) error

// arrays are the operations on an array of any format.
var arrays = attempts{
	"open":     func(p place) error { return read(hyperslab.Open(bg, p.location, nil)) },
	"to write": func(p place) error { return read(hyperslab.Open(bg, p.location, &hyperslab.OpenOptions{Write: true})) },
	"by library": func(p place) error {
		return read(hyperslab.Open(bg, p.location, &hyperslab.OpenOptions{Library: true}))
	},
	"untrusted":   func(p place) error { return untrusted(p, true) },
	"in a worker": func(p place) error { return untrusted(p, false) },
	"verify":      func(p place) error { return verified(p, &hyperslab.VerifyOptions{}) },
	"isolated":    func(p place) error { return verified(p, &hyperslab.VerifyOptions{Isolated: true}) },
}

var frames = attempts{
	"frameio": func(p place) error {
		a, err := frameio.OpenArray(p.file)
		if err != nil {
			return err
		}
		return errors.Join(a.ReadRegion(bg, make([]byte, 512), []int64{0}, []int64{64}, 1), a.Close())
	},
	"cblosc": func(p place) error {
		a, err := cblosc.OpenArray(p.file)
		if err != nil {
			return err
		}
		return errors.Join(a.ReadRegion(make([]byte, 512), []int64{0}, []int64{64}), a.Close())
	},
	"durable": func(p place) error {
		return read(hyperslab.Open(bg, p.location, &hyperslab.OpenOptions{Durable: true}))
	},
	"recover": func(p place) error { return recovered(p, "") },
}

var trees = attempts{
	"recover": func(p place) error { return recovered(p, "") },
	"objects": func(p place) error { _, err := bcolz.OpenObjects(p.file, nil); return err },
}

// tops are the operations on a path that contains no array.
var tops = attempts{
	"sniff": func(p place) error { _, err := hyperslab.Sniff(p.file); return err },
	"edit": func(p place) error {
		return hyperslab.Update(bg, p.file, func(string) error { return errors.New("edited") })
	},
	"tree": func(p place) error { return closed(hyperslab.OpenTree(bg, p.file, nil)) },
	"super-chunk": func(p place) error {
		return closed(cblosc.OpenSChunk(p.file))
	},
	"rename frame": func(p place) error { return cblosc.Rename(p.file, p.file+".new") },
	"remove frame": func(p place) error { return cblosc.Remove(p.file) },
	"mapped":       func(p place) error { return closed(frameio.OpenMapped(p.file, nil)) },
	"append":       func(p place) error { return closed(frameio.Append(p.file, nil)) },
	"rows":         func(p place) error { return closed(frameio.WriteArray(p.file, &frameio.ArrayOptions{Durable: true})) },
	"hdf5":         func(p place) error { return closed(h5.Open(p.file, h5.ReadOnly)) },
	"hdf5, write":  func(p place) error { return closed(h5.Open(p.file, h5.ReadWrite)) },
	"is hdf5":      func(p place) error { _, err := h5.IsHDF5(p.file); return err },
	"remove hdf5":  func(p place) error { return h5.Delete(p.file, nil) },
	"table":        func(p place) error { _, err := bcolz.OpenTable(p.file, nil); return err },
	"split": func(p place) error {
		return shards.Split(bg, p.file, []shards.Shard{{Dir: p.file + ".shard", End: 4}})
	},
}

func init() {
	for _, f := range []hyperslab.Format{"", hyperslab.B2ND, hyperslab.Caterva, hyperslab.HDF5, hyperslab.Bcolz} {
		tops[fmt.Sprintf("verify as %q", f)] = func(p place) error { return verified(p, &hyperslab.VerifyOptions{Format: f}) }
		tops[fmt.Sprintf("isolated as %q", f)] = func(p place) error { return verified(p, &hyperslab.VerifyOptions{Format: f, Isolated: true}) }
		tops[fmt.Sprintf("recover as %q", f)] = func(p place) error { return recovered(p, f) }
	}
}

func untrusted(p place, direct bool) error {
	g, err := hyperslab.Open(bg, p.location, &hyperslab.OpenOptions{Untrusted: &hyperslab.Untrusted{InProcess: direct}})
	if err != nil {
		return err
	}
	return read(g, nil)
}

// errFound is returned for a report that contains findings.
var errFound = errors.New("found")

func verified(p place, o *hyperslab.VerifyOptions) error {
	r, err := hyperslab.Verify(bg, p.file, o)
	if err == nil && r.NumFindings+r.NumUnchecked != 0 {
		err = errFound
	}
	return err
}

func recovered(p place, f hyperslab.Format) error {
	r, err := hyperslab.Recover(bg, p.file+".new", p.file, &hyperslab.RecoverOptions{Format: f})
	if err == nil && !r.Complete {
		err = errFound
	}
	return err
}

// typed reports whether an error has one of the documented error types.
func typed(err error) bool {
	return errors.As(err, new(*ndarray.Error)) || errors.As(err, new(*cblosc.Error)) || errors.As(err, new(*frameio.Error)) ||
		errors.As(err, new(*h5.Error)) || errors.Is(err, errFound)
}

// patience is the time limit of an attempt, because an operation that waits for a pipe would never
// end.
const patience = 5 * time.Minute

func TestPlaces(t *testing.T) {
	sparse := func(part string) func(t *testing.T, dir string) place {
		return func(t *testing.T, dir string) place {
			return save(t, dir+"/s.b2nd", part, &hyperslab.CreateOptions{Sparse: true})
		}
	}
	tree := func(part string) func(t *testing.T, dir string) place {
		return func(t *testing.T, dir string) place { return save(t, dir+"/a.bcolz", part, nil) }
	}
	top := func(name string) func(t *testing.T, dir string) place {
		return func(_ *testing.T, dir string) place { return place{dir + name, dir + name, dir + name} }
	}
	check := attempts{"check digests": func(p place) error { return verified(p, &hyperslab.VerifyOptions{CheckDigests: true}) }}
	for name, c := range map[string]struct {
		put   func(t *testing.T, dir string) place
		tries []attempts
	}{
		"frame":                  {top("/x.b2nd"), []attempts{arrays, frames, tops}},
		"HDF5 file":              {top("/x.h5"), []attempts{tops}},
		"tree":                   {top("/x.bcolz"), []attempts{trees}},
		"index":                  {sparse("/chunks.b2frame"), []attempts{arrays, frames}},
		"chunk":                  {sparse("/00000001.chunk"), []attempts{arrays, frames}},
		"first chunk":            {sparse("/00000000.chunk"), []attempts{arrays, frames}}, // C-Blosc2 opens it with the array
		"storage":                {tree("/meta/storage"), []attempts{arrays, trees}},
		"sizes":                  {tree("/meta/sizes"), []attempts{arrays, trees}},
		"record":                 {tree("/meta/hyperslab"), []attempts{arrays, trees}},
		"attributes":             {tree("/__attrs__"), []attempts{arrays, trees}},
		"chunk of a tree":        {tree("/data/__1.blp"), []attempts{arrays, trees}},
		"array of a directory":   {func(t *testing.T, dir string) place { return save(t, dir+"/d:/a", "/a.b2nd", nil) }, []attempts{arrays}},
		"digests":                {func(t *testing.T, dir string) place { return save(t, dir+"/x.b2nd", ".sha256", nil) }, []attempts{check}},
		"digests of a directory": {func(t *testing.T, dir string) place { return save(t, dir+"/d:/a", ".sha256", nil) }, []attempts{check}},
	} {
		for what, put := range odd {
			t.Run(name+" is "+what, func(t *testing.T) {
				if name == "array of a directory" && what == "a directory" {
					t.SkipNow() // this directory would be a valid group
				}
				p := c.put(t, t.TempDir())
				require.NoError(t, os.RemoveAll(p.odd))
				put(t, p.odd)
				for _, list := range c.tries {
					for name, try := range list {
						done := make(chan error, 1)
						go func() { done <- try(p) }()
						select {
						case err := <-done:
							require.Error(t, err, name)
							require.True(t, typed(err), "%s: %T %v", name, err, err)
						case <-time.After(patience):
							t.Fatalf("%s waits", name)
						}
						require.NoError(t, os.RemoveAll(p.file+".new"))
					}
				}
			})
		}
	}
}
