package shards_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/internal/tree/shards"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

var bg = context.Background()

// fillEnv is the environment variable that makes the test binary one of several processes that fill
// an array.
const fillEnv = "HYPERSLAB_TEST_FILL"

func TestMain(m *testing.M) {
	if job := os.Getenv(fillEnv); job != "" {
		if err := fill(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leak.Main(m)
}

func parse(t require.TestingT, text string) ndarray.DType {
	d, err := ndarray.ParseDType(text)
	require.NoError(t, err)
	return d
}

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// contents returns the digests of all files below a directory.
func contents(t require.TestingT, dir string) map[string][32]byte {
	out := make(map[string][32]byte)
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		out[name] = sha256.Sum256(b)
		return err
	}))
	return out
}

// source is an array to split.
type source struct {
	chunks int64
	open   func(dir string) (ndarray.Backend, error)
	openFS func(fsys fs.FS) (ndarray.Backend, error)
}

// draw creates a random array in dir.
func draw(t *rapid.T, dir string) source {
	rows := rapid.Int64Range(1, 40).Draw(t, "rows")
	length := rapid.Int64Range(1, 9).Draw(t, "chunk")
	spec := ndarray.Spec{Shape: []int64{rows}, ChunkShape: []int64{length}, DType: parse(t, "<i4"),
		Attrs: []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}}}
	s := source{chunks: (rows + length - 1) / length}
	var b ndarray.Backend
	var err error
	switch kind := rapid.SampledFrom([]string{"carray", "ctable", "nested", "sparse"}).Draw(t, "kind"); kind {
	case "carray":
		s.open = func(dir string) (ndarray.Backend, error) { return bcolz.Open(dir, nil) }
		s.openFS = func(fsys fs.FS) (ndarray.Backend, error) { return bcolz.OpenFS(fsys, ".", nil) }
		b, err = bcolz.Create(dir, spec, nil)
	case "ctable", "nested":
		spec.DType = parse(t, "[('a', '<i4'), ('b', '<f8', (2,))]")
		if kind == "nested" {
			spec.DType = parse(t, "[('a', '<i4'), ('sub', [('b', '<f8'), ('deep', [('c', '|S3')])])]")
		}
		s.open = func(dir string) (ndarray.Backend, error) { return bcolz.OpenRecords(dir, nil) }
		s.openFS = func(fsys fs.FS) (ndarray.Backend, error) {
			table, err := bcolz.OpenTableFS(fsys, ".", nil)
			if err != nil {
				return nil, err
			}
			return table.Records()
		}
		b, err = bcolz.CreateRecords(dir, spec, &bcolz.CreateOptions{Nested: kind == "nested"})
	case "sparse":
		s.open = func(dir string) (ndarray.Backend, error) { return b2nd.Open(dir, nil) }
		s.openFS = func(fsys fs.FS) (ndarray.Backend, error) { return b2nd.OpenFS(fsys, nil) }
		b, err = b2nd.Create(dir, spec, &b2nd.CreateOptions{Sparse: true})
	}
	require.NoError(t, err)
	// Some chunks are never written. In a frame, such chunks exist only in the index.
	first := rapid.Int64Range(0, rows-1).Draw(t, "first")
	n := rapid.Int64Range(1, rows-first).Draw(t, "n")
	r := ndarray.Region{Start: []int64{first}, Shape: []int64{n}}
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, noise(int(n)*spec.DType.Size), r, 0))
	require.NoError(t, b.Close())
	return s
}

func readAll(t require.TestingT, b ndarray.Backend, err error) ([]byte, ndarray.Meta) {
	require.NoError(t, err)
	a, err := ndarray.New(b)
	require.NoError(t, err)
	data := make([]byte, a.NBytes())
	require.NoError(t, a.Read(bg, data, ndarray.Whole(a.Shape())))
	attrs, err := a.Attrs(bg)
	require.NoError(t, err)
	require.Len(t, attrs.List, 1)
	m := a.Meta()
	m.Path = ""
	require.NoError(t, a.Close())
	return data, m
}

