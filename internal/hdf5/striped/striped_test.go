package striped_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/hdf5/striped"
)

var i4 = h5.Int(4, h5.LittleEndian)

func region(start, count []int64) h5.Region { return h5.Region{Start: start, Count: count} }

func growing(dims []int64, most ...int64) h5.Dataspace {
	return h5.Dataspace{Kind: h5.Simple, Dims: dims, MaxDims: most}
}

// TestCreate checks that a striped dataset contains the same elements as an array, with any
// placement, whether it is written as a whole or by parts.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		rows, cols := rapid.Int64Range(1, 9).Draw(t, "rows"), rapid.Int64Range(1, 9).Draw(t, "cols")
		chunks := []int64{rapid.Int64Range(1, rows).Draw(t, "chunk rows"), rapid.Int64Range(1, cols).Draw(t, "chunk cols")}
		files := rapid.IntRange(1, 3).Draw(t, "files")
		s := striped.Options{}
		for i := range files {
			s.Files = append(s.Files, fmt.Sprintf("%d-%d.h5", run, i))
		}
		if rapid.Bool().Draw(t, "placed") {
			salt := rapid.Int64Range(0, 100).Draw(t, "salt")
			s.Place = func(c []int64) int { return int((c[0]*c[0] + 3*c[1] + salt) % int64(files)) }
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.h5", run))
		f, err := h5.Create(path, nil)
		require.NoError(t, err)
		d, err := striped.Create(f.Root(), "d", i4, h5.SimpleSpace(rows, cols), s, h5.DatasetOptions{
			ChunkShape: chunks, Filters: []h5.Filter{h5.Deflate(1)},
		})
		require.NoError(t, err)
		want := make([]int32, rows*cols)
		for i := range want {
			want[i] = int32(i + 1)
		}
		whole := region([]int64{0, 0}, []int64{rows, cols})
		byParts := rapid.Bool().Draw(t, "by parts")
		if byParts {
			parts, err := d.Parts(whole)
			require.NoError(t, err)
			byFile := map[int][]striped.Part{}
			for _, p := range parts {
				byFile[p.File] = append(byFile[p.File], p)
			}
			var wg sync.WaitGroup
			errs := make([]error, files)
			for n, parts := range byFile {
				wg.Go(func() {
					for _, p := range parts {
						var v []int32
						for i := range p.Region.Count[0] {
							at := (p.Region.Start[0]+i)*cols + p.Region.Start[1]
							v = append(v, want[at:at+p.Region.Count[1]]...)
						}
						if err := h5value.Write(p.Dataset, v, p.Source); err != nil {
							errs[n] = err
						}
					}
				})
			}
			wg.Wait()
			for _, err := range errs {
				require.NoError(t, err)
			}
		} else {
			require.NoError(t, h5value.Write(d.Dataset, want, whole))
		}
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())

		f, err = h5.Open(path, h5.ReadOnly)
		require.NoError(t, err)
		plain, err := f.Root().OpenDataset("d")
		require.NoError(t, err)
		got, err := h5value.ReadAll[int32](plain)
		require.NoError(t, err)
		require.Equal(t, want, got)
		d, err = striped.Open(plain)
		require.NoError(t, err)
		r := region([]int64{rapid.Int64Range(0, rows-1).Draw(t, "row"), rapid.Int64Range(0, cols-1).Draw(t, "col")}, nil)
		r.Count = []int64{rapid.Int64Range(1, rows-r.Start[0]).Draw(t, "n"), rapid.Int64Range(1, cols-r.Start[1]).Draw(t, "m")}
		parts, err := d.Parts(r)
		require.NoError(t, err)
		for _, p := range parts {
			got := make([]int32, p.Source.NumElems())
			require.NoError(t, h5value.Read(p.Dataset, got, p.Source))
			for i := range got {
				row, col := p.Region.Start[0]+int64(i)/p.Region.Count[1], p.Region.Start[1]+int64(i)%p.Region.Count[1]
				require.Equal(t, want[row*cols+col], got[i])
			}
		}
		require.NoError(t, d.Close())
		require.NoError(t, f.Close())
	})
}

