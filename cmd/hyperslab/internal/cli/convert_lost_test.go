// Tests of the losses that convert reports, for every pair of formats.

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
)

// feature is a property of an array other than its elements.
type feature struct {
	what              string // start of the message
	give              func(s *ndarray.Spec)
	look              func(t *testing.T, a *ndarray.Array) // checks that the array has the feature
	sources           []string                             // formats that support the feature
	refused, reported []string                             // targets that do not: convert refuses, or reports the loss
}

var (
	lossSources = []string{"b2nd", "sparse", "hdf5", "bcolz", "ctable"}
	lossTargets = []string{"b2nd", "sparse", "caterva", "hdf5", "bcolz", "npy", "raw"}
)

func lossFeatures(t *testing.T) []feature {
	metaIs := func(want any, of func(m ndarray.Meta) any) func(*testing.T, *ndarray.Array) {
		return func(t *testing.T, a *ndarray.Array) { require.Equal(t, want, of(a.Meta())) }
	}
	flat, bare := []string{"npy", "raw"}, []string{"caterva", "npy", "raw"}
	enum := dtype(t, "enum('<i2', {'RED': 0, 'BLUE': 7})")
	fill := []byte{7, 0, 0, 0}
	notFrames := []string{"hdf5"}
	return []feature{
		{what: "unit (", sources: lossSources, refused: flat,
			give: func(s *ndarray.Spec) { s.Attrs = []ndarray.Attr{{Name: "unit", Value: ndarray.Text("K")}} },
			look: func(t *testing.T, a *ndarray.Array) {
				attrs, err := a.Attrs(context.Background())
				require.NoError(t, err)
				v, ok := attrs.Get("unit")
				require.True(t, ok)
				require.True(t, v.Equal(ndarray.Text("K")))
			}},
		{what: "fill value (7)", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, refused: bare,
			give: func(s *ndarray.Spec) { s.Fill = fill },
			look: metaIs(fill, func(m ndarray.Meta) any { return m.Fill })},
		{what: "dimension names (time, )", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, refused: bare,
			give: func(s *ndarray.Spec) { s.AxisNames = []string{"time", ""} },
			look: metaIs([]string{"time", ""}, func(m ndarray.Meta) any { return m.AxisNames })},
		{what: "maximum shape (anyx6)", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, refused: []string{"caterva"}, reported: flat,
			give: func(s *ndarray.Spec) { s.MaxShape = []int64{ndarray.Unlimited, 6} },
			look: metaIs([]int64{ndarray.Unlimited, 6}, func(m ndarray.Meta) any { return m.MaxShape })},
		{what: "maximum shape (20xany)", sources: []string{"b2nd", "sparse", "hdf5"}, refused: []string{"caterva", "bcolz"}, reported: flat,
			give: func(s *ndarray.Spec) { s.MaxShape = []int64{20, ndarray.Unlimited} },
			look: metaIs([]int64{20, ndarray.Unlimited}, func(m ndarray.Meta) any { return m.MaxShape })},
		{what: "type (enum('<i2', {'RED': 0, 'BLUE': 7}))", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, reported: bare,
			give: func(s *ndarray.Spec) { s.DType = enum },
			look: func(t *testing.T, a *ndarray.Array) { require.True(t, a.DType().Equal(enum), "%v", a.DType()) }},
		{what: "type (<i4)", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, reported: []string{"caterva", "raw"},
			give: func(*ndarray.Spec) {},
			look: func(*testing.T, *ndarray.Array) {}}, // the comparison of elements covers it
		{what: "filter (fletcher32)", sources: notFrames, reported: []string{"b2nd", "sparse", "caterva", "bcolz", "npy", "raw"},
			give: func(s *ndarray.Spec) {
				s.Compression = &ndarray.Compression{Codec: "deflate", Level: 1, Filters: []string{"fletcher32"}}
			},
			look: metaIs([]string{"fletcher32"}, func(m ndarray.Meta) any { return m.Compression.Filters })},
		{what: "filter (delta)", sources: []string{"b2nd", "sparse"}, reported: []string{"hdf5", "bcolz"},
			give: func(s *ndarray.Spec) {
				s.Compression = &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"delta"}}
			},
			look: func(t *testing.T, a *ndarray.Array) {
				if a.Meta().Compression != nil && a.Meta().Format != "npy" {
					require.Equal(t, []string{"delta"}, a.Meta().Compression.Filters)
				}
			}},
		{what: "codec (lzf)", sources: notFrames, reported: []string{"b2nd", "sparse", "caterva", "bcolz"},
			give: func(s *ndarray.Spec) { s.Compression = &ndarray.Compression{Codec: "lzf"} },
			look: func(t *testing.T, a *ndarray.Array) {
				if a.Meta().Format == "hdf5" {
					require.Equal(t, "lzf", a.Meta().Compression.Codec)
				}
			}},
		{what: "chunks (10x3)", sources: []string{"b2nd", "sparse", "hdf5"}, reported: []string{"bcolz"},
			give: func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 3} },
			look: func(*testing.T, *ndarray.Array) {}}, // each format has its own default
		{what: "comment (for you)", sources: notFrames, reported: []string{"b2nd", "sparse", "caterva", "bcolz", "npy", "raw"},
			give: func(s *ndarray.Spec) { s.Comment = "for you" },
			look: metaIs("for you", func(m ndarray.Meta) any { return m.Comment })},
	}
}