// TestSplit_Join checks that splitting and joining an array with random cuts produces the same
// bytes, and that an array can be read while its parts are in several directories.
func TestSplit_Join(t *testing.T) {
	dir := testenv.Scratch(t)
	rapid.Check(t, func(t *rapid.T) {
		sub, err := os.MkdirTemp(dir, "")
		require.NoError(t, err)
		defer os.RemoveAll(sub)
		src, dst := filepath.Join(sub, "src"), filepath.Join(sub, "dst")
		s := draw(t, src)
		cuts := append(rapid.SliceOfN(rapid.Int64Range(0, s.chunks), 0, 4).Draw(t, "cuts"), 0, shards.All)
		slices.Sort(cuts)
		var parts []shards.Shard
		for i := range cuts[1:] {
			parts = append(parts, shards.Shard{Dir: filepath.Join(sub, fmt.Sprint(i)), First: cuts[i], End: cuts[i+1]})
		}
		require.NoError(t, shards.Split(bg, src, parts))
		var roots []fs.FS
		files := 0
		for _, p := range parts {
			roots = append(roots, os.DirFS(p.Dir))
			files += len(contents(t, p.Dir))
		}
		all := contents(t, src)
		meta := 0
		for name := range all {
			if !strings.HasSuffix(name, ".blp") && !strings.HasSuffix(name, ".chunk") {
				meta++
			}
		}
		require.Equal(t, len(all)+(len(parts)-1)*meta, files, "each chunk in one shard")

		b, err := s.open(src)
		want, wantMeta := readAll(t, b, err)
		b, err = s.openFS(shards.FS(roots...))
		got, gotMeta := readAll(t, b, err)
		require.Equal(t, want, got)
		require.Equal(t, wantMeta, gotMeta)

		rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		require.NoError(t, shards.Join(bg, dst, parts))
		require.Equal(t, all, contents(t, dst))
		require.ErrorIs(t, shards.Join(bg, dst, parts), ndarray.ErrExists)
	})
}

// TestSplit_Columns checks that the columns of a ctable can be in different shards.
func TestSplit_Columns(t *testing.T) {
	dir := testenv.Scratch(t)
	src := filepath.Join(dir, "src")
	d := parse(t, "[('a', '<i4'), ('b', '<f8'), ('c', '|S3')]")
	b, err := bcolz.CreateRecords(src, ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{9}, DType: d}, nil)
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, noise(100*d.Size), ndarray.Whole([]int64{100}), 0))
	require.NoError(t, b.Close())
	require.NoError(t, os.WriteFile(filepath.Join(src, "b/meta/index"), []byte("{}"), 0o666), "a file of another program")
	parts := []shards.Shard{
		{Dir: filepath.Join(dir, "1"), End: shards.All, Columns: []string{"a", "c"}},
		{Dir: filepath.Join(dir, "2"), End: 4, Columns: []string{"b"}},
		{Dir: filepath.Join(dir, "3"), First: 4, End: shards.All, Columns: []string{"b"}},
	}
	require.NoError(t, shards.Split(bg, src, parts))
	require.NoFileExists(t, filepath.Join(dir, "1/b/data/__0.blp"))
	require.FileExists(t, filepath.Join(dir, "2/b/data/__3.blp"))
	require.NoFileExists(t, filepath.Join(dir, "2/b/data/__4.blp"))
	require.NoError(t, shards.Join(bg, filepath.Join(dir, "dst"), parts))
	require.Equal(t, contents(t, src), contents(t, filepath.Join(dir, "dst")))
}

