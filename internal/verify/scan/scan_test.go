package scan_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/filter"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/format/h5file/hdf5test"
	"github.com/hyperslab/hyperslab/internal/testkit/storeattack"
	"github.com/hyperslab/hyperslab/internal/verify/scan"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestFile_store scans valid containers of python-blosc2, and hostile ones.
func TestFile_store(t *testing.T) {
	const golden = "../../../testdata/store.b2z"
	expect(t, golden, "b2z", "note not-examined /embed.b2e: 4 embedded frames of 982 bytes") // python-blosc2 compresses the map with zstd
	dir := t.TempDir()
	tree, err := hyperslab.OpenTree(bg, golden, nil)
	require.NoError(t, err)
	for _, target := range []string{"x.b2d", "x.b2e"} {
		_, err := hyperslab.CopyTree(bg, filepath.Join(dir, target), tree, &hyperslab.TreeOptions{Accept: func(hyperslab.Problem) bool { return true }})
		require.NoError(t, err)
	}
	require.NoError(t, tree.Close())
	expect(t, filepath.Join(dir, "x.b2d"), "b2d")
	expect(t, filepath.Join(dir, "x.b2e"), "b2e", "note not-examined")
	b, err := os.ReadFile(golden)
	require.NoError(t, err)
	t.Run("corrupt map in zstd", func(t *testing.T) {
		for i, stream := range []string{"\x28\xb5\x2f\xfd", "embed_map"} {
			corrupt, at := bytes.Clone(b), bytes.LastIndex(b, []byte(stream))
			require.Positive(t, at)
			corrupt[at] ^= 1
			file := filepath.Join(dir, fmt.Sprintf("corrupt%d.b2z", i))
			require.NoError(t, os.WriteFile(file, corrupt, 0o600))
			expect(t, file, "b2z", "error structure /embed.b2e: ")
		}
	})
	attacks, err := storeattack.All(b)
	require.NoError(t, err)
	for _, x := range attacks {
		if strings.HasPrefix(x.Name, "table:") || x.Object != "" && !strings.Contains(x.Name, "server") {
			continue // the values, which are not decoded
		}
		t.Run(x.Name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x"+x.Ext)
			for name, b := range x.Files {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(file, name)), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(file, name), b, 0o644))
			}
			for name, target := range x.Links {
				require.NoError(t, os.Symlink(target, filepath.Join(file, name)))
			}
			if x.Want == errors.ErrUnsupported && x.Object == "" && !strings.Contains(x.Name, "compress") && !strings.Contains(x.Name, "bomb") && !strings.Contains(x.Name, "encrypt") {
				return // valid for the scan: an array with members
			}
			r, err := scan.File(bg, file, defaults())
			require.NoError(t, err)
			worst := slices.ContainsFunc(r.Findings, func(f scan.Finding) bool { return f.Level != scan.Note })
			require.True(t, worst, "%v", r.Findings)
		})
	}
}

var bg = context.Background()

func defaults() scan.Options {
	return scan.Options{Array: 1 << 40, Chunk: 512 << 20, Metadata: 64 << 20, Ratio: 1000, Findings: 100, KnownFilter: filter.Known}
}

// found scans a file and returns its format and its findings as "level rule object: text".
func found(t *testing.T, path string, o scan.Options) (format string, lines []string) {
	t.Helper()
	r, err := scan.File(bg, path, o)
	require.NoError(t, err)
	for _, f := range r.Findings {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s%s: %s", f.Level, f.Rule.ID, f.File, f.Object, f.Text)))
	}
	return r.Format, lines
}

// expect compares the findings of a file. Each want is the start of one finding.
func expect(t *testing.T, path, format string, want ...string) {
	t.Helper()
	got, lines := found(t, path, defaults())
	require.Equal(t, format, got)
	require.Len(t, lines, len(want), "%q", lines)
	for i, line := range lines {
		require.True(t, strings.HasPrefix(line, want[i]), "got %q, want %q", line, want[i])
	}
}