func TestCreate_invalid(t *testing.T) {
	dir := t.TempDir()
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	g := f.Root()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "there.h5"), []byte("precious"), 0o644))
	ten, o := h5.SimpleSpace(10), h5.DatasetOptions{ChunkShape: []int64{2}}
	two := striped.Options{Files: []string{"a.h5", "b.h5"}}
	for name, tt := range map[string]struct {
		space h5.Dataspace
		s     striped.Options
		o     h5.DatasetOptions
		want  error
	}{
		"no files":   {ten, striped.Options{}, o, h5.ErrParam},
		"no chunks":  {ten, two, h5.DatasetOptions{}, h5.ErrParam},
		"growing":    {growing([]int64{10}, h5.Unlimited), two, o, h5.ErrParam},
		"empty":      {growing([]int64{0}, 10), two, o, h5.ErrParam},
		"placement":  {ten, striped.Options{Files: two.Files, Place: func([]int64) int { return 2 }}, o, h5.ErrParam},
		"file there": {ten, striped.Options{Files: []string{"a.h5", "there.h5"}}, o, h5.ErrExists},
		"same file":  {ten, striped.Options{Files: []string{"a.h5", "a.h5"}}, o, h5.ErrExists},
		"percent":    {ten, striped.Options{Files: []string{"a%b.h5"}}, o, h5.ErrParam},
		"rank":       {ten, two, h5.DatasetOptions{ChunkShape: []int64{2, 2}}, h5.ErrParam},
		"too many":   {h5.SimpleSpace(1 << 17), two, h5.DatasetOptions{ChunkShape: []int64{1}}, h5.ErrSize},
		"filter":     {ten, two, h5.DatasetOptions{ChunkShape: []int64{2}, Filters: []h5.Filter{{ID: 31999}}}, h5.ErrNoFilter},
		"options":    {ten, two, h5.DatasetOptions{ChunkShape: []int64{2}, Alloc: 9}, h5.ErrParam},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := striped.Create(g, "d", i4, tt.space, tt.s, tt.o)
			require.ErrorIs(t, err, tt.want)
			for _, name := range two.Files {
				require.NoFileExists(t, filepath.Join(dir, name))
			}
			b, err := os.ReadFile(filepath.Join(dir, "there.h5"))
			require.NoError(t, err)
			require.Equal(t, "precious", string(b))
		})
	}
	plain, err := g.CreateDataset("plain", i4, ten, nil)
	require.NoError(t, err)
	_, err = striped.Open(plain)
	require.ErrorIs(t, err, h5.ErrKind)
	require.NoError(t, plain.Close())
	d, err := striped.Create(g, "d", i4, ten, two, o)
	require.NoError(t, err)
	for _, r := range []h5.Region{
		{Start: []int64{0}, Count: []int64{2}, Stride: []int64{3}}, region([]int64{9}, []int64{2}), region([]int64{0, 0}, []int64{1, 1}), region([]int64{-1}, []int64{1}),
	} {
		_, err := d.Parts(r)
		require.ErrorIs(t, err, h5.ErrRegion, "%v", r)
	}
	require.NoError(t, d.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, "b.h5")))
	virtual, err := g.OpenDataset("d")
	require.NoError(t, err)
	_, err = striped.Open(virtual)
	require.ErrorIs(t, err, h5.ErrNotFound)
}

// TestCreate_driver checks that files of other drivers are rejected, because libhdf5 opens the
// sources of a virtual dataset with the driver of its file and would not find them.
func TestCreate_driver(t *testing.T) {
	for name, driver := range map[string]h5.Driver{"family": h5.Family{MemberSize: 1 << 20}, "split": h5.Split{}, "multi": h5.Multi{Relax: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.h5")
			if name == "family" {
				path = filepath.Join(dir, "x%d.h5")
			}
			a := h5.DefaultFileAccess()
			a.Driver = driver
			o := h5.CreateOptions{}
			o.Access = &a
			f, err := h5.Create(path, &o)
			require.NoError(t, err)
			defer f.Close()
			_, err = striped.Create(f.Root(), "d", i4, h5.SimpleSpace(4), striped.Options{Files: []string{"0.h5"}}, h5.DatasetOptions{ChunkShape: []int64{2}})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.NoFileExists(t, filepath.Join(dir, "0.h5"))
		})
	}
}