// TestSplitNested checks that nested ctables can be split by columns: both columns in the metadata
// of the root and columns that are separate carrays.
func TestSplitNested(t *testing.T) {
	dir := testenv.Scratch(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	d := parse(t, "[('a', '<i4'), ('sub', [('b', '<f8'), ('c', '|S3')])]")
	b, err := bcolz.CreateRecords(at("described"), ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{9}, DType: d}, &bcolz.CreateOptions{Nested: true})
	require.NoError(t, err)
	require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, noise(100*d.Size), ndarray.Whole([]int64{100}), 0))
	require.NoError(t, b.Close())
	require.NoError(t, os.MkdirAll(at("own/data/sub/data"), 0o777))
	for _, column := range []string{"a", "sub/data/b", "sub/data/c"} {
		b, err := bcolz.Create(at("own/data/"+column), ndarray.Spec{Shape: []int64{100}, ChunkShape: []int64{9}, DType: parse(t, "<i4")}, nil)
		require.NoError(t, err)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, noise(400), ndarray.Whole([]int64{100}), 0))
		require.NoError(t, b.Close())
	}
	for name, files := range map[string][2]string{"described": {"data/a/__0.blp", "data/sub/c/__4.blp"}, "own": {"data/a/data/__0.blp", "data/sub/data/c/data/__4.blp"}} {
		parts := []shards.Shard{
			{Dir: at(name + "1"), End: shards.All, Columns: []string{"a", "sub/b"}},
			{Dir: at(name + "2"), End: 4, Columns: []string{"sub/c"}},
			{Dir: at(name + "3"), First: 4, End: shards.All, Columns: []string{"sub/c"}},
		}
		require.NoError(t, shards.Split(bg, at(name), parts))
		require.FileExists(t, filepath.Join(at(name+"1"), files[0]))
		require.NoFileExists(t, filepath.Join(at(name+"2"), files[0]))
		require.NoFileExists(t, filepath.Join(at(name+"2"), files[1]))
		require.FileExists(t, filepath.Join(at(name+"3"), files[1]))
		require.NoError(t, shards.Join(bg, at(name+"joined"), parts))
		require.Equal(t, contents(t, at(name)), contents(t, at(name+"joined")))
		require.NoError(t, os.Remove(filepath.Join(at(name+"3"), files[1])))
		require.ErrorIs(t, shards.Join(bg, at(name+"corrupt"), parts), ndarray.ErrCorrupt)
		require.NoDirExists(t, at(name+"corrupt"))
	}
}

func TestRefusals(t *testing.T) {
	dir := testenv.Scratch(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	spec := ndarray.Spec{Shape: []int64{10}, ChunkShape: []int64{3}, DType: parse(t, "<i4")}
	save := func(b ndarray.Backend, err error) {
		require.NoError(t, err)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, noise(40), ndarray.Whole(spec.Shape), 0))
		require.NoError(t, b.Close())
	}
	save(bcolz.Create(at("a"), spec, nil))
	save(b2nd.Create(at("s"), spec, &b2nd.CreateOptions{Sparse: true}))
	one, two := shards.Shard{Dir: at("1"), End: 2}, shards.Shard{Dir: at("2"), First: 2, End: 4}
	for _, c := range []struct {
		shards []shards.Shard
		want   error
		says   string
	}{
		{nil, ndarray.ErrParam, "no shards"},
		{[]shards.Shard{one}, ndarray.ErrParam, "chunk 2 of 4 is in no shard"},
		{[]shards.Shard{one, {Dir: at("2"), First: 1, End: 4}}, ndarray.ErrParam, "chunk 1 is in two shards"},
		{[]shards.Shard{{Dir: at("1"), First: 3, End: 1}}, ndarray.ErrParam, "chunks 3 to 1"},
		{[]shards.Shard{{Dir: at("1"), End: 4, Columns: []string{"x"}}}, ndarray.ErrNotFound, `column "x"`},
		{[]shards.Shard{{Dir: at("a"), End: 4}}, ndarray.ErrExists, "exists"},
	} {
		for _, src := range []string{"a", "s"} {
			err := shards.Split(bg, at(src), c.shards)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			require.NoDirExists(t, at("1"))
		}
	}
	require.ErrorIs(t, shards.Split(bg, at("none"), []shards.Shard{one, two}), ndarray.ErrNotFound)
	require.ErrorIs(t, shards.Split(bg, dir, []shards.Shard{one, two}), ndarray.ErrFormat)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, shards.Split(ctx, at("a"), []shards.Shard{one, two}), context.Canceled)

	require.NoError(t, shards.Split(bg, at("a"), []shards.Shard{one, two}))
	require.NoError(t, os.Remove(at("2/data/__3.blp")))
	err := shards.Join(bg, at("b"), []shards.Shard{one, two})
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, "__3.blp")
	require.NoDirExists(t, at("b"))
	require.NoError(t, os.WriteFile(at("2/meta/index"), nil, 0o666))
	err = shards.Join(bg, at("b"), []shards.Shard{one, two})
	require.ErrorIs(t, err, ndarray.ErrParam)
	require.ErrorContains(t, err, "meta/index differs")
	require.ErrorIs(t, shards.Join(bg, at("b"), []shards.Shard{{Dir: at("s"), End: 2}, two}), ndarray.ErrParam)

	spec.Shape = []int64{11}
	b, err := b2nd.Create(at("t"), spec, &b2nd.CreateOptions{Sparse: true})
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.ErrorIs(t, shards.Join(bg, at("b"), []shards.Shard{{Dir: at("s"), End: 2}, {Dir: at("t"), First: 2, End: 4}}), ndarray.ErrParam)

	_, err = b2nd.OpenFS(os.DirFS(at("s")), &b2nd.OpenOptions{Write: true})
	require.ErrorIs(t, err, ndarray.ErrReadOnly)
	_, err = b2nd.OpenFS(os.DirFS(at("s")), &b2nd.OpenOptions{Library: true})
	require.ErrorIs(t, err, ndarray.ErrParam)
	_, err = b2nd.OpenFS(os.DirFS(at("a")), nil)
	require.Error(t, err)
}

