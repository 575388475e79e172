// Tests of calls whose context is cancelled while they run. Such a call must return the context's
// error or complete, and must not leave a partial file. Each test cancels the context after several
// numbers of calls of Err and Done.

package opened_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
)

// endsAt is a context that is cancelled when its methods Err and Done have been called more than
// last times.
type endsAt struct {
	context.Context
	cancel context.CancelFunc
	last   int64
	looks  atomic.Int64
}

func ending(last int64) *endsAt {
	ctx, cancel := context.WithCancel(bg)
	return &endsAt{Context: ctx, cancel: cancel, last: last}
}

func (c *endsAt) look() {
	if c.looks.Add(1) > c.last {
		c.cancel()
	}
}

func (c *endsAt) Err() error {
	c.look()
	return c.Context.Err()
}

func (c *endsAt) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

// drained returns the last error of a sequence.
func drained[T any](all func(func(T, error) bool)) (err error) {
	for _, err = range all {
	}
	return err
}

func TestCancelled(t *testing.T) {
	const rows, columns, chunk = 60, 20, 6
	row := make([]byte, 4*columns)
	dir := t.TempDir()
	file := map[string]string{"HDF5": "a.h5:/x", "b2nd": "a.b2nd", "sparse b2nd": "s.b2nd", "Caterva": "a.cat", "bcolz": "a.bcolz"}
	options := map[string]*hyperslab.CreateOptions{"sparse b2nd": {Sparse: true}, "Caterva": {Format: hyperslab.Caterva}}
	opening := map[string]hyperslab.OpenOptions{"Caterva": {DType: new(ndarray.DTypeOf[int32]())}}
	spec := filetest.Int32s(rows, columns)
	spec.ChunkShape = []int64{chunk, columns}
	growing := spec
	growing.MaxShape = []int64{ndarray.Unlimited, columns} // an HDF5 dataset does not grow without it
	specs := map[string]ndarray.Spec{"HDF5": growing, "b2nd": spec, "sparse b2nd": spec, "Caterva": spec, "bcolz": spec}
	for format, name := range file {
		filetest.Save(t, filetest.In(dir, name), specs[format], options[format])
	}
	fresh := t.TempDir

	// A call writes only to the directory to. If it fails, it must leave that directory empty.
	type call func(ctx context.Context, to string) error
	calls := map[string]call{}
	open := func(ctx context.Context, location string, opts hyperslab.OpenOptions) (*ndarray.Array, error) {
		return hyperslab.Open(ctx, location, &opts)
	}
	pathOf := func(directory, format string) string {
		if format == "HDF5" {
			return filetest.In(directory, "a.h5")
		}
		return filetest.In(directory, file[format])
	}
	// writes returns a call that applies f to a writable array in a new file.
	type use func(ctx context.Context, a *ndarray.Array) error
	writes := func(format string, f use, durable bool) call {
		return func(ctx context.Context, _ string) error {
			directory := fresh()
			location := filetest.In(directory, file[format])
			filetest.Save(t, location, specs[format], options[format])
			opts := opening[format]
			opts.Write, opts.Durable = !durable, durable
			a, err := open(bg, location, opts)
			if err != nil {
				return err
			}
			if err = errors.Join(f(ctx, a), a.Close()); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			// The elements may be old or new, but the file must be valid.
			report, verr := hyperslab.Verify(bg, pathOf(directory, format), nil)
			if verr == nil && report.NumFindings > 0 {
				verr = fmt.Errorf("corrupt: %v", report.Findings)
			}
			return errors.Join(err, verr)
		}
	}
	reads := func(format string, f use) call {
		return func(ctx context.Context, _ string) error {
			a, err := open(bg, filetest.In(dir, file[format]), opening[format])
			if err != nil {
				return err
			}
			return errors.Join(f(ctx, a), a.Close())
		}
	}
	whole := ndarray.Whole(spec.Shape)
	values := make([]byte, 4*rows*columns)
	for format, name := range file {
		location := filetest.In(dir, name)
		path := pathOf(dir, format)
		calls[format+": open"] = func(ctx context.Context, _ string) error {
			a, err := open(ctx, location, opening[format])
			if err != nil {
				return err
			}
			return a.Close()
		}
		calls[format+": open untrusted"] = func(ctx context.Context, _ string) error {
			opts := opening[format]
			opts.Untrusted = &hyperslab.Untrusted{InProcess: true}
			g, err := open(ctx, location, opts)
			if err != nil {
				return err
			}
			return g.Close()
		}
		calls[format+": create"] = func(ctx context.Context, to string) error {
			d, err := hyperslab.Create(ctx, filetest.In(to, name), specs[format], options[format])
			if err != nil {
				return err
			}
			err = d.Write(ctx, values, whole)
			if err == nil {
				err = d.Commit(ctx)
			}
			return errors.Join(err, d.Close())
		}
		calls[format+": copy"] = func(ctx context.Context, to string) error {
			src, err := open(bg, location, opening[format])
			if err != nil {
				return err
			}
			d, err := hyperslab.Create(ctx, filetest.In(to, name), specs[format], options[format])
			if err != nil {
				return errors.Join(err, src.Close())
			}
			if _, err = ndarray.Copy(ctx, d.Array, src, &ndarray.CopyOptions{Decode: true}); err == nil {
				err = d.Commit(ctx)
			}
			return errors.Join(err, d.Close(), src.Close())
		}
		for what, f := range map[string]use{
			"write":  func(ctx context.Context, a *ndarray.Array) error { return a.Write(ctx, values, whole) },
			"append": func(ctx context.Context, a *ndarray.Array) error { return a.Append(ctx, 0, row) },
			"resize": func(ctx context.Context, a *ndarray.Array) error { return a.Resize(ctx, []int64{rows + 9, columns}) },
			"put": func(ctx context.Context, a *ndarray.Array) error {
				return a.Put(ctx, make([]byte, 8), ndarray.Points([]int64{1, 3}, []int64{40, 4}))
			},
			"set attribute": func(ctx context.Context, a *ndarray.Array) error {
				return a.SetAttr(ctx, ndarray.Attr{Name: "n", Value: ndarray.Scalar(1.5)})
			},
		} {
			calls[format+": "+what] = writes(format, f, false)
			if format == "b2nd" {
				calls["durable b2nd: "+what] = writes(format, f, true)
			}
		}
		for what, f := range map[string]use{
			"read": func(ctx context.Context, a *ndarray.Array) error {
				return a.Read(ctx, make([]byte, len(values)), whole)
			},
			"take": func(ctx context.Context, a *ndarray.Array) error {
				return a.Take(ctx, make([]byte, 8), ndarray.Points([]int64{1, 3}, []int64{40, 4}))
			},
			"attributes": func(ctx context.Context, a *ndarray.Array) error {
				_, err := a.Attrs(ctx)
				return err
			},
			"storage": func(ctx context.Context, a *ndarray.Array) error {
				_, err := a.Storage(ctx)
				return err
			},
			"chunk map": func(ctx context.Context, a *ndarray.Array) error { return drained(a.StoredChunks(ctx)) },
			"summarize": func(ctx context.Context, a *ndarray.Array) error {
				_, err := ndarray.Summarize(ctx, a, nil)
				return err
			},
			"histogram": func(ctx context.Context, a *ndarray.Array) error {
				_, err := ndarray.CountBins(ctx, a, 0, 100, 5, nil)
				return err
			},
			"each": func(ctx context.Context, a *ndarray.Array) error {
				return ndarray.Each(ctx, a, nil, func(ctx context.Context, _ ndarray.Region, _ []byte) error { return ctx.Err() })
			},
			"compare": func(ctx context.Context, a *ndarray.Array) error {
				_, err := ndarray.Compare(ctx, a, a, nil)
				return err
			},
		} {
			calls[format+": "+what] = reads(format, f)
		}
		calls[format+": verify"] = func(ctx context.Context, _ string) error {
			_, err := hyperslab.Verify(ctx, path, nil)
			return err
		}
		calls[format+": recover"] = func(ctx context.Context, to string) error {
			_, err := hyperslab.Recover(ctx, pathOf(to, format), path, nil)
			return err
		}
		calls[format+": walk"] = func(ctx context.Context, _ string) error { return drained(hyperslab.Walk(ctx, path, nil)) }
		calls[format+": walk untrusted"] = func(ctx context.Context, _ string) error {
			return drained(hyperslab.Walk(ctx, path, &hyperslab.WalkOptions{Untrusted: &hyperslab.Untrusted{InProcess: true}}))
		}
	}
	calls["copy of a tree"] = func(ctx context.Context, to string) error {
		_, err := filetest.CopyTree(ctx, filetest.In(to, "t.h5"), filetest.In(dir, "a.h5"), nil)
		return err
	}
	calls["edit"] = func(ctx context.Context, _ string) error {
		location := filetest.In(fresh(), "a.b2nd")
		filetest.Save(t, location, spec, nil)
		return hyperslab.Update(ctx, location, func(string) error { return nil })
	}
	calls["shards"] = func(ctx context.Context, to string) error {
		parts := []shards.Shard{{Dir: filetest.In(fresh(), "p"), First: 0, End: 4}, {Dir: filetest.In(fresh(), "q"), First: 4, End: shards.All}}
		if err := shards.Split(ctx, filetest.In(dir, "a.bcolz"), parts); err != nil {
			return err
		}
		return shards.Join(ctx, filetest.In(to, "j"), parts)
	}
	refused := []string{"durable b2nd: resize", "durable b2nd: set attribute"}
	r := rand.New(rand.NewPCG(8, 9))
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		f := calls[name]
		t.Run(name, func(t *testing.T) {
			never := ending(math.MaxInt64)
			defer never.cancel()
			if slices.Contains(refused, name) {
				require.ErrorIs(t, f(never, t.TempDir()), errors.ErrUnsupported)
				return
			}
			require.NoError(t, f(never, t.TempDir()))
			looks := never.looks.Load()
			require.Positive(t, looks, "it never looks at its context")
			points := []int64{0, looks / 2}
			for range 2 {
				points = append(points, r.Int64N(looks))
			}
			for i, at := range points {
				ctx, to := ending(at), t.TempDir()
				err := f(ctx, to)
				ctx.cancel()
				if i == 0 || err != nil {
					require.ErrorIs(t, err, context.Canceled, fmt.Sprintf("look %d of %d", at, looks))
					require.Empty(t, filetest.Entries(t, to), "the target, or parts of it")
				}
			}
		})
	}
	for format, name := range file {
		a, err := open(bg, filetest.In(dir, name), opening[format])
		require.NoError(t, err, format)
		got := make([]int32, rows*columns)
		require.NoError(t, ndarray.Read(bg, a, got, whole))
		require.Equal(t, filetest.Count(rows*columns), got, format)
		require.NoError(t, a.Close())
	}
}