// lossSource creates the source array of a test. Its elements are valid for all filters, for
// example checksums and delta.
func lossSource(t *testing.T, format string, spec ndarray.Spec) (location string) {
	t.Helper()
	ctx := context.Background()
	location = map[string]string{"b2nd": "s.b2nd", "sparse": "s.b2nd", "hdf5": "s.h5:/x", "bcolz": "s.bcolz", "ctable": "t.bcolz"}[format]
	var a *ndarray.Array
	var commit func() error
	if format == "ctable" {
		spec.Shape, spec.ChunkShape = []int64{20}, nil
		spec.DType = dtype(t, "[('a', '<i4'), ('b', '<f8')]")
		b, err := bcolz.CreateRecords(location, spec, nil)
		require.NoError(t, err)
		a, err = ndarray.New(b)
		require.NoError(t, err)
		commit = a.Close
	} else {
		opts := &hyperslab.CreateOptions{Overwrite: true, Sparse: format == "sparse"}
		d, err := hyperslab.Create(ctx, location, spec, opts)
		require.NoError(t, err)
		a, commit = d.Array, func() error { return d.Commit(ctx) }
	}
	b := make([]byte, a.NumElems()*int64(a.DType().Size))
	for i := range b {
		b[i] = byte(i % 3)
	}
	require.NoError(t, a.Write(ctx, b, ndarray.Whole(a.Shape())))
	require.NoError(t, commit())
	return location
}

// TestConvert_losses checks every feature with every pair of source and target formats. The target
// must have the feature, or convert must refuse to write until it is excluded, or convert must
// report the loss.
func TestConvert_losses(t *testing.T) {
	for _, f := range lossFeatures(t) {
		for _, from := range f.sources {
			t.Run(f.what+" of "+from, func(t *testing.T) {
				t.Chdir(t.TempDir())
				spec := ndarray.Spec{Shape: []int64{20, 6}, DType: ndarray.DTypeOf[int32]()}
				if from != "bcolz" && from != "ctable" {
					spec.ChunkShape = []int64{10, 6}
				}
				f.give(&spec)
				source := lossSource(t, from, spec)
				for _, to := range lossTargets {
					lossCell(t, f, source, to)
				}
			})
		}
	}
}

