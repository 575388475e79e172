// Tests of the lock that writers of a file hold.
package draft_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
)

// soon returns a context that ends after 50 ms.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// growing creates an array of no elements that can grow.
func growing(t *testing.T, location string, o *hyperslab.CreateOptions) {
	t.Helper()
	spec := ndarray.Spec{Shape: []int64{0}, MaxShape: []int64{ndarray.Unlimited}, ChunkShape: []int64{16}, DType: ndarray.DTypeOf[int64]()}
	d, err := hyperslab.Create(t.Context(), location, spec, o)
	require.NoError(t, err)
	require.NoError(t, d.Commit(t.Context()))
	require.NoError(t, d.Close())
}

// writes are functions that change the array at a location, in the given file.
var writes = map[string]func(ctx context.Context, file, location string) error{
	"Open": func(ctx context.Context, file, location string) error {
		a, err := hyperslab.Open(ctx, location, &hyperslab.OpenOptions{Write: true})
		if err != nil {
			return err
		}
		return a.Close()
	},
	"Update": func(ctx context.Context, file, location string) error {
		return hyperslab.Update(ctx, file, func(string) error { return nil })
	},
	"Create": func(ctx context.Context, file, location string) error {
		d, err := hyperslab.Create(ctx, location, ndarray.Spec{Shape: []int64{2}, DType: ndarray.DTypeOf[int64]()}, &hyperslab.CreateOptions{Overwrite: true})
		if err != nil {
			return err
		}
		return d.Close()
	},
	"LockFile": func(ctx context.Context, file, location string) error {
		l, err := hyperslab.LockFile(ctx, file, nil)
		if err != nil {
			return err
		}
		return l.Release()
	},
}

func TestLockFile(t *testing.T) {
	for name, at := range map[string][2]string{
		"b2nd": {"f.b2nd", ""}, "sparse b2nd": {"f.dir", ""}, "bcolz": {"f.bcolz", ""}, "HDF5": {"f.h5", ":/x"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), at[0])
			location := file + at[1]
			o := &hyperslab.CreateOptions{}
			if name == "sparse b2nd" {
				o.Format, o.Sparse = hyperslab.B2ND, true
			}
			growing(t, location, o)
			l, err := hyperslab.LockFile(t.Context(), file, nil)
			require.NoError(t, err)
			for what, write := range writes {
				if what == "Create" && name == "sparse b2nd" {
					continue
				}
				err := write(soon(t), file, location)
				require.ErrorIs(t, err, hyperslab.ErrLocked, what)
				require.ErrorIs(t, err, context.DeadlineExceeded, what)
				require.ErrorContains(t, err, file, what)
				require.ErrorContains(t, err, "this process", what)
			}
			a, err := hyperslab.Open(t.Context(), location, nil)
			require.NoError(t, err, "readers are not stopped")
			require.NoError(t, a.Close())

			for range 2 { // the holder of the lock changes the file, in place and by a copy
				require.NoError(t, hyperslab.UpdateWith(t.Context(), file, &hyperslab.UpdateOptions{Lock: l}, func(copy string) error {
					a, err := hyperslab.Open(t.Context(), copy+at[1], &hyperslab.OpenOptions{Write: true})
					if err != nil {
						return err
					}
					return errors.Join(ndarray.Append(t.Context(), a, 0, []int64{1}), a.Close())
				}))
				require.ErrorIs(t, writes["Update"](soon(t), file, location), hyperslab.ErrLocked)
				a, err := hyperslab.Open(t.Context(), location, &hyperslab.OpenOptions{Write: true, Lock: l})
				require.NoError(t, err)
				require.NoError(t, ndarray.Append(t.Context(), a, 0, []int64{2}))
				require.NoError(t, a.Close())
			}
			require.ErrorIs(t, writes["Update"](soon(t), file, location), hyperslab.ErrLocked)
			require.NoError(t, l.Release())
			for what, write := range writes {
				if what != "Create" || name != "sparse b2nd" {
					require.NoError(t, write(t.Context(), file, location), what)
				}
			}
			a, err = hyperslab.Open(t.Context(), location, nil)
			require.NoError(t, err)
			got, err := ndarray.ReadAll[int64](t.Context(), a)
			require.NoError(t, err)
			require.NoError(t, a.Close())
			require.Equal(t, []int64{1, 2, 1, 2}, got)
		})
	}
}