const (
	filledRows  = 1000
	filledChunk = 37
	processes   = 4
)

var filled = ndarray.Spec{Shape: []int64{filledRows}, ChunkShape: []int64{filledChunk}, Fill: []byte{1, 2, 3, 4}}

// part returns the range of chunks of one process.
func part(k int64) (first, end int64) {
	n := int64((filledRows + filledChunk - 1) / filledChunk)
	return k * n / processes, (k + 1) * n / processes
}

// fill executes the job of one process: "bcolz 2 DIR" writes the chunks of part 2 in DIR.
func fill(job string) (err error) {
	var kind, dir string
	var k int64
	if _, err := fmt.Sscan(job, &kind, &k, &dir); err != nil {
		return err
	}
	first, end := part(k)
	var b ndarray.Backend
	spec := filled
	spec.DType = ndarray.DTypeOf[int32]()
	if kind == "bcolz" {
		b, err = bcolz.Open(dir, &bcolz.OpenOptions{Write: true, ChunkRange: &bcolz.ChunkRange{First: first, End: end}})
	} else {
		b, err = b2nd.Create(dir, spec, &b2nd.CreateOptions{Sparse: true})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	data := noise(filledRows * 4)
	for i := first; i < end; i++ {
		from, to := i*filledChunk, min((i+1)*filledChunk, filledRows)
		if err := b.(ndarray.RegionWriter).WriteRegion(bg, data[from*4:to*4], ndarray.Region{Start: []int64{from}, Shape: []int64{to - from}}, 0); err != nil {
			return err
		}
	}
	return nil
}

// run starts a process for each part and waits for all of them.
func run(t *testing.T, job func(k int64) string) {
	t.Helper()
	var wg sync.WaitGroup
	for k := range int64(processes) {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), fillEnv+"="+job(k))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", k, err, out)
			}
		})
	}
	wg.Wait()
}