// file creates an HDF5 file.
func file(t *testing.T, o *h5.CreateOptions, fill func(root *h5.Group)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.h5")
	f, err := h5.Create(path, o)
	require.NoError(t, err)
	fill(f.Root())
	require.NoError(t, f.Close())
	return path
}

func dataset(t *testing.T, g *h5.Group, name string, o *h5.DatasetOptions, shape ...int64) {
	t.Helper()
	d, err := g.CreateDataset(name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(shape...), o)
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

func TestFile_links(t *testing.T) {
	path := file(t, nil, func(root *h5.Group) {
		dataset(t, root, "x", nil, 4)
		g, err := root.CreateGroup("g")
		require.NoError(t, err)
		require.NoError(t, root.LinkExternal("out", "other\x1b.h5", "/a"))
		require.NoError(t, root.LinkExternal("user", "other.h5", "/a"))
		for _, l := range []struct {
			g            *h5.Group
			name, target string
		}{
			{g, "inside", "/x"}, {g, "nowhere", "/y/z"}, {root, "through", "/out/b"}, {root, "chain", "g/relative"}, {g, "by user", "/user"},
			{g, "relative", "./up"}, {g, "up", "/through"}, {g, "loop", "loop"},
		} {
			require.NoError(t, l.g.LinkSoft(l.name, l.target))
		}
		require.NoError(t, root.LinkHard("alias", "g"))
		require.NoError(t, g.LinkSoft("by alias", "/alias/up/c"))
		require.NoError(t, g.Close())
	})
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, m := range hdf5test.Object(t, path, "/").Messages { // make "user" a user-defined link
		if l, ok := m.Body.(*h5file.Link); ok && l.Name == "user" {
			require.EqualValues(t, h5file.ExternalLink, b[m.Offset+2])
			b[m.Offset+2] = 77
		}
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, lines := found(t, path, defaults())
	require.ElementsMatch(t, []string{
		`warning external-link /out: link to "/a" in the file "other\x1b.h5"`,
		`warning user-link /user: link of type 77 with 13 bytes of data`,
		`warning soft-link /through: soft link to "/out/b", which leads out of the file`,
		`warning soft-link /chain: soft link to "g/relative", which leads out of the file`,
		`warning soft-link /g/by user: soft link to "/user", which leads out of the file`,
		`warning soft-link /g/by alias: soft link to "/alias/up/c", which leads out of the file`,
		`warning soft-link /g/relative: soft link to "./up", which leads out of the file`,
		`warning soft-link /g/up: soft link to "/through", which leads out of the file`,
	}, lines)
	o := defaults()
	o.Exclude = map[string]bool{"soft-link": true, "user-link": true}
	_, lines = found(t, path, o)
	require.Len(t, lines, 1)
}

func TestFile_storage(t *testing.T) {
	path := file(t, nil, func(root *h5.Group) {
		dataset(t, root, "external", &h5.DatasetOptions{External: []h5.ExternalFile{{Name: "a.raw", Size: 12}, {Name: "b.raw", Offset: 7, Size: h5.Unlimited}}}, 10)
		dataset(t, root, "x", nil, 4)
		source := h5.SimpleSpace(2)
		half := func(i int64) h5.Region { return h5.Region{Start: []int64{2 * i}, Count: []int64{2}} }
		all := h5.Region{Start: []int64{0}, Count: []int64{2}}
		dataset(t, root, "virtual", &h5.DatasetOptions{Mappings: []h5.Mapping{
			{Region: half(0), File: "far.h5", Dataset: "p", Source: source, SourceRegion: all},
			{Region: half(1), File: ".", Dataset: "x", Source: source, SourceRegion: all},
			{Region: half(2), File: "far.h5", Dataset: "q", Source: source, SourceRegion: all},
		}}, 6)
	})
	expect(t, path, "hdf5",
		`warning external-storage /external: 12 bytes at offset 0 of the file "a.raw"`,
		`warning external-storage /external: all bytes at offset 7 of the file "b.raw"`,
		`warning virtual-source /virtual: source "p" and 1 more in the file "far.h5"`)

	member := filepath.Join(t.TempDir(), "x%d.h5")
	f, err := h5.Create(member, family())
	require.NoError(t, err)
	require.NoError(t, f.Close())
	expect(t, fmt.Sprintf(member, 0), "hdf5", `warning file-member : the driver "NCSAfami"`)
}

func family() *h5.CreateOptions {
	o := h5.CreateOptions{}
	a := h5.DefaultFileAccess()
	a.Driver = h5.Family{MemberSize: 1 << 20}
	o.Access = &a
	return &o
}

func TestFile_references(t *testing.T) {
	path := file(t, &h5.CreateOptions{Low: h5.V114, High: h5.V114}, func(root *h5.Group) {
		d, err := root.CreateDataset("target", h5.Int(2, h5.NativeOrder), h5.SimpleSpace(4), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.WriteAttr(d, "name", []string{"x"}))
		require.NoError(t, d.Close())
		r, err := root.ReferenceAttribute("target", "name")
		require.NoError(t, err)
		d, err = root.CreateDataset("refs", h5.ReferenceType(h5.StandardReference), h5.SimpleSpace(1), nil)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, []h5.Ref{r}, h5.All))
		require.NoError(t, d.Close())
	})
	expect(t, path, "hdf5")
	// Turn the reference to an attribute into a reference to an object in another file. The heap
	// then contains the name of the file where the name of the attribute was.
	at := int64(hdf5test.Object(t, path, "/refs").Layout().Addr)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[at], b[at+1] = byte(h5file.ObjectRef2), 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	expect(t, path, "hdf5", `warning external-reference : reference to an object in the file "name"`)
}