func lossCell(t *testing.T, f feature, source, to string) {
	ctx := context.Background()
	file := map[string]string{"b2nd": "o.b2nd", "sparse": "o.b2nd", "caterva": "o.caterva", "hdf5": "o.h5", "bcolz": "o.bcolz", "npy": "o.npy", "raw": "o.raw"}[to]
	target, args := file, []string{"-q"}
	switch to {
	case "hdf5":
		target += ":/y"
	case "sparse":
		args = append(args, "--sparse")
	case "caterva":
		args = append(args, "--format", "caterva")
	}
	defer func() { require.NoError(t, os.RemoveAll(file)) }()
	line := append([]string{"convert", source, target}, args...)
	if slices.Contains(f.refused, to) {
		for _, more := range [][]string{nil, {"--dry-run"}} {
			stdout, stderr, code := run(append(line, more...)...)
			require.Equal(t, 2, code, "%s: %s", to, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, "no file was written:\n", to)
			require.Contains(t, stderr, "\n  "+f.what, to)
			require.Contains(t, stderr, "--exclude-unsupported", to)
			require.NoFileExists(t, file)
		}
		line = append(line, "--exclude-unsupported")
	}
	stdout, stderr, code := run(append(line, "--json")...)
	require.Zero(t, code, "%s: %s", to, stderr)
	var doc struct {
		Lost []string `json:"lost"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	named := func(what string) bool {
		return strings.HasPrefix(what, f.what) || strings.HasPrefix(what, "attribute "+f.what)
	}
	lost := slices.Contains(f.refused, to) || slices.Contains(f.reported, to)
	require.Equal(t, lost, slices.ContainsFunc(doc.Lost, named), "%s to %s: %v", f.what, to, doc.Lost)
	require.Equal(t, len(doc.Lost), strings.Count(stderr, "not kept: "), "%s: %s", to, stderr)
	for _, what := range doc.Lost {
		require.Contains(t, stderr, "not kept: "+what, to)
	}
	if to == "npy" || to == "raw" {
		require.FileExists(t, file)
		return
	}
	a, err := hyperslab.Open(ctx, source, nil)
	require.NoError(t, err)
	var opts hyperslab.OpenOptions
	if to == "caterva" {
		opts.DType = new(a.DType())
	}
	b, err := hyperslab.Open(ctx, target, &opts)
	require.NoError(t, err)
	c, err := ndarray.Compare(ctx, a, b, &ndarray.CompareOptions{IgnoreAttrs: true})
	require.NoError(t, err)
	require.True(t, c.Equal(), "%s to %s: %+v", f.what, to, c)
	if !lost {
		f.look(t, b)
	}
	require.NoError(t, errors.Join(a.Close(), b.Close()))
}

// lossTree creates an HDF5 file with comments on the root group, a group and arrays. One array has
// a checksum, and another has a filter that can be read but not written.
func lossTree(t *testing.T, name string) {
	t.Helper()
	f, err := h5.Create(name, nil)
	require.NoError(t, err)
	root := f.Root()
	level := 1
	g, err := root.CreateGroup("g")
	require.NoError(t, err)
	x, err := root.CreateDataset("g/x", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(64), &h5.DatasetOptions{ChunkShape: []int64{16}, Deflate: &level, Fletcher32: true})
	require.NoError(t, err)
	y, err := root.CreateDataset("y", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(64), &h5.DatasetOptions{ChunkShape: []int64{16}, Filters: []h5.Filter{h5.ScaleOffsetInt(0)}})
	require.NoError(t, err)
	for _, d := range []*h5.Dataset{x, y} {
		require.NoError(t, h5value.Write(d, make([]int32, 64), h5.SimpleSpace(64).All()))
	}
	require.NoError(t, errors.Join(root.SetComment("all"), g.SetComment("some"), x.SetComment("one")))
	require.NoError(t, errors.Join(x.Close(), y.Close(), g.Close(), f.Close()))
}

// treeComments returns the comments of the objects in a file that lossTree created.
func treeComments(t *testing.T, name string) (strs []string) {
	t.Helper()
	f, err := h5.Open(name, h5.ReadOnly)
	require.NoError(t, err)
	for _, path := range []string{"/", "/g", "/g/x", "/y"} {
		o := h5.Object(f.Root())
		if path != "/" {
			o, err = f.Root().OpenObject(path)
			require.NoError(t, err)
		}
		text, err := o.Comment()
		require.NoError(t, err)
		strs = append(strs, text)
		if path != "/" {
			require.NoError(t, o.Close())
		}
	}
	require.NoError(t, f.Close())
	return strs
}

// lossesOf runs a command and returns the losses that it reports. The JSON output and the
// diagnostics must be equal.
func lossesOf(t *testing.T, args ...string) []string {
	t.Helper()
	stdout, stderr, code := run(append(args, "--json")...)
	require.Zero(t, code, stderr)
	var doc struct {
		Lost  []string `json:"lost"`
		Files []struct {
			Lost []string `json:"lost"`
		} `json:"files"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	lost := doc.Lost
	for _, f := range doc.Files {
		lost = append(lost, f.Lost...)
	}
	require.Equal(t, len(lost), strings.Count(stderr, "not kept: "), stderr)
	for _, what := range lost {
		require.Contains(t, stderr, "not kept: "+what)
	}
	return lost
}

// TestConvert_treeLosses checks the losses that a conversion of a whole tree reports.
func TestConvert_treeLosses(t *testing.T) {
	t.Chdir(t.TempDir())
	lossTree(t, "s.h5")
	comments := []string{"all", "some", "one", ""}
	instead := "/y: compression (scaleoffset + none): hdf5 is not written with it; shuffle + deflate 4 instead"
	sum := "/g/x: filter (fletcher32): codec none removes all filters; --checksum keeps this one"

	require.Equal(t, []string{instead}, lossesOf(t, "convert", "s.h5", "o.h5"))
	require.Equal(t, comments, treeComments(t, "o.h5"))
	require.Equal(t, []string{instead}, lossesOf(t, "convert", "s.h5", "o.h5", "-f", "--dry-run"))
	require.Equal(t, []string{sum}, lossesOf(t, "convert", "s.h5", "none.h5", "--codec", "none"), "a codec was chosen")
	require.Empty(t, lossesOf(t, "convert", "s.h5", "none.h5", "-f", "--codec", "none", "--checksum"))
	require.Equal(t, []string{
		"/: comment (all): b2nd cannot store it",
		"/g: comment (some): b2nd cannot store it",
		"/g/x: comment (one): b2nd cannot store it",
		"/g/x: filter (fletcher32): b2nd has no such filter",
		"/y: filter (scaleoffset): b2nd has no such filter",
	}, lossesOf(t, "convert", "s.h5", "dir"))
	require.Equal(t, []string{
		"/g: comment (some): bcolz cannot store it",
		"/g/x: comment (one): bcolz cannot store it",
		"/g/x: filter (fletcher32): bcolz has no such filter",
	}, lossesOf(t, "convert", "s.h5:/g", "g.bcolz"))
}

// TestRepack_losses checks that repack removes only what its flags request, and that it reports the
// removal of a checksum. Comments must stay, and a checksum must stay if the codec changes.
func TestRepack_losses(t *testing.T) {
	t.Chdir(t.TempDir())
	lossTree(t, "s.h5")
	compression := func(location string) string {
		a, err := hyperslab.Open(context.Background(), location, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, a.Close()) }()
		return a.Meta().Compression.String()
	}
	for i, c := range []struct {
		flags, compression string
		lost               []string
	}{
		{"", "fletcher32 + deflate 1", nil},
		{"--codec lzf", "fletcher32 + lzf 0", nil},
		{"--codec none", "none", []string{"/g/x: filter (fletcher32): codec none removes all filters; --checksum keeps this one"}},
		{"--codec none --checksum", "fletcher32 + none", nil},
	} {
		out := fmt.Sprintf("%d.h5", i)
		args := append([]string{"repack", "s.h5", out}, strings.Fields(c.flags)...)
		require.Equal(t, c.lost, lossesOf(t, append(args, "--dry-run")...), c.flags)
		require.Equal(t, c.lost, lossesOf(t, args...), c.flags)
		require.Equal(t, c.compression, compression(out+":/g/x"), c.flags)
		require.Equal(t, []string{"all", "some", "one", ""}, treeComments(t, out), c.flags)
	}
	// A checksum without a codec must stay when a codec is added.
	_, stderr, code := run("repack", "3.h5", "again.h5", "--level", "2", "-q")
	require.Zero(t, code, stderr)
	require.Equal(t, "shuffle + fletcher32 + deflate 2", compression("again.h5:/g/x"))
	// The conversion of one array must report the same loss.
	require.Equal(t, []string{"filter (fletcher32): codec none removes all filters; --checksum keeps this one"}, lossesOf(t, "convert", "s.h5:/g/x", "x.h5:/x", "--codec", "none"))
}

