package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEntries passes a sample of the cases to the public functions. Panics, hangs and errors
// without a sentinel are failures, and for trusted files a crash of libhdf5 is not.
func TestEntries(t *testing.T) {
	args := []string{"-root", "../..", "-cuts", "1", "-every", "50", "-mutants", "60"}
	list, err := plan(config{root: "../..", cuts: 1, every: 50, mutants: 60, seed: 1, corpus: os.Getenv("HYPERSLAB_CORPUS"),
		blosc2: os.Getenv("HYPERSLAB_BLOSC2_SRC"), hdf5: os.Getenv("HYPERSLAB_HDF5_SRC")})
	require.NoError(t, err)
	for m, step := range map[mode]int{entries: 160, trusted: 320} {
		t.Run(string(m), func(t *testing.T) {
			n := drive(list, m, options{args: args, jobs: 2, step: step})
			sum := map[outcome]int{}
			for _, c := range n.count {
				for o, k := range c {
					sum[o] += k
				}
			}
			require.True(t, n.good(), "%v", sum)
			require.Positive(t, sum[read], "%v", sum)
			require.Positive(t, sum[refused]+sum[read], "%v", sum)
		})
	}
}

// noFile are public functions that read no file, chunk or metadata, by package.
var noFile = map[string][]string{
	"": {
		"Init", "LockFile", "ReadCounters", "WriteFile", "CreateTree", // no content of a file
	},
	"ndarray": {
		"All", "As", "At", "AttrsFor", "DTypeFor", "DTypeOf", "Ellipsis", "EnumOf", "From", "List", "Mask", "NewAxis", "ParseDType",
		"ParseSelection", "Points", "Scalar", "Select", "SetReadMemory", "Span", "StructOf", "SubArrayOf", "Text", "Vector", "Where",
		"Whole", "Wrap", // arguments of the program; FuzzParseDType and FuzzParseSelection test the parsers
	},
	"ndarray/b2nd":  {"Check", "Create", "CreateFrame", "DefaultCompression"},
	"ndarray/bcolz": {"Check", "CheckColumns", "Create", "CreateRecords", "DefaultCompression"},
	"ndarray/hdf5": {
		"Check", "CheckAttr", "Codecs", "Create", "CreateIn", "DefaultCompression", "Levels", "WriteAttrs",
		"OpenIn", // in a file that h5 has opened, as Open
	},
	"ndarray/npy": {"Create"},
	"ndarray/cf":  {},
	"ndarray/mem": {},
	"plan":        {},
	"h5/ddl":      {},
	"h5/chunkio":  {"Prefetch", "Store", "Write"},
	"h5/h5value":  {"Bool", "ComplexCompound", "DatatypeFor", "Decode", "Encode", "IsBool", "Read", "ReadLossy", "Write", "WriteAttr", "WriteLossy"},
	"h5/filter":   {"BZip2", "BitShuffle", "BitShuffleLZ4", "BitShuffleZstd", "Blosc", "Blosc2", "Blosc2Chunk", "Blosc2Frame", "Known", "LZ4", "LZF", "New", "Zstd"},
	"cblosc/frameio": {
		"Append", "Compact", "Create", "CreateLike", "NewWriter", "WriteArray", // writers, by ndarray in the mode "trusted"
	},
	"cblosc": {
		"ArrayCodecs", "BuildInfo", "CodecVersions", "Codecs", "CompressBlosc1", "Concatenate", "CopyBox", "CreateArray", "CreateArrayFrom",
		"CreateArrayOf", "CreateSChunk", "DefaultCParams", "DefaultDParams", "EncodeArrayMeta", "FreeGlobal", "LibraryCodecs",
		"MaxCompressedSize", "NewBatch", "NewCompressor", "NewPool", "NewPostfiltered", "NewPrefiltered", "NewTuned", "NewTunedPool",
		"ParseCodec", "ReadGlobalState", "RegisterCodec", "RegisterFilter", "Remove", "Rename", "ShuffleBits", "ShuffleBytes",
		"SpecialChunk", "UnshuffleBits", "UnshuffleBytes", "Version",
	},
	"h5": {
		"AllowPlugins", "ArrayOf", "CompoundOf", "Create", "CreateImage", "DefaultChunkCache", "DefaultFileAccess", "DefaultFileCreation",
		"Deflate", "Delete", "EnumOf", "Exclusive", "FilterAvailable", "FixedString", "Fletcher32", "IEEEFloat", "Int", "Intersection",
		"KeptMemory", "Nbit", "NullSpace", "OpaqueOf", "OpenIDs", "PluginDirs", "ReferenceType", "RegisterFilter", "RegisterFilterCheck",
		"RegisterFilterClass", "ReleaseMemory", "SameShape", "ScalarSpace", "ScaleOffsetFloat", "ScaleOffsetInt", "SequenceOf", "Shuffle",
		"SimpleSpace", "Szip", "Uint", "Union", "UnregisterFilter", "VariableString", "Version", "WithLock", "Without",
	},
}

// TestEntries_complete compares the calls of the modes "entries" and "trusted" with the functions
// of the public packages, and the methods of arrays, trees and variables.
func TestEntries_complete(t *testing.T) {
	called, methods := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"entries.go", "entries_bindings.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok {
				methods[x.Sel.Name] = true
				if p, ok := x.X.(*ast.Ident); ok {
					called[p.Name+"."+x.Sel.Name] = true
				}
			}
			return true
		})
	}
	const other = "Close Error String Unwrap Backend Len" // of all types
	for dir, omitted := range noFile {
		file, name := strings.ReplaceAll(dir, "/", "-"), filepath.Base(dir)
		if dir == "plan" {
			name = "plans"
		}
		if dir == "" {
			file, name = "hyperslab", "hyperslab"
		}
		b, err := os.ReadFile("../../api/" + file + ".txt")
		require.NoError(t, err)
		left := map[string]bool{}
		for _, f := range omitted {
			left[f] = true
		}
		for line := range strings.Lines(string(b)) {
			text, ok := strings.CutPrefix(line, "func ")
			if !ok {
				continue
			}
			receiver, method, ok := strings.Cut(text, ") ")
			if ok && strings.HasPrefix(text, "(") {
				kind := receiver[strings.LastIndexAny(receiver, " *")+1:]
				f := method[:strings.IndexAny(method, "([")]
				if (dir == "" && kind == "Tree" || dir == "ndarray" && kind == "Array" || dir == "ndarray/cf" && kind == "Variable") && !strings.Contains(other, f) {
					require.True(t, methods[f] || f == "SetLogger", "%s: method %s of %s is not called", dir, f, kind)
				}
				continue
			}
			f := text[:strings.IndexAny(text, "([")]
			if !left[f] {
				require.True(t, called[name+"."+f], "%s: %s is not called", dir, f)
			}
			delete(left, f)
		}
		require.Empty(t, left, "%s: functions that do not exist", dir)
	}
}