// TestOpen_replaced checks that an array does not overwrite the changes of a program that does not
// take part in locks.
func TestOpen_replaced(t *testing.T) {
	for _, name := range []string{"f.b2nd", "f.bcolz"} {
		for _, o := range []hyperslab.OpenOptions{{Write: true}, {Durable: true}} {
			if o.Durable && name != "f.b2nd" {
				continue
			}
			file := filepath.Join(t.TempDir(), name)
			growing(t, file, nil)
			a, err := hyperslab.Open(t.Context(), file, &o)
			require.NoError(t, err)
			require.NoError(t, ndarray.Append(t.Context(), a, 0, []int64{1}))
			other := file + ".other" + filepath.Ext(name)
			growing(t, other, nil)
			require.NoError(t, os.RemoveAll(file))
			require.NoError(t, os.Rename(other, file))
			require.ErrorIs(t, ndarray.Append(t.Context(), a, 0, []int64{2}), hyperslab.ErrReplaced)
			require.ErrorIs(t, ndarray.Write(t.Context(), a, []int64{3}, ndarray.Region{Start: []int64{0}, Shape: []int64{1}}), hyperslab.ErrReplaced)
			_ = a.Close()
			b, err := hyperslab.Open(t.Context(), file, nil)
			require.NoError(t, err)
			require.Equal(t, []int64{0}, b.Shape())
			require.NoError(t, b.Close())
		}
	}
}

func TestUpdate_replaced(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.b2nd")
	growing(t, file, nil)
	err := hyperslab.Update(t.Context(), file, func(string) error {
		return os.WriteFile(file, []byte("the change of a program without the lock"), 0o600)
	})
	require.ErrorIs(t, err, hyperslab.ErrReplaced)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(b), "the change")
}

// TestUpdate_h5py checks that a writer and h5py exclude each other, and that readers of h5py are
// not stopped.
func TestUpdate_h5py(t *testing.T) {
	python := testenv.Python(t, "h5py")
	file := filepath.Join(t.TempDir(), "f.h5")
	growing(t, file+":/x", nil)
	h5py := func(mode string) ([]byte, error) {
		return exec.Command(python, "-c", "import h5py, sys; h5py.File(sys.argv[1], sys.argv[2]).close()", file, mode).CombinedOutput()
	}
	require.NoError(t, hyperslab.Update(t.Context(), file, func(string) error {
		out, err := h5py("r+")
		require.Error(t, err)
		require.Contains(t, string(out), "unable to lock file")
		out, err = h5py("r")
		require.NoError(t, err, "%s", out)
		return nil
	}))
	a, err := hyperslab.Open(t.Context(), file+":/x", &hyperslab.OpenOptions{Write: true})
	require.NoError(t, err)
	out, err := h5py("r+")
	require.Error(t, err)
	require.Contains(t, string(out), "unable to lock file")
	require.NoError(t, a.Close())

	// A process of h5py has the file open until its standard input is closed.
	cmd := exec.Command(python, "-c", "import h5py, sys; f = h5py.File(sys.argv[1], 'r+'); print('open', flush=True); sys.stdin.read()", file)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	ready, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = ready.Read(make([]byte, 4))
	require.NoError(t, err)
	for what, write := range writes {
		err := write(soon(t), file, file+":/x")
		require.ErrorIs(t, err, hyperslab.ErrLocked, what)
		require.ErrorContains(t, err, "python", what)
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		_ = in.Close()
	}()
	for what, write := range writes {
		require.NoError(t, write(t.Context(), file, file+":/x"), what)
	}
	require.NoError(t, cmd.Wait())
}
