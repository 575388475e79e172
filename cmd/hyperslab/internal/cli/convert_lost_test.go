// What convert loses, for every pair of formats: nothing without a word.

package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// feature is something that an array may have beside its elements.
type feature struct {
	what          string // as the message begins
	give          func(s *ndarray.Spec)
	look          func(t *testing.T, a *ndarray.Array) // asserts that it is there
	sources       []string                             // formats that can have it
	refused, told []string                             // targets that cannot
	after         func(t *testing.T, location string)  // more to be done to the source
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
		{what: "names of axes (time, )", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, refused: bare,
			give: func(s *ndarray.Spec) { s.AxisNames = []string{"time", ""} },
			look: metaIs([]string{"time", ""}, func(m ndarray.Meta) any { return m.AxisNames })},
		{what: "largest shape (anyx6)", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, refused: []string{"caterva"}, told: flat,
			give: func(s *ndarray.Spec) { s.MaxShape = []int64{ndarray.Unlimited, 6} },
			look: metaIs([]int64{ndarray.Unlimited, 6}, func(m ndarray.Meta) any { return m.MaxShape })},
		{what: "largest shape (20xany)", sources: []string{"b2nd", "sparse", "hdf5"}, refused: []string{"caterva", "bcolz"}, told: flat,
			give: func(s *ndarray.Spec) { s.MaxShape = []int64{20, ndarray.Unlimited} },
			look: metaIs([]int64{20, ndarray.Unlimited}, func(m ndarray.Meta) any { return m.MaxShape })},
		{what: "type (enum('<i2', {'RED': 0, 'BLUE': 7}))", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, told: bare,
			give: func(s *ndarray.Spec) { s.DType = enum },
			look: func(t *testing.T, a *ndarray.Array) { require.True(t, a.DType().Equal(enum), "%v", a.DType()) }},
		{what: "type (<i4)", sources: []string{"b2nd", "sparse", "hdf5", "bcolz"}, told: []string{"caterva", "raw"},
			give: func(*ndarray.Spec) {},
			look: func(*testing.T, *ndarray.Array) {}}, // the comparison of elements looks at it
		{what: "filter (fletcher32)", sources: notFrames, told: []string{"b2nd", "sparse", "caterva", "bcolz", "npy", "raw"},
			give: func(s *ndarray.Spec) {
				s.Compression = &ndarray.Compression{Codec: "deflate", Level: 1, Filters: []string{"fletcher32"}}
			},
			look: metaIs([]string{"fletcher32"}, func(m ndarray.Meta) any { return m.Compression.Filters })},
		{what: "filter (delta)", sources: []string{"b2nd", "sparse"}, told: []string{"hdf5", "bcolz"},
			give: func(s *ndarray.Spec) {
				s.Compression = &ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"delta"}}
			},
			look: func(t *testing.T, a *ndarray.Array) {
				if a.Meta().Compression != nil && a.Meta().Format != "npy" {
					require.Equal(t, []string{"delta"}, a.Meta().Compression.Filters)
				}
			}},
		{what: "codec (lzf)", sources: notFrames, told: []string{"b2nd", "sparse", "caterva", "bcolz"},
			give: func(s *ndarray.Spec) { s.Compression = &ndarray.Compression{Codec: "lzf"} },
			look: func(t *testing.T, a *ndarray.Array) {
				if a.Meta().Format == "hdf5" {
					require.Equal(t, "lzf", a.Meta().Compression.Codec)
				}
			}},
		{what: "chunks (10x3)", sources: []string{"b2nd", "sparse", "hdf5"}, told: []string{"bcolz"},
			give: func(s *ndarray.Spec) { s.ChunkShape = []int64{10, 3} },
			look: func(*testing.T, *ndarray.Array) {}}, // every format may choose
		{what: "comment (for you)", sources: notFrames, told: lossTargets,
			give: func(*ndarray.Spec) {},
			after: func(t *testing.T, location string) {
				file, object, _ := strings.Cut(location, ":")
				f, err := h5.Open(file, h5.ReadWrite)
				require.NoError(t, err)
				d, err := f.Root().OpenDataset(object)
				require.NoError(t, err)
				require.NoError(t, d.SetComment("for you"))
				require.NoError(t, errors.Join(d.Close(), f.Close()))
			}},
	}
}

// lossSource makes the one source of a test, with elements that a checksum or a delta can bear.
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
		opts := []formats.Option{formats.WithOverwrite()}
		if format == "sparse" {
			opts = append(opts, formats.WithSparse())
		}
		d, err := formats.Create(ctx, location, spec, opts...)
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

// Every feature from every format that has it to every target: it is there when the target
// is read, or it is refused until excluded and nothing is written, or it is told.
func TestConvertLosesNothingInSilence(t *testing.T) {
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
				if f.after != nil {
					f.after(t, source)
				}
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
			require.Contains(t, stderr, "nothing was written:\n", to)
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
	lost := slices.Contains(f.refused, to) || slices.Contains(f.told, to)
	require.Equal(t, lost, slices.ContainsFunc(doc.Lost, named), "%s to %s: %v", f.what, to, doc.Lost)
	require.Equal(t, len(doc.Lost), strings.Count(stderr, "leaving out "), "%s: %s", to, stderr)
	for _, what := range doc.Lost {
		require.Contains(t, stderr, "leaving out "+what, to)
	}
	if to == "npy" || to == "raw" {
		require.FileExists(t, file)
		return
	}
	a, err := formats.Open(ctx, source)
	require.NoError(t, err)
	var opts []formats.Option
	if to == "caterva" {
		opts = append(opts, formats.WithDType(a.DType()))
	}
	b, err := formats.Open(ctx, target, opts...)
	require.NoError(t, err)
	c, err := ndarray.Compare(ctx, a, b, &ndarray.CompareOptions{IgnoreAttrs: true})
	require.NoError(t, err)
	require.True(t, c.Equal(), "%s to %s: %+v", f.what, to, c)
	if !lost {
		f.look(t, b)
	}
	require.NoError(t, errors.Join(a.Close(), b.Close()))
}