func TestFile_filters(t *testing.T) {
	path := file(t, nil, func(root *h5.Group) {
		level := 1
		chunked := func(name string, o h5.DatasetOptions) {
			o.ChunkShape = []int64{4}
			dataset(t, root, name, &o, 8)
		}
		chunked("deflate", h5.DatasetOptions{Deflate: &level, Shuffle: true, Fletcher32: true})
		chunked("zstd", h5.DatasetOptions{Filters: []h5.Filter{{ID: filter.IDZstd}}})
	})
	expect(t, path, "hdf5", `note plugin-filter /zstd: filter zstd`)
	r, err := scan.File(bg, path, defaults())
	require.NoError(t, err)
	require.Equal(t, scan.Note, r.Worst)
	o := defaults()
	o.KnownFilter = func(int) bool { return false }
	_, lines := found(t, path, o)
	require.Len(t, lines, 1)
	require.Regexp(t, `^warning plugin-filter /zstd: filter zstd.*: not available`, lines[0])
}

func TestFile_sizes(t *testing.T) {
	level := 9
	path := file(t, nil, func(root *h5.Group) {
		dataset(t, root, "bomb", &h5.DatasetOptions{ChunkShape: []int64{16 << 20}, Deflate: &level, Alloc: h5.AllocEarly}, 32<<20)
		dataset(t, root, "huge", &h5.DatasetOptions{ChunkShape: []int64{1 << 20}}, 1<<40)
		dataset(t, root, "small", &h5.DatasetOptions{ChunkShape: []int64{1 << 10}}, 1<<20)
	})
	expect(t, path, "hdf5",
		"warning expansion /bomb: the array declares 134217728 bytes of elements and stores ",
		"warning limit /huge: the array declares 4398046511104 bytes of elements: limit 1099511627776",
		"warning expansion /huge: the array declares 4398046511104 bytes of elements and stores 0: limit of the ratio 1000")
	o := defaults()
	o.Chunk, o.Ratio = 1<<20, 1<<62
	_, lines := found(t, path, o)
	require.Equal(t, []string{
		"warning limit /bomb: a chunk declares 67108864 bytes: limit 1048576",
		"warning limit /huge: a chunk declares 4194304 bytes: limit 1048576",
		"warning limit /huge: the array declares 4398046511104 bytes of elements: limit 1099511627776",
	}, lines)

	zeros := filepath.Join(t.TempDir(), "zeros.b2nd")
	cp := cblosc.DefaultCParams()
	cp.TypeSize = 1
	a, err := cblosc.CreateArray(&cblosc.ArrayParams{
		Shape: []int64{1 << 28}, ChunkShape: []int32{1 << 20}, Blocks: []int32{1 << 16}, DType: "|u1",
		Storage: cblosc.Storage{Path: zeros, CParams: cp},
	})
	require.NoError(t, err)
	require.NoError(t, a.Close())
	expect(t, zeros, "b2nd", "warning expansion : the array declares 268435456 bytes of elements and stores ")
	o = defaults()
	o.Array, o.Chunk, o.Metadata, o.Ratio = 1<<20, 1<<10, 64, 1<<62
	_, lines = found(t, zeros, o)
	require.Len(t, lines, 1) // the header is longer than 64 bytes
	require.Contains(t, lines[0], "warning limit")
	o.Metadata = 1 << 20
	_, lines = found(t, zeros, o)
	require.Equal(t, []string{
		"warning limit : the array declares 268435456 bytes of elements: limit 1048576",
		"warning limit : a chunk declares 1048576 bytes: limit 1024",
	}, lines)
}

