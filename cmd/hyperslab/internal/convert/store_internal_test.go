package convert

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
)

func TestSpec(t *testing.T) {
	f4 := ndarray.DTypeOf[float32]()
	zstd := &ndarray.Compression{Codec: "zstd", Level: 5, Filters: []string{"shuffle"}}
	deflate := &ndarray.Compression{Codec: "deflate", Level: 9, Filters: []string{"shuffle", "fletcher32"}}
	blosc := ndarray.Meta{
		Format: "b2nd", Shape: []int64{200, 300}, DType: f4, Compression: zstd,
		ChunkShape: []int64{100, 100}, BlockShape: []int64{10, 100},
	}
	hdf5 := ndarray.Meta{Format: "hdf5", Shape: []int64{200, 300}, DType: f4, Compression: deflate, ChunkShape: []int64{100, 100}}
	small, scalar, lzf := hdf5, hdf5, hdf5
	small.ChunkShape = []int64{1, 300}
	scalar.Shape, scalar.ChunkShape, scalar.Compression = nil, nil, &ndarray.Compression{Codec: "none"}
	lzf.Compression = &ndarray.Compression{Codec: "filter 32003"}
	caterva := blosc
	caterva.Format = "caterva"

	for _, tt := range []struct {
		name           string
		source         ndarray.Meta
		target         hyperslab.Format
		flags          StoreFlags
		chunks, blocks []int64
		want           *ndarray.Compression // nil for the default of the target
	}{
		{"b2nd to b2nd keeps all", blosc, hyperslab.B2ND, StoreFlags{}, blosc.ChunkShape, blosc.BlockShape, zstd},
		{"so does Caterva", caterva, hyperslab.B2ND, StoreFlags{}, blosc.ChunkShape, blosc.BlockShape, zstd},
		{"b2nd to HDF5", blosc, hyperslab.HDF5, StoreFlags{}, blosc.ChunkShape, nil, nil},
		{"HDF5 to b2nd", hdf5, hyperslab.B2ND, StoreFlags{}, hdf5.ChunkShape, nil, nil},
		{"HDF5 to HDF5 keeps all", hdf5, hyperslab.HDF5, StoreFlags{}, hdf5.ChunkShape, nil, deflate},
		{"small chunks are not for another format", small, hyperslab.B2ND, StoreFlags{}, nil, nil, nil},
		{"small chunks stay within one", small, hyperslab.HDF5, StoreFlags{}, small.ChunkShape, nil, deflate},
		{"scalar", scalar, hyperslab.HDF5, StoreFlags{}, nil, nil, scalar.Compression},
		{"codec", hdf5, hyperslab.B2ND, StoreFlags{Codec: "lz4"}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "lz4", Level: 5, Filters: []string{"shuffle"}}},
		{"the other name of DEFLATE", hdf5, hyperslab.B2ND, StoreFlags{Codec: "deflate"}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "zlib", Level: 5, Filters: []string{"shuffle"}}},
		{"and back", blosc, hyperslab.HDF5, StoreFlags{Codec: "zlib"}, blosc.ChunkShape, nil,
			&ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}},
		{"level", hdf5, hyperslab.HDF5, StoreFlags{Level: 1}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "deflate", Level: 1, Filters: []string{"shuffle", "fletcher32"}}},
		{"no shuffle", hdf5, hyperslab.HDF5, StoreFlags{Filter: "none"}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "deflate", Level: 9, Filters: []string{"fletcher32"}}},
		{"bitshuffle", blosc, hyperslab.B2ND, StoreFlags{Filter: "bit"}, blosc.ChunkShape, blosc.BlockShape,
			&ndarray.Compression{Codec: "zstd", Level: 5, Filters: []string{"bitshuffle"}}},
		{"no codec", blosc, hyperslab.B2ND, StoreFlags{Codec: "none"}, blosc.ChunkShape, blosc.BlockShape, &ndarray.Compression{Codec: "none"}},
		{"codec none, shuffled", blosc, hyperslab.B2ND, StoreFlags{Codec: "none", Filter: "byte"}, blosc.ChunkShape, blosc.BlockShape,
			&ndarray.Compression{Codec: "none", Filters: []string{"shuffle"}}},
		{"a codec for what had none", scalar, hyperslab.HDF5, StoreFlags{Level: 2}, nil, nil,
			&ndarray.Compression{Codec: "deflate", Level: 2, Filters: []string{"shuffle"}}},
		{"a codec for what cannot be written", lzf, hyperslab.HDF5, StoreFlags{Codec: "deflate"}, lzf.ChunkShape, nil,
			&ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle"}}},
		{"zstd in HDF5 at its usual level", hdf5, hyperslab.HDF5, StoreFlags{Codec: "zstd"}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "zstd", Level: 3, Filters: []string{"shuffle", "fletcher32"}}},
		{"bits are shuffled once", hdf5, hyperslab.HDF5, StoreFlags{Codec: "bitshuffle/lz4", Filter: "bit"}, hdf5.ChunkShape, nil,
			&ndarray.Compression{Codec: "bitshuffle/lz4", Filters: []string{"fletcher32"}}},
		{"a checksum", blosc, hyperslab.HDF5, StoreFlags{Sum: true}, blosc.ChunkShape, nil,
			&ndarray.Compression{Codec: "deflate", Level: 4, Filters: []string{"shuffle", "fletcher32"}}},
		{"chunks take the blocks away", blosc, hyperslab.B2ND, StoreFlags{Chunks: "50,50"}, []int64{50, 50}, nil, zstd},
		{"chunks and blocks", blosc, hyperslab.B2ND, StoreFlags{Chunks: "50,50", Blocks: "5,5"}, []int64{50, 50}, []int64{5, 5}, zstd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.flags.Level == 0 {
				tt.flags.Level = -1
			}
			spec, err := tt.flags.Spec(tt.source, tt.target)
			require.NoError(t, err)
			require.Equal(t, tt.chunks, spec.ChunkShape)
			require.Equal(t, tt.blocks, spec.BlockShape)
			require.Equal(t, tt.want, spec.Compression)
			require.Equal(t, f4, spec.DType)
		})
	}

	none := StoreFlags{Level: -1}
	_, err := none.Spec(lzf, hyperslab.HDF5)
	require.EqualError(t, err, "unsupported operation: the source is stored with codec filter 32003, which cannot be written; choose with --codec")
	lzf.Compression = &ndarray.Compression{Codec: "deflate", Filters: []string{"scaleoffset"}}
	_, err = none.Spec(lzf, hyperslab.HDF5)
	require.EqualError(t, err, "unsupported operation: the source is stored with filter scaleoffset, which cannot be written; choose with --codec")
}
