package crosscheck

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// promises lists the features of the corpus: at least one vector must contain each word. A word is
// a value of a parameter or of the metadata, or an ID.
var promises = []struct {
	area  string
	must  Must
	key   string // a parameter, "id", "rule" or "metadata KEY"
	words []string
}{
	{"chunk", Accept, "codec", []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
	{"chunk", Accept, "filters", pipelineNames()},
	{"chunk", Accept, "metadata typesize", numbersTo(1, 255)},
	{"chunk", Accept, "block", []string{"auto", "small", "4096"}},
	{"chunk", Accept, "split", []string{"auto", "always", "never", "forward"}},
	{"chunk", Accept, "level", []string{"0", "1", "5", "9"}},
	{"chunk", Accept, "length", []string{"one", "ragged", "block", "tail", "large"}},
	{"chunk", Accept, "metadata nbytes", []string{"0", "1"}},
	{"chunk", Accept, "metadata special", []string{"zeros", "NaN", "repeated value", "not initialized"}},
	{"chunk", Accept, "dictionary", []string{"yes"}},
	{"chunk", Accept, "metadata version", []string{"3", "4", "5"}},
	{"blosc1", Accept, "codec", []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
	{"blosc1", Accept, "filters", []string{"none", "shuffle", "bitshuffle"}},
	{"blosc1", Accept, "metadata version", []string{"2"}},
	{"frame", Accept, "storage", []string{"contiguous", "sparse"}},
	{"frame", Accept, "chunks", []string{"0", "1", "2", "5", "300"}},
	{"frame", Accept, "meta", []string{"0", "1", "16"}},
	{"frame", Accept, "vlmeta", []string{"0", "1", "5"}},
	{"frame", Accept, "frame", []string{"special-zeros", "special-nan-f4", "special-nan-f8", "special-uninit", "special-mixed", "reordered", "updated", "inserted", "deleted"}},
	{"b2nd", Accept, "rank", numbersTo(0, 16)},
	{"b2nd", Accept, "shape", []string{"whole", "ragged", "prime", "zero", "one chunk"}},
	{"b2nd", Accept, "metadata dtype", dtypeWords()},
	{"caterva", Accept, "rank", numbersTo(0, 8)},
	{"caterva", Accept, "shape", []string{"whole", "ragged", "prime", "zero"}},
	{"metalayer", Accept, "id", metalayerWords()},
	{"bcolz", Accept, "kind", []string{"carray", "ctable"}},
	{"store", Accept, "kind", storeKinds},
	{"store", Accept, "content", []string{"one-array", "embedded", "mixed", "groups", "frames", "names", "dtypes", "shapes", "attributes", "golden"}},
	{"hdf5", Accept, "layout", []string{"compact", "contiguous", "chunked", "one chunk", "one unlimited", "two unlimited", "early"}},
	{"hdf5", Accept, "filter", hdf5FilterNames()},
	{"hdf5", Accept, "fill", []string{"default", "value"}},
	{"hdf5", Accept, "space", []string{"scalar", "null", "zero", "unlimited-last", "limited", "rank-32"}},
	{"hdf5", Accept, "metadata index", []string{"single chunk", "implicit", "fixed array", "extensible array", "version 1 B-tree", "version 2 B-tree"}},
	{"hdf5", Accept, "storage", []string{"compact", "dense", "ordered", "dense-ordered"}},
	{"hdf5", Accept, "file", []string{"shared", "shared-tree", "user-block", "paged", "sizes-4-4"}},
	{"hdf5", Accept, "reference", []string{"object", "region"}},
	{"hdf5", Accept, "golden", []string{"times-earliest", "times-v18", "times-v114", "references-v114"}},
	{"hdf5", Accept, "format", []string{"v200"}},
	{"hdf5", Accept, "type", []string{"complex64-le", "complex128-be", "float8-e4m3", "float8-e5m2", "bfloat16-be"}},
	{"hdf5", Accept, "id", []string{"hdf5/elsewhere/v114/virtual", "hdf5/elsewhere/v114/external", "hdf5/type/v114/committed"}},
	{"chunk", Refuse, "rule", []string{""}}, {"blosc1", Refuse, "rule", []string{""}}, {"frame", Refuse, "rule", []string{""}}, {"b2nd", Refuse, "rule", []string{""}},
	{"caterva", Refuse, "rule", []string{""}}, {"metalayer", Refuse, "rule", []string{""}}, {"bcolz", Refuse, "rule", []string{""}}, {"store", Refuse, "rule", []string{""}}, {"hdf5", Refuse, "rule", []string{""}},
}

func numbersTo(first, last int) []string {
	var words []string
	for i := first; i <= last; i++ {
		words = append(words, fmt.Sprint(i))
	}
	return words
}

func metalayerWords() []string {
	var words []string
	for rank := range 17 {
		words = append(words, fmt.Sprintf("metalayer/b2nd-rank%02d", rank))
	}
	for rank := range 9 {
		words = append(words, fmt.Sprintf("metalayer/caterva-rank%02d", rank))
	}
	return words
}

func dtypeWords() []string {
	for _, p := range arrayParameters {
		if p.Name == "dtype" {
			return p.Values
		}
	}
	return nil
}

// TestCorpus_features checks that a vector contains each word of promises. Every vector must have a
// section of the specification, and every vector to refuse a violated rule.
func TestCorpus_features(t *testing.T) {
	_, m := Corpus(t)
	held := make(map[string]bool)
	for _, c := range m.Cases {
		require.NotEmpty(t, c.Section, c.ID)
		require.Equal(t, c.Must == Refuse, c.Rule != "", c.ID)
		require.NotEmpty(t, c.SHA256, c.ID)
		for _, name := range []string{"accessed", "modified", "changed", "born"} {
			if strings.HasPrefix(c.ID, "hdf5/golden/times-") || strings.HasPrefix(c.ID, "hdf5/old/") {
				continue // golden files, and bytes built from the specification
			}
			require.NotContains(t, c.Metadata, name, "%s: a time", c.ID)
		}
		in := c.Area + " " + string(c.Must) + " "
		held[in+"id "+c.ID], held[in+"rule "] = true, true
		for k, v := range c.Params {
			held[in+k+" "+v] = true
		}
		for k, v := range c.Metadata {
			held[in+"metadata "+k+" "+fmt.Sprint(v)] = true
		}
	}
	for _, p := range promises {
		for _, w := range p.words {
			require.True(t, held[p.area+" "+string(p.must)+" "+p.key+" "+w], "no vector of %s to %s with %s %q", p.area, p.must, p.key, w)
		}
	}
}

// TestCorpus_distinctChunks checks that the full sweep of chunks, which no test emits, contains no
// chunk twice and every chunk of the small sweep.
func TestCorpus_distinctChunks(t *testing.T) {
	seen := make(map[string]bool)
	name := func(w swept) string { return fmt.Sprint(w.typesize, w.n, w.p.name) }
	for _, w := range chunkSweep(true) {
		require.False(t, seen[name(w)], name(w))
		seen[name(w)] = true
	}
	for _, w := range chunkSweep(false) {
		require.True(t, seen[name(w)], name(w))
	}
}

// TestCorpus_booleans checks that elements of dtype |b1 are 0 or 1: a reader may print them as true
// and false.
func TestCorpus_booleans(t *testing.T) {
	t.Parallel()
	dir, m := Corpus(t)
	n := 0
	for _, c := range m.Cases {
		if c.Decoded == nil || c.Decoded.DType != "|b1" {
			continue
		}
		b, err := Decode(dir, c)
		require.NoError(t, err, c.ID)
		require.Empty(t, strings.Trim(string(b), "\x00\x01"), c.ID)
		n++
	}
	require.Greater(t, n, 20)
}
