// How data is compressed and where it is kept, as plain values.

package cblosc

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Codec is the id of a compressor.
type Codec uint8

// The codecs of the library.
const (
	BloscLZ Codec = C.BLOSC_BLOSCLZ
	LZ4     Codec = C.BLOSC_LZ4
	LZ4HC   Codec = C.BLOSC_LZ4HC
	Zlib    Codec = C.BLOSC_ZLIB
	Zstd    Codec = C.BLOSC_ZSTD
)

var codecNames = map[Codec]string{BloscLZ: "blosclz", LZ4: "lz4", LZ4HC: "lz4hc", Zlib: "zlib", Zstd: "zstd"}

// Codecs returns the codecs that chunks can be compressed with, in order of id.
func Codecs() []Codec { return []Codec{BloscLZ, LZ4, LZ4HC, Zlib, Zstd} }

// String is the library's name of the codec, or "codec 33" for one that this
// package cannot compress with.
func (c Codec) String() string {
	if s, ok := codecNames[c]; ok {
		return s
	}
	return "codec " + strconv.Itoa(int(c))
}

// ParseCodec is the inverse of String.
func ParseCodec(name string) (Codec, error) {
	for _, c := range Codecs() {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("%w: codec %q", ErrParam, name)
}

// FilterID is the id of a transformation that runs before the codec.
type FilterID uint8

// The filters of the library.
const (
	NoFilter   FilterID = C.BLOSC_NOFILTER
	Shuffle    FilterID = C.BLOSC_SHUFFLE    // bytes of equal significance together
	BitShuffle FilterID = C.BLOSC_BITSHUFFLE // bits of equal significance together
	Delta      FilterID = C.BLOSC_DELTA      // difference to the first block; only as the first filter
	TruncPrec  FilterID = C.BLOSC_TRUNC_PREC // lossy: Meta bits of mantissa stay; as int8 below 0, -Meta are zeroed
)

// String is the name of the filter, or "filter 35" for one that this package
// cannot compress with.
func (f FilterID) String() string {
	switch f {
	case NoFilter:
		return "nofilter"
	case Shuffle:
		return "shuffle"
	case BitShuffle:
		return "bitshuffle"
	case Delta:
		return "delta"
	case TruncPrec:
		return "trunc_prec"
	}
	return "filter " + strconv.Itoa(int(f))
}

// Filter is one step of the pipeline.
type Filter struct {
	ID   FilterID
	Meta uint8 // the filter's parameter; 0 where it has none
}

// MaxFilters is the number of steps in a pipeline.
const MaxFilters = C.BLOSC2_MAX_FILTERS

// SplitMode says whether a block is compressed as one stream or as one stream for
// each byte of an element.
type SplitMode int32

// The split modes of the library.
const (
	SplitAlways        SplitMode = C.BLOSC_ALWAYS_SPLIT
	SplitNever         SplitMode = C.BLOSC_NEVER_SPLIT
	SplitAuto          SplitMode = C.BLOSC_AUTO_SPLIT
	SplitForwardCompat SplitMode = C.BLOSC_FORWARD_COMPAT_SPLIT // the default; readable by older releases
)

// Limits of the library, in bytes.
const (
	maxBuffer    = C.BLOSC2_MAX_BUFFERSIZE // a chunk, uncompressed
	maxBlock     = C.BLOSC2_MAXBLOCKSIZE
	maxTypeSize  = C.BLOSC2_MAXTYPESIZE
	headerLength = C.BLOSC_EXTENDED_HEADER_LENGTH
	overhead     = C.BLOSC2_MAX_OVERHEAD
)

// CParams says how chunks are compressed. A nil *CParams means DefaultCParams(); a
// non-nil one is taken literally, zero fields included.
type CParams struct {
	Codec     Codec
	Level     int                // 0 (store) to 9
	TypeSize  int                // bytes an element, ≥ 1; above 255 a chunk's header says 1
	BlockSize int                // bytes; 0 lets the library choose
	Threads   int                // ≥ 1; bytes are the same on every run only with 1
	Filters   [MaxFilters]Filter // applied in order
	Split     SplitMode
}

// DefaultCParams returns the library's default: BloscLZ at level 5 behind Shuffle,
// elements of 8 bytes, one thread (BLOSC2_CPARAMS_DEFAULTS).
func DefaultCParams() *CParams {
	return &CParams{
		Codec: BloscLZ, Level: 5, TypeSize: 8, Threads: 1,
		Filters: [MaxFilters]Filter{5: {ID: Shuffle}},
		Split:   SplitForwardCompat,
	}
}

// Validate reports every bad field at once, each wrapping ErrParam.
func (p *CParams) Validate() error {
	var errs []error
	check := func(ok bool, field string, v any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s = %v, want %s", ErrParam, field, v, want))
		}
	}
	_, known := codecNames[p.Codec]
	check(known, "Codec", p.Codec, "one of blosclz, lz4, lz4hc, zlib, zstd")
	check(p.Level >= 0 && p.Level <= 9, "Level", p.Level, "0 to 9")
	check(p.TypeSize >= 1 && p.TypeSize <= maxTypeSize, "TypeSize", p.TypeSize, "1 to "+strconv.Itoa(maxTypeSize))
	check(p.BlockSize >= 0 && p.BlockSize <= maxBlock, "BlockSize", p.BlockSize, "0 to "+strconv.Itoa(maxBlock))
	check(p.Threads >= 1 && p.Threads <= math.MaxInt16, "Threads", p.Threads, "1 to "+strconv.Itoa(math.MaxInt16))
	seen := false
	for i, f := range p.Filters {
		field := fmt.Sprintf("Filters[%d]", i)
		check(f.ID <= TruncPrec, field, f.ID, "a filter of this package")
		switch f.ID {
		case Delta:
			// Its reference is the unfiltered data: behind another filter it does not come back.
			check(!seen, field, f.ID, "it before all other filters")
		case TruncPrec:
			bits, ok := mantissa[p.TypeSize]
			check(ok, field, f.ID, "TypeSize 4 or 8 for it")
			m := int(int8(f.Meta))
			check(!ok || m > 0 && m <= bits || m < 0 && -m < bits, field+".Meta", m,
				fmt.Sprintf("1 to %d or -%d to -1", bits, bits-1))
		}
		seen = seen || f.ID != NoFilter
	}
	check(p.Split >= SplitAlways && p.Split <= SplitForwardCompat, "Split", p.Split, "1 to 4")
	return errors.Join(errs...)
}