// array creates an array of 64 elements in chunks of 16.
func array(t *testing.T, path string, opts *hyperslab.CreateOptions) string {
	t.Helper()
	d, err := hyperslab.Create(bg, path, ndarray.Spec{Shape: []int64{64}, DType: ndarray.DTypeOf[int64](), ChunkShape: []int64{16}}, opts)
	require.NoError(t, err)
	values := make([]int64, 64)
	for i := range values {
		values[i] = int64(i * 7919)
	}
	require.NoError(t, ndarray.Write(bg, d.Array, values, ndarray.Whole(d.Shape())))
	require.NoError(t, d.Commit(bg))
	require.NoError(t, d.Close())
	return path
}

func TestFile_frames(t *testing.T) {
	dir := t.TempDir()
	plain := array(t, dir+"/a.b2nd", nil)
	expect(t, plain, "b2nd")
	sparse := array(t, dir+"/s.b2nd", &hyperslab.CreateOptions{Sparse: true})
	expect(t, sparse, "b2nd")
	b, err := os.ReadFile(plain)
	require.NoError(t, err)
	for _, tt := range []struct {
		name string
		edit func(b []byte) []byte
		want []string
	}{
		{"codec without bounds checks", func(b []byte) []byte { b[27], b[77] = b[27]&0xf0|6, 33; return b }, []string{"warning plugin-codec : codec "}},
		{"codec of a plug-in", func(b []byte) []byte { b[27], b[77] = b[27]&0xf0|6, 200; return b }, []string{"warning plugin-codec : codec codec 200: not available"}},
		{"filter of a plug-in", func(b []byte) []byte { b[71] = 32; return b }, []string{"warning plugin-codec : filter "}},
		{"truncated", func(b []byte) []byte { return b[:len(b)/2] }, []string{"error structure : blosc2 frame: frame at byte 0"}},
		{"newer version", func(b []byte) []byte { b[25] |= 0x0f; return b }, []string{"warning not-examined : "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.b2nd")
			require.NoError(t, os.WriteFile(path, tt.edit(bytes.Clone(b)), 0o600))
			_, lines := found(t, path, defaults())
			require.Len(t, lines, len(tt.want), "%q", lines)
			for i := range lines {
				require.True(t, strings.HasPrefix(lines[i], tt.want[i]), "%q", lines)
			}
		})
	}
	t.Run("codec of a chunk", func(t *testing.T) {
		at := int64(binary.BigEndian.Uint32(b[11:])) // the first chunk follows the header
		c := bytes.Clone(b)
		c[at+2], c[at+0x16] = c[at+2]&0x1f|6<<5, 200
		path := filepath.Join(t.TempDir(), "x.b2nd")
		require.NoError(t, os.WriteFile(path, c, 0o600))
		_, lines := found(t, path, defaults())
		require.Equal(t, []string{"warning plugin-codec : codec codec 200: not available"}, lines)
	})
	t.Run("corrupt chunk", func(t *testing.T) {
		at := int64(binary.BigEndian.Uint32(b[11:]))
		c := bytes.Clone(b)
		c[at+4] ^= 1 // nbytes
		path := filepath.Join(t.TempDir(), "x.b2nd")
		require.NoError(t, os.WriteFile(path, c, 0o600))
		_, lines := found(t, path, defaults())
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "error structure : ")
	})
	t.Run("computed values", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.b2nd")
		a, err := cblosc.CreateArray(&cblosc.ArrayParams{
			Shape: []int64{4}, ChunkShape: []int32{2}, Blocks: []int32{2}, DType: "<f8",
			Meta:    []cblosc.Metalayer{{Name: "b2o", Content: []byte("\x82\xa4kind\xa8lazyexpr\xa7version\x01")}},
			Storage: cblosc.Storage{Path: path, CParams: cblosc.DefaultCParams()},
		})
		require.NoError(t, err)
		require.NoError(t, a.Close())
		expect(t, path, "b2nd", "warning computed-values : b2nd array: metalayer \"b2o\"")
	})
}