// TestProcesses checks that processes that write disjoint chunks at the same time produce the same
// array as one process.
func TestProcesses(t *testing.T) {
	dir := testenv.Scratch(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	spec := filled
	spec.DType = ndarray.DTypeOf[int32]()
	data := noise(filledRows * 4)
	var parts []shards.Shard
	for k := range int64(processes) {
		first, end := part(k)
		parts = append(parts, shards.Shard{Dir: at(fmt.Sprintf("shard%d", k)), First: first, End: end})
	}

	one, err := bcolz.Create(at("one"), spec, nil)
	require.NoError(t, err)
	require.NoError(t, one.(ndarray.RegionWriter).WriteRegion(bg, data, ndarray.Whole(spec.Shape), 0))
	require.NoError(t, one.Close())
	skeleton, err := bcolz.Create(at("many"), spec, &bcolz.CreateOptions{Skeleton: true})
	require.NoError(t, err)
	require.NoError(t, skeleton.Close())
	require.NoError(t, shards.Split(bg, at("many"), parts), "an array without chunks yet")
	err = shards.Join(bg, at("early"), parts)
	require.ErrorIs(t, err, ndarray.ErrCorrupt)
	require.ErrorContains(t, err, "__0.blp")
	// All in one directory.
	run(t, func(k int64) string { return fmt.Sprint("bcolz ", k, " ", at("many")) })
	// Each in its shard.
	run(t, func(k int64) string { return fmt.Sprint("bcolz ", k, " ", parts[k].Dir) })
	require.NoError(t, shards.Join(bg, at("joined"), parts))
	require.Equal(t, contents(t, at("one")), contents(t, at("joined")))
	want, got := contents(t, at("one")), contents(t, at("many"))
	delete(want, "meta/sizes") // Join and bcolz write cbytes
	delete(got, "meta/sizes")
	require.Equal(t, want, got)

	for k := range parts {
		parts[k].Dir = at(fmt.Sprintf("frame%d", k))
	}
	run(t, func(k int64) string { return fmt.Sprint("b2nd ", k, " ", parts[k].Dir) })
	require.NoError(t, shards.Join(bg, at("frame"), parts))
	frame, err := b2nd.Create(at("oneframe"), spec, &b2nd.CreateOptions{Sparse: true})
	require.NoError(t, err)
	require.NoError(t, frame.(ndarray.RegionWriter).WriteRegion(bg, data, ndarray.Whole(spec.Shape), 0))
	require.NoError(t, frame.Close())
	require.Equal(t, contents(t, at("oneframe")), contents(t, at("frame")))
}

// TestJoin_InPlace checks that a write in place changes only the chunk files of the region.
func TestJoin_InPlace(t *testing.T) {
	dir := testenv.Scratch(t)
	spec := ndarray.Spec{Shape: []int64{20, 3}, ChunkShape: []int64{4, 3}, DType: parse(t, "<i4")}
	r := ndarray.Region{Start: []int64{7, 1}, Shape: []int64{3, 1}} // chunks 1 and 2
	for kind, touched := range map[string][]string{
		"bcolz":  {"data/__1.blp", "data/__2.blp"},
		"sparse": {"00000001.chunk", "00000002.chunk"},
	} {
		path := filepath.Join(dir, kind)
		var b ndarray.Backend
		var err error
		open := func(write bool) {
			if kind == "bcolz" {
				b, err = bcolz.Open(path, &bcolz.OpenOptions{Write: write})
			} else {
				b, err = b2nd.Open(path, &b2nd.OpenOptions{Write: write})
			}
			require.NoError(t, err)
		}
		if kind == "bcolz" {
			b, err = bcolz.Create(path, spec, nil)
		} else {
			b, err = b2nd.Create(path, spec, &b2nd.CreateOptions{Sparse: true})
		}
		require.NoError(t, err)
		want := noise(240)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, want, ndarray.Whole(spec.Shape), 0))
		require.NoError(t, b.Close())
		before := contents(t, path)
		open(true)
		require.NoError(t, b.(ndarray.RegionWriter).WriteRegion(bg, make([]byte, 12), r, 0))
		require.NoError(t, b.Close())
		var changed []string
		for name, sum := range contents(t, path) {
			if sum != before[name] && name != "chunks.b2frame" {
				changed = append(changed, name)
			}
		}
		slices.Sort(changed)
		require.Equal(t, touched, changed, kind)
		for i := range 3 {
			clear(want[(7+i)*12+4 : (7+i)*12+8])
		}
		open(false)
		got := make([]byte, 240)
		require.NoError(t, b.ReadRegion(bg, got, ndarray.Whole(spec.Shape), 0))
		require.Equal(t, want, got, kind)
		require.NoError(t, b.Close())
	}
}

func TestFS(t *testing.T) {
	u := shards.FS(
		fstest.MapFS{"a/x": {Data: []byte("first")}, "same": {Data: []byte("1")}},
		fstest.MapFS{"a/y": {Data: []byte("second")}, "same": {Data: []byte("2")}})
	require.NoError(t, fstest.TestFS(u, "a/x", "a/y", "same"))
	b, err := fs.ReadFile(u, "same")
	require.NoError(t, err)
	require.Equal(t, "1", string(b), "the first root's")
	_, err = fs.ReadFile(u, "none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = fs.ReadDir(shards.FS(), ".")
	require.ErrorIs(t, err, fs.ErrNotExist)
}