// TestConvert_reported checks that convert reports, but does not refuse, the loss of links between
// arrays and their dimension scales, because it keeps the dimension names. Fill values of
// variable-length strings must be kept in trees, and reported for one array.
func TestConvert_reported(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := h5.Create("a.h5", nil)
	require.NoError(t, err)
	space := h5.SimpleSpace(2)
	scale, err := f.Root().CreateDataset("lat", h5.Int(4, h5.NativeOrder), space, nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("d", h5.Int(4, h5.NativeOrder), space, nil)
	require.NoError(t, err)
	require.NoError(t, scale.MakeScale("lat"))
	require.NoError(t, d.AttachScale(0, scale))
	fill, err := h5value.Encode(h5.VariableString(h5.UTF8), []string{"none"})
	require.NoError(t, err)
	s, err := f.Root().CreateDataset("s", h5.VariableString(h5.UTF8), space, &h5.DatasetOptions{FillValues: fill})
	require.NoError(t, err)
	require.NoError(t, f.Root().LinkExternal("link", "b.h5", "/x"))
	require.NoError(t, errors.Join(scale.Close(), d.Close(), s.Close(), f.Close()))
	create[int32](t, "b.h5:/x", ndarray.Spec{Shape: []int64{1}}, []int32{7})

	lost := func(args ...string) []string {
		t.Helper()
		stdout, stderr, code := run(append([]string{"convert", "--json"}, args...)...)
		require.Zero(t, code, stderr)
		var doc struct{ Lost []string }
		require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
		return doc.Lost
	}
	require.NoError(t, os.Mkdir("sub", 0o777))
	list := lost("a.h5", "sub/tree.h5")
	require.Empty(t, list, "the copy has the links of scales and arrays")
	done(t, "diff", "a.h5", "sub/tree.h5", "--exclude", "/link")
	require.Equal(t, "link\n7\n", done(t, "dump", "--csv", "sub/tree.h5:/link"), "an external link in another directory")
	out, err := h5.Open("sub/tree.h5", h5.ReadOnly)
	require.NoError(t, err)
	s, err = out.Root().OpenDataset("s")
	require.NoError(t, err)
	info, err := s.Info()
	require.NoError(t, err)
	got, err := h5value.Decode[string](info.FillValues)
	require.NoError(t, err)
	require.Equal(t, []string{"none"}, got)
	require.NoError(t, errors.Join(s.Close(), out.Close()))

	list = lost("a.h5:/d", "d.b2nd")
	require.Len(t, list, 1)
	require.Contains(t, list[0], "attribute DIMENSION_LIST (")
	require.Contains(t, done(t, "info", "d.b2nd", "--json"), `"dimension_names": ["lat"]`)
	_, stderr, code := run("convert", "a.h5:/d", "d.npy")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "DIMENSION_LIST", "the target has no dimension names")
	list = lost("a.h5:/s", "s.h5:/s")
	require.Len(t, list, 1)
	require.Contains(t, list[0], "fill value (none)")
}
