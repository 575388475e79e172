//go:build cgo

// Constructors of the registered filters, and the checks of their parameters.

package filter

import (
	"fmt"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/h5"
)

// Zstd compresses with Zstandard (32015) at a level from 1 to 22. Negative levels down to -131072
// are faster, and 0 is Zstandard's default, 3.
func Zstd(level int) h5.Filter { return optional(IDZstd, uint32(level)) }

// LZ4 compresses with LZ4 (32004).
func LZ4() h5.Filter { return optional(IDLZ4) }

// LZF compresses with LZF (32000), the filter of h5py.
func LZF() h5.Filter { return optional(IDLZF) }

// BZip2 compresses with bzip2 (307). level is the block size, 1 to 9 times 100 kB.
func BZip2(level int) h5.Filter { return optional(IDBZip2, uint32(level)) }

// Numbers of the codecs of bitshuffle (BSHUF_H5_COMPRESS_LZ4, BSHUF_H5_COMPRESS_ZSTD), and the
// indexes of its parameters for a new dataset. A block size of 0 elements is automatic.
const (
	bitsLZ4  = 2
	bitsZstd = 3

	bitsBlock = 0
	bitsCodec = 1
	bitsLevel = 2
)

// BitShuffle groups bits of equal significance (32008) and does not compress. It is meant for use
// before a filter that compresses. It is not optional, because an optional filter is skipped for
// chunks that do not get shorter.
func BitShuffle() h5.Filter { return h5.Filter{ID: IDBitShuffle} }

// BitShuffleLZ4 is BitShuffle with LZ4 compression in the same filter.
func BitShuffleLZ4() h5.Filter { return optional(IDBitShuffle, 0, bitsLZ4) }

// BitShuffleZstd is BitShuffle with Zstandard compression in the same filter. The levels are those
// of Zstd.
func BitShuffleZstd(level int) h5.Filter {
	return optional(IDBitShuffle, 0, bitsZstd, uint32(level))
}

// Blosc compresses with Blosc (32001) at a level from 0 (store) to 9. codec is one of
// [cblosc.Codecs]. shuffle is cblosc.NoFilter, cblosc.Shuffle or cblosc.BitShuffle.
func Blosc(codec cblosc.Codec, level int, shuffle cblosc.FilterID) h5.Filter {
	return optional(IDBlosc, 0, 0, 0, 0, uint32(level), uint32(shuffle), uint32(codec))
}

// Blosc2 compresses with Blosc2 (32026). The parameters are those of Blosc. A chunk of more than
// one dimension is stored as a b2nd array.
func Blosc2(codec cblosc.Codec, level int, shuffle cblosc.FilterID) h5.Filter {
	return optional(IDBlosc2, 0, 0, 0, 0, uint32(level), uint32(shuffle), uint32(codec))
}

// optional returns a filter that libhdf5 skips for chunks that do not get shorter, as h5py sets it.
func optional(id int, values ...uint32) h5.Filter {
	return h5.Filter{ID: id, Optional: true, Values: values}
}

// checks are the functions for h5.RegisterFilterCheck, by filter number.
var checks = map[int]func(values []uint32) error{
	IDZstd: func(v []uint32) error { return checkZstd(v, 0) },
	IDBZip2: func(v []uint32) error {
		if len(v) > 0 && (v[0] < 1 || v[0] > 9) {
			return fmt.Errorf("level %d, want 1 to 9", int32(v[0]))
		}
		return nil
	},
	IDBitShuffle: func(v []uint32) error {
		if len(v) > bitsBlock && v[bitsBlock]%8 != 0 {
			return fmt.Errorf("blocks of %d elements, want a multiple of 8", v[bitsBlock])
		}
		if len(v) > bitsCodec && v[bitsCodec] == bitsZstd {
			return checkZstd(v, bitsLevel)
		}
		return nil
	},
	IDBlosc:  checkBlosc,
	IDBlosc2: checkBlosc,
}

// Levels of Zstandard (ZSTD_minCLevel, ZSTD_maxCLevel).
const (
	minZstd = -1 << 17
	maxZstd = 22
)

// checkZstd checks the level of Zstandard in v[at], if there is one.
func checkZstd(v []uint32, at int) error {
	if at < len(v) && (int32(v[at]) < minZstd || int32(v[at]) > maxZstd) {
		return fmt.Errorf("level %d, want %d to %d", int32(v[at]), minZstd, maxZstd)
	}
	return nil
}

func checkBlosc(v []uint32) error {
	_, err := bloscParams(v)
	return err
}