// mantissa is the bits in the mantissa of a float of that many bytes.
var mantissa = map[int]int{4: 23, 8: 52}

// wholeElements reports whether the library loses data that is not whole elements:
// Delta and TruncPrec leave the rest behind the last one undefined.
func (p *CParams) wholeElements() bool {
	return slices.ContainsFunc(p.Filters[:], func(f Filter) bool { return f.ID == Delta || f.ID == TruncPrec })
}

// String is one line for people: "zstd 5, shuffle, type size 4, …".
func (p *CParams) String() string {
	parts := []string{fmt.Sprintf("%v %d", p.Codec, p.Level)}
	for _, f := range p.Filters {
		switch {
		case f.ID == NoFilter:
		case f.Meta != 0:
			parts = append(parts, fmt.Sprintf("%v(%d)", f.ID, f.Meta))
		default:
			parts = append(parts, f.ID.String())
		}
	}
	parts = append(parts, fmt.Sprintf("type size %d", p.TypeSize))
	if p.BlockSize != 0 {
		parts = append(parts, fmt.Sprintf("block size %d", p.BlockSize))
	}
	if p.Threads != 1 {
		parts = append(parts, fmt.Sprintf("%d threads", p.Threads))
	}
	return strings.Join(parts, ", ")
}

// orDefault resolves nil and validates the rest.
func (p *CParams) orDefault() (*CParams, error) {
	if p == nil {
		return DefaultCParams(), nil
	}
	return p, p.Validate()
}

func (p *CParams) toC() C.goblosc2_cparams_t {
	c := C.goblosc2_cparams_t{
		codec: C.int32_t(p.Codec), level: C.int32_t(p.Level), typesize: C.int32_t(p.TypeSize),
		blocksize: C.int32_t(p.BlockSize), threads: C.int32_t(p.Threads), splitmode: C.int32_t(p.Split),
	}
	for i, f := range p.Filters {
		c.filters[i], c.filters_meta[i] = C.uint8_t(f.ID), C.uint8_t(f.Meta)
	}
	return c
}

func fromC(c *C.goblosc2_cparams_t) *CParams {
	p := &CParams{
		Codec: Codec(c.codec), Level: int(c.level), TypeSize: int(c.typesize),
		BlockSize: int(c.blocksize), Threads: int(c.threads), Split: SplitMode(c.splitmode),
	}
	for i := range p.Filters {
		p.Filters[i] = Filter{FilterID(c.filters[i]), uint8(c.filters_meta[i])}
	}
	return p
}

// libraryCParams and libraryDParams are the library's own defaults.
func libraryCParams() *CParams {
	var c C.goblosc2_cparams_t
	C.goblosc2_default_cparams(&c)
	return fromC(&c)
}

func libraryDParams() *DParams { return &DParams{Threads: int(C.goblosc2_default_dthreads())} }

// DParams says how chunks are decompressed. A nil *DParams means DefaultDParams().
type DParams struct {
	Threads int // ≥ 1
}

// DefaultDParams returns the library's default: one thread (BLOSC2_DPARAMS_DEFAULTS).
func DefaultDParams() *DParams { return &DParams{Threads: 1} }

// Validate reports a bad field, wrapping ErrParam.
func (p *DParams) Validate() error {
	if p.Threads < 1 || p.Threads > math.MaxInt16 {
		return fmt.Errorf("%w: Threads = %d, want 1 to %d", ErrParam, p.Threads, math.MaxInt16)
	}
	return nil
}

func (p *DParams) orDefault() (*DParams, error) {
	if p == nil {
		return DefaultDParams(), nil
	}
	return p, p.Validate()
}

// Storage says where a new super-chunk or array is kept and how it is compressed.
// The zero value is memory, sparse, with the library's default parameters.
type Storage struct {
	Path       string   // file or directory to create, "" for memory
	Contiguous bool     // one file or buffer (a frame) instead of one a chunk
	CParams    *CParams // nil: DefaultCParams()
	DParams    *DParams // nil: DefaultDParams()
}

// Validate reports every bad field, each wrapping ErrParam.
func (s *Storage) Validate() error {
	_, errC := s.CParams.orDefault()
	_, errD := s.DParams.orDefault()
	var errP error
	if strings.IndexByte(s.Path, 0) >= 0 {
		errP = fmt.Errorf("%w: Path = %q holds a zero byte", ErrParam, s.Path)
	}
	return errors.Join(errP, errC, errD)
}