func TestFile_trees(t *testing.T) {
	dir := t.TempDir()
	tree := array(t, dir+"/a.bcolz", nil)
	expect(t, tree, "bcolz")
	storage, err := os.ReadFile(tree + "/meta/storage")
	require.NoError(t, err)
	chunkFile, err := os.ReadFile(tree + "/data/__1.blp")
	require.NoError(t, err)
	restore := func() {
		require.NoError(t, os.WriteFile(tree+"/meta/storage", storage, 0o600))
		require.NoError(t, os.WriteFile(tree+"/data/__1.blp", chunkFile, 0o600))
	}
	t.Run("pickled objects", func(t *testing.T) {
		defer restore()
		changed := bytes.Replace(storage, []byte(`"<i8"`), []byte(`"object"`), 1)
		if bytes.Equal(changed, storage) {
			changed = bytes.Replace(storage, []byte(`"int64"`), []byte(`"object"`), 1)
		}
		require.NotEqual(t, storage, changed)
		require.NoError(t, os.WriteFile(tree+"/meta/storage", changed, 0o600))
		_, lines := found(t, tree, defaults())
		require.Contains(t, lines, "error pickled-objects : 64 pickled objects")
	})
	t.Run("codec", func(t *testing.T) {
		defer restore()
		c := bytes.Clone(chunkFile)
		c[16+2] = c[16+2]&0x1f | 2<<5 // snappy
		require.NoError(t, os.WriteFile(tree+"/data/__1.blp", c, 0o600))
		_, lines := found(t, tree, defaults())
		require.Len(t, lines, 1, "%q", lines)
	})
	t.Run("truncated chunk", func(t *testing.T) {
		defer restore()
		require.NoError(t, os.WriteFile(tree+"/data/__1.blp", chunkFile[:20], 0o600))
		expect(t, tree, "bcolz", "error structure : ")
	})
	t.Run("missing chunk", func(t *testing.T) {
		defer restore()
		require.NoError(t, os.Remove(tree+"/data/__1.blp"))
		expect(t, tree, "bcolz", "error structure : bcolz: data/__1.blp")
	})
	t.Run("limits", func(t *testing.T) {
		o := defaults()
		o.Array = 100
		_, lines := found(t, tree, o)
		require.Equal(t, []string{"warning limit : the array declares 512 bytes of elements: limit 100"}, lines)
		o.Array, o.Chunk = 1<<40, 100
		_, lines = found(t, tree, o)
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], "warning limit : ")
	})
}

