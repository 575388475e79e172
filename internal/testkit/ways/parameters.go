// The dimensions of each format, and the combinations that the format or the library excludes.

package ways

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

// dims are the values of an array in each dimension.
type dims map[string]string

// area is a format with its dimensions.
type area struct {
	format     string
	parameters []pairwise.Parameter
	excluded   []rule
}

func numbers(from, to int) (names []string) {
	for i := from; i <= to; i++ {
		names = append(names, strconv.Itoa(i))
	}
	return names
}

var chunkCounts = []string{"1", "2", "6", "127", "128", "129", "130", "200"}

var areas = []area{
	{"hdf5", []pairwise.Parameter{
		{Name: "rank", Values: numbers(0, 16)},
		{Name: "dtype", Values: []string{
			"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "bool", "enum", "bits", "S5", "utf8", "V7",
			"struct", "padded", "sub", "wide", "vlenstr", "vlenint",
		}},
		{Name: "index", Values: []string{
			"compact", "contiguous", "external", "virtual", "single", "implicit", "fixed array", "extensible array", "v1 B-tree", "v2 B-tree",
		}},
		{Name: "filters", Values: []string{
			"none", "deflate", "shuffle", "shuffle+deflate", "fletcher32", "deflate+fletcher32", "shuffle+deflate+fletcher32", "lzf", "szip",
			"nbit", "scaleoffset", "blosc", "blosc2", "bitshuffle", "zstd", "lz4",
		}},
		{Name: "chunks", Values: slices.Concat([]string{"-", "0"}, chunkCounts)},
		{Name: "filltime", Values: []string{"never", "if set", "at allocation"}},
		{Name: "fill", Values: []string{"default", "set", "undefined"}},
		{Name: "stored", Values: []string{"all", "part", "none"}},
		{Name: "alloc", Values: []string{"early", "late", "incremental"}},
		{Name: "mask", Values: []string{"none", "some"}},
		{Name: "max", Values: []string{"current", "larger", "one", "two"}},
		{Name: "extent", Values: []string{"whole", "edge", "zero"}},
		{Name: "values", Values: []string{"random", "special", "constant", "ramp"}},
		{Name: "order", Values: []string{"little", "big"}},
		{Name: "file", Values: []string{
			"earliest 8", "earliest 4", "earliest 2", "v108 8", "v108 4", "v110 8", "v110 4", "v110 8 paged", "v110 8 userblock", "latest 8",
		}},
		{Name: "format", Values: []string{"old", "new"}},
	}, hdf5Rules},
	{"b2nd", []pairwise.Parameter{
		{Name: "rank", Values: numbers(0, 16)},
		{Name: "dtype", Values: []string{
			"bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "U3", "V7", "M8[ns]", "struct", "padded", "wide",
		}},
		{Name: "filters", Values: []string{
			"none", "shuffle", "bitshuffle", "delta", "truncprec", "shuffle+delta", "delta+shuffle", "truncprec+shuffle",
			"shuffle+bitshuffle+bytedelta", "delta+shuffle+bytedelta", "delta+shuffle+bitshuffle+bytedelta",
		}},
		{Name: "chunks", Values: slices.Concat([]string{"0"}, chunkCounts)},
		{Name: "codec", Values: []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
		{Name: "level", Values: []string{"0", "1", "5", "9"}},
		{Name: "blocks", Values: []string{"one", "half", "ragged"}},
		{Name: "unstored", Values: []string{"empty", "zeros", "repeated", "nan"}},
		{Name: "stored", Values: []string{"all", "part", "none"}},
		{Name: "extent", Values: []string{"whole", "edge", "zero"}},
		{Name: "values", Values: []string{"random", "special", "constant", "ramp"}},
		{Name: "order", Values: []string{"little", "big"}},
		{Name: "storage", Values: []string{"contiguous", "sparse"}},
	}, b2ndRules},
	{"frame", []pairwise.Parameter{
		{Name: "typesize", Values: []string{"1", "4", "8", "17"}},
		{Name: "chunks", Values: slices.Concat([]string{"0"}, chunkCounts)},
		{Name: "filters", Values: []string{"none", "shuffle", "delta+shuffle", "shuffle+bitshuffle+bytedelta"}},
		{Name: "codec", Values: []string{"lz4", "zstd"}},
		{Name: "extent", Values: []string{"whole", "edge"}},
		{Name: "values", Values: []string{"random", "zeros"}},
		{Name: "storage", Values: []string{"contiguous", "sparse"}},
	}, nil},
	{"caterva", []pairwise.Parameter{
		{Name: "rank", Values: numbers(1, 8)},
		{Name: "typesize", Values: []string{"1", "4", "8", "17"}},
		{Name: "chunks", Values: []string{"1", "2", "6", "127", "200"}},
		{Name: "filters", Values: []string{"none", "shuffle", "bitshuffle", "delta+shuffle"}},
		{Name: "codec", Values: []string{"blosclz", "lz4", "zstd"}},
		{Name: "blocks", Values: []string{"one", "half", "ragged"}},
		{Name: "stored", Values: []string{"all", "none"}},
		{Name: "extent", Values: []string{"whole", "edge"}},
		{Name: "storage", Values: []string{"contiguous", "sparse"}},
	}, nil},
	{"bcolz", []pairwise.Parameter{
		{Name: "dtype", Values: []string{"bool", "i1", "u2", "i4", "i8", "u8", "f4", "f8", "S5", "U3", "M8[ns]"}},
		{Name: "rank", Values: numbers(1, 4)},
		{Name: "chunks", Values: slices.Concat([]string{"0"}, chunkCounts)},
		{Name: "codec", Values: []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"}},
		{Name: "shuffle", Values: []string{"none", "byte", "bit"}},
		{Name: "level", Values: []string{"0", "1", "9"}},
		{Name: "extent", Values: []string{"whole", "edge"}},
		{Name: "values", Values: []string{"random", "special", "constant", "ramp"}},
		{Name: "order", Values: []string{"little", "big"}},
	}, bcolzRules},
	{"npy", []pairwise.Parameter{
		{Name: "dtype", Values: []string{"bool", "i1", "i2", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16", "S5", "U3", "V7", "M8[ns]", "struct", "padded"}},
		{Name: "rank", Values: numbers(0, 5)},
		{Name: "major", Values: []string{"row", "column"}},
		{Name: "version", Values: []string{"1", "2", "3"}},
		{Name: "extent", Values: []string{"whole", "zero"}},
		{Name: "values", Values: []string{"random", "special"}},
		{Name: "order", Values: []string{"little", "big"}},
	}, npyRules},
}

// atom is a condition on one dimension: it has one of the values, or none of them.
type atom struct {
	name   string
	values []string
	none   bool
}

// rule excludes the combinations for which all atoms hold.
type rule []atom

// is returns a condition: the dimension has one of the values.
func is(name string, values ...string) atom { return atom{name, values, false} }

// not negates a condition.
func not(a atom) atom { return atom{a.name, a.values, !a.none} }

// compiled is a rule with the indexes of the parameters, and a bit for each value that holds.
type compiled []struct {
	parameter int
	values    uint64
}

// compile resolves names. A name or a value that does not exist is an error of this package.
func (a area) compile() (out []compiled) {
	for _, r := range a.excluded {
		c := make(compiled, len(r))
		for i, x := range r {
			at := slices.IndexFunc(a.parameters, func(p pairwise.Parameter) bool { return p.Name == x.name })
			if at < 0 {
				panic("ways: no dimension " + x.name)
			}
			c[i].parameter = at
			for k, value := range a.parameters[at].Values {
				if slices.Contains(x.values, value) != x.none {
					c[i].values |= 1 << k
				}
			}
		}
		out = append(out, c)
	}
	return out
}

// rules returns the functions for package pairwise.
func (a area) rules() pairwise.Rules {
	rules := a.compile()
	possible := func(row []int) bool {
		return !slices.ContainsFunc(rules, func(c compiled) bool {
			for _, x := range c {
				if v := row[x.parameter]; v < 0 || x.values>>v&1 == 0 {
					return false
				}
			}
			return true
		})
	}
	return pairwise.Rules{Allowed: possible, Possible: possible}
}

var (
	chunkedLayout = not(is("index", "compact", "contiguous", "external", "virtual"))
	variableSize  = is("dtype", "vlenstr", "vlenint")
	oneByte       = is("dtype", "i1", "u1", "bool", "S5", "utf8", "V7", "wide", "vlenstr")
)

// hdf5Rules are constraints of HDF5: a chunk index follows from the version of the layout, the
// filters, the allocation time and the maximum shape.
var hdf5Rules = []rule{
	{chunkedLayout, is("chunks", "-")},
	{not(chunkedLayout), not(is("chunks", "-"))},
	{not(chunkedLayout), not(is("filters", "none"))},
	{not(chunkedLayout), not(is("max", "current"))},
	{not(chunkedLayout), is("extent", "edge")},
	{is("index", "v1 B-tree"), not(is("format", "old"))},
	{is("format", "old"), is("index", "single", "implicit", "fixed array", "extensible array", "v2 B-tree")},
	{is("index", "single"), not(is("chunks", "1"))},
	{is("index", "single"), not(is("max", "current"))},
	{is("index", "single"), not(is("extent", "whole"))},
	{is("index", "implicit"), not(is("alloc", "early"))},
	{is("index", "implicit"), not(is("filters", "none"))},
	{is("index", "implicit", "fixed array"), not(is("max", "current", "larger"))},
	{is("index", "extensible array"), not(is("max", "one"))},
	{is("index", "v2 B-tree"), not(is("max", "two"))},
	{is("max", "two"), is("rank", "0", "1")},
	{is("rank", "0"), not(is("index", "compact", "contiguous"))},
	{is("rank", "0"), not(is("extent", "whole"))},
	{is("rank", "0"), is("stored", "part")},
	{is("chunks", "0"), not(is("extent", "zero"))},
	{is("chunks", "1", "2", "6", "127", "128", "129", "130", "200"), is("extent", "zero")},
	{is("extent", "zero"), not(is("stored", "none"))},
	{is("extent", "zero"), is("index", "external", "virtual")},
	{is("chunks", "0"), is("max", "current")},
	{is("index", "compact", "virtual", "external"), not(is("alloc", "incremental"))},
	{is("mask", "some"), not(chunkedLayout)},
	{is("mask", "some"), is("filters", "none")},
	{is("mask", "some"), is("stored", "none")},
	{is("mask", "some"), variableSize},
	{is("fill", "undefined"), is("filltime", "at allocation")},
	{variableSize, is("fill", "undefined", "set")},
	{variableSize, is("filltime", "never")},
	{variableSize, is("filters", "fletcher32", "deflate+fletcher32", "shuffle+deflate+fletcher32")},
	{is("fill", "undefined"), is("stored", "none")}, // libhdf5 refuses to read
	{is("filters", "blosc2"), is("dtype", "wide")},  // the filter cannot store elements of more than 255 bytes
	// A maximum shape without bound is a number in files with lengths of fewer than 8 bytes, so
	// that libhdf5 does not open the array.
	{is("index", "extensible array", "v2 B-tree"), is("file", "earliest 4", "earliest 2", "v108 4", "v110 4")},
	{variableSize, is("index", "external")},
	{oneByte, not(is("order", "little"))},
	{is("dtype", "vlenint"), is("order", "big")}, // h5py does not swap the bytes of such sequences
	{is("filters", "szip"), not(is("dtype", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"))},
	{is("filters", "scaleoffset"), not(is("dtype", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"))},
	{is("filters", "nbit"), variableSize},
	{is("filters", "blosc", "blosc2", "bitshuffle", "zstd", "lz4", "lzf"), variableSize},
	{is("dtype", "f4", "f8"), is("filters", "scaleoffset"), not(is("values", "ramp"))}, // a lossy filter needs finite values
	{is("file", "earliest 2"), not(is("chunks", "-", "0", "1", "2", "6", "127", "130"))},
	{is("file", "earliest 2"), is("dtype", "wide")},
	{is("chunks", "1"), is("extent", "edge"), is("max", "current")},                   // a chunk that is longer than the array
	{is("chunks", "1"), is("max", "current"), is("index", "implicit", "fixed array")}, // the index is that of a single chunk
	{is("index", "virtual"), is("fill", "undefined")},
	{is("index", "virtual"), variableSize},
}

var b2ndRules = []rule{
	{is("rank", "0"), not(is("chunks", "1"))},
	{is("rank", "0"), not(is("extent", "whole"))},
	{is("rank", "0"), is("stored", "part")},
	{is("chunks", "0"), not(is("extent", "zero"))},
	{is("extent", "zero"), not(is("chunks", "0"))},
	{is("extent", "zero"), not(is("stored", "none"))},
	{oneByte, not(is("order", "little"))},
	{is("filters", "truncprec", "truncprec+shuffle"), not(is("dtype", "f4", "f8"))},
	{is("filters", "shuffle+delta"), is("dtype", "c16")}, // python-blosc2 reads other elements than it wrote
	{is("unstored", "nan"), not(is("dtype", "f4", "f8"))},
	{is("unstored", "nan"), not(is("order", "little"))},
	{is("dtype", "padded", "V7"), is("unstored", "repeated")},
	{is("dtype", "wide"), is("filters", "shuffle+bitshuffle+bytedelta", "delta+shuffle+bytedelta", "delta+shuffle+bitshuffle+bytedelta")},
}

var bcolzRules = []rule{
	{oneByte, not(is("order", "little"))},
	{is("chunks", "0"), not(is("extent", "whole"))},
}

var npyRules = []rule{
	{oneByte, not(is("order", "little"))},
	{is("rank", "0"), not(is("extent", "whole"))},
}

// dims returns the values of a row; -1 is a dimension without a value.
func (a area) dims(row []int) dims {
	v := make(dims, len(row))
	for i, p := range a.parameters {
		if row[i] >= 0 {
			v[p.Name] = p.Values[row[i]]
		}
	}
	return v
}

// String returns the values in the order of their names.
func (v dims) String() string {
	var words []string
	for name, value := range v {
		words = append(words, name+"="+value)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}