func TestFile_directories(t *testing.T) {
	dir := t.TempDir()
	outside := array(t, t.TempDir()+"/outside.b2nd", nil)
	require.NoError(t, os.MkdirAll(dir+"/sub", 0o700))
	array(t, dir+"/sub/a.b2nd", nil)
	require.NoError(t, os.WriteFile(dir+"/sub/notes.txt", []byte("text"), 0o600))
	expect(t, dir, "directory")
	array(t, dir+"/tree.bcolz", nil)
	array(t, dir+"/s.b2nd", &hyperslab.CreateOptions{Sparse: true})
	require.NoError(t, os.Symlink(outside, dir+"/sub/link.b2nd"))
	require.NoError(t, os.Symlink("a.b2nd", dir+"/sub/near.b2nd"))
	require.NoError(t, os.Symlink("none", dir+"/sub/none"))
	require.NoError(t, unix.Mkfifo(dir+"/pipe", 0o600))
	cut, err := os.ReadFile(outside)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/sub/cut.b2nd", cut[:len(cut)/2], 0o600))
	expect(t, dir, "directory",
		"warning irregular-file : pipe: got p---------, want a regular file",
		"warning irregular-file : sub/link.b2nd: a symbolic link to a target outside the directory",
		"warning irregular-file : sub/near.b2nd: a symbolic link to a target in the directory",
		"warning irregular-file : sub/none: a symbolic link to no file",
		"error structure sub/cut.b2nd: blosc2 frame")
	t.Run("metadata outside", func(t *testing.T) {
		for _, name := range []string{"s.b2nd/chunks.b2frame", "tree.bcolz/meta/storage"} {
			require.NoError(t, os.Rename(filepath.Join(dir, name), filepath.Join(t.TempDir(), "moved")))
			require.NoError(t, os.Symlink(outside, filepath.Join(dir, name)))
			sub, _, _ := strings.Cut(name, "/")
			_, lines := found(t, filepath.Join(dir, sub), defaults())
			require.Len(t, lines, 2, "%q", lines)
			require.Contains(t, lines[0], "warning irregular-file : ")
			require.Contains(t, lines[1], "error structure : ")
		}
	})
}

func TestFile_structure(t *testing.T) {
	path := file(t, nil, func(root *h5.Group) {
		for _, name := range []string{"a", "b", "c"} {
			dataset(t, root, name, nil, 4)
		}
	})
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range []string{"/a", "/c"} {
		m := hdf5test.Object(t, path, name).Message(h5file.DataspaceType)
		b[m.Offset] = 77 // version
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	_, lines := found(t, path, defaults())
	require.GreaterOrEqual(t, len(lines), 2, "%q", lines)
	for _, line := range lines {
		require.Contains(t, line, "error structure : ")
	}
	o := defaults()
	o.Findings = 1
	r, err := scan.File(bg, path, o)
	require.NoError(t, err)
	require.Len(t, r.Findings, 1)
	require.EqualValues(t, len(lines), r.Count)
	require.Equal(t, scan.Error, r.Worst)
	require.Positive(t, r.Findings[0].Offset)
}

func TestFile_errors(t *testing.T) {
	dir := t.TempDir()
	_, err := scan.File(bg, dir+"/none", defaults())
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = scan.File(bg, dir, defaults())
	require.ErrorIs(t, err, scan.ErrFormat)
	require.NoError(t, os.WriteFile(dir+"/text", []byte("text"), 0o600))
	_, err = scan.File(bg, dir+"/text", defaults())
	require.ErrorIs(t, err, scan.ErrFormat)
	require.NoError(t, unix.Mkfifo(dir+"/pipe", 0o600))
	_, err = scan.File(bg, dir+"/pipe", defaults())
	require.ErrorIs(t, err, regularfile.ErrNot)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	for _, path := range []string{array(t, dir+"/a.b2nd", nil), array(t, dir+"/a.bcolz", nil), array(t, dir+"/a.h5:/a", nil), dir} {
		path, _, _ = strings.Cut(path, ":/")
		_, err = scan.File(ctx, path, defaults())
		require.ErrorIs(t, err, context.Canceled, path)
	}
	require.False(t, errors.Is(err, scan.ErrFormat))
}

// TestRules checks that every rule has a unique ID and a description of at least one sentence.
func TestRules(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range scan.Rules() {
		require.Regexp(t, `^[a-z]+(-[a-z]+)*$`, r.ID)
		require.False(t, ids[r.ID], r.ID)
		ids[r.ID] = true
		require.Regexp(t, `^[A-Z].*\.$`, r.Text)
		require.Contains(t, []scan.Level{scan.Note, scan.Warning, scan.Error}, r.Level)
	}
}
