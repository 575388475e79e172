// Parameters of compression, decompression and storage.

package cblosc

// #include "shim.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hyperslab/hyperslab/internal/guard"
)

// SplitMode selects whether a block is compressed as one stream or as one stream for each byte of
// an element.
type SplitMode int32

// The split modes of the library.
const (
	SplitAlways        SplitMode = C.BLOSC_ALWAYS_SPLIT
	SplitNever         SplitMode = C.BLOSC_NEVER_SPLIT
	SplitAuto          SplitMode = C.BLOSC_AUTO_SPLIT
	SplitForwardCompat SplitMode = C.BLOSC_FORWARD_COMPAT_SPLIT // the default; readable by older releases
)

// String returns "always split", "never split", "split automatically" or "split as older releases
// do".
func (m SplitMode) String() string {
	switch m {
	case SplitAlways:
		return "always split"
	case SplitNever:
		return "never split"
	case SplitAuto:
		return "split automatically"
	case SplitForwardCompat:
		return "split as older releases do"
	}
	return fmt.Sprintf("split mode %d", int32(m))
}

// Limits of the library, in bytes.
const (
	maxBuffer    = C.BLOSC2_MAX_BUFFERSIZE // a chunk, uncompressed
	maxBlock     = C.BLOSC2_MAXBLOCKSIZE
	maxTypeSize  = C.BLOSC2_MAXTYPESIZE
	headerLength = C.BLOSC_EXTENDED_HEADER_LENGTH
	overhead     = C.BLOSC2_MAX_OVERHEAD
)

// CParams are the parameters of compression. A nil *CParams means DefaultCParams(). In a non-nil
// one, TypeSize, Threads and Split have defaults for 0. The other fields are used as they are, so
// CParams{} stores the data: BloscLZ at level 0 without filters.
type CParams struct {
	Codec     Codec
	CodecMeta uint8              // parameter of NDLZ and the ZFPs; 0 for the others
	Level     int                // 0 (store) to 9
	TypeSize  int                // bytes per element; 0: 8; above 255 a chunk's header stores 1
	BlockSize int                // bytes; 0 lets the library choose
	Threads   int                // 0: 1; compressed bytes are reproducible only with 1
	Filters   [MaxFilters]Filter // applied in order; with three and more the data is copied first
	Split     SplitMode          // 0: SplitForwardCompat
	Dict      bool               // each chunk has a dictionary of its data: Zstd, and LZ4 and LZ4HC for readers with C-Blosc2 3.0; super-chunks need SChunk.CompressWith
}

// DefaultCParams returns the library's default: BloscLZ at level 5 after Shuffle, elements of 8
// bytes, one thread (BLOSC2_CPARAMS_DEFAULTS).
func DefaultCParams() *CParams {
	return &CParams{
		Codec: BloscLZ, Level: 5, TypeSize: 8, Threads: 1,
		Filters: [MaxFilters]Filter{5: {ID: Shuffle}},
		Split:   SplitForwardCompat,
	}
}

// WithDefaults returns p with the values of DefaultCParams for TypeSize, Threads and Split where
// they are 0, and DefaultCParams() for nil. p is not changed.
func (p *CParams) WithDefaults() *CParams {
	d := DefaultCParams()
	if p == nil {
		return d
	}
	q := *p
	q.TypeSize, q.Threads, q.Split = cmp.Or(p.TypeSize, d.TypeSize), cmp.Or(p.Threads, d.Threads), cmp.Or(p.Split, d.Split)
	return &q
}

// Validate reports every invalid field. Each error wraps ErrParam.
func (p *CParams) Validate() error {
	p = p.WithDefaults()
	var errs []error
	check := func(ok bool, field string, v any, want string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: %s = %v, want %s", ErrParam, field, v, want))
		}
	}
	_, known := codecName(p.Codec)
	check(known, "Codec", p.Codec, "a codec of this package")
	if known {
		ok, want := p.Codec.wantMeta(p.CodecMeta)
		check(ok, "CodecMeta", p.CodecMeta, want)
	}
	zfp := p.Codec >= ZFPAccuracy && p.Codec <= ZFPRate
	check(!zfp || p.TypeSize == 4 || p.TypeSize == 8, "Codec", p.Codec, "TypeSize 4 or 8 for it")
	check(p.Codec != NDLZ || p.TypeSize == 1, "Codec", p.Codec, "TypeSize 1 for it")
	check(p.Level >= 0 && p.Level <= 9, "Level", p.Level, "0 to 9")
	check(p.TypeSize >= 1 && p.TypeSize <= maxTypeSize, "TypeSize", p.TypeSize, "1 to "+strconv.Itoa(maxTypeSize))
	check(p.BlockSize >= 0 && p.BlockSize <= maxBlock, "BlockSize", p.BlockSize, "0 to "+strconv.Itoa(maxBlock))
	check(p.Threads >= 1 && p.Threads <= math.MaxInt16, "Threads", p.Threads, "1 to "+strconv.Itoa(math.MaxInt16))
	first := true
	for i, f := range p.Filters {
		f.validate(p, i, first, check)
		check(!zfp || f.ID != Shuffle && f.ID != BitShuffle, fmt.Sprintf("Filters[%d]", i), f.ID, "no shuffle before "+p.Codec.String())
		first = first && f.ID == NoFilter
	}
	errs = append(errs, p.checkLossyOrder())
	if p.Dict {
		check((p.Codec == Zstd || p.Codec == LZ4 || p.Codec == LZ4HC) && p.Level > 0, "Dict", p.Dict, "Codec zstd, lz4 or lz4hc and a Level above 0 for it")
		check(p.Threads == 1, "Threads", p.Threads, "1 for a dictionary")
		check(p.BlockSize == 0 || p.BlockSize >= minDictBlock, "BlockSize", p.BlockSize, fmt.Sprintf("0 or at least %d for a dictionary", minDictBlock))
	}
	check(p.Split >= SplitAlways && p.Split <= SplitForwardCompat, "Split", int32(p.Split), "1 to 4")
	return errors.Join(errs...)
}

// Minimum sizes for a dictionary, in bytes. The library makes a dictionary of at most a twentieth
// of the data, and Zstd needs at least 256 bytes for one. The library does not check whether the
// block table and the dictionary fit into the chunk.
const (
	minDictData  = 20 * 256
	minDictBlock = 64
)

// wholeElements reports whether the library loses data that is not whole elements.
func (p *CParams) wholeElements() bool {
	return slices.ContainsFunc(p.Filters[:], func(f Filter) bool { return f.ID.wholeElements() })
}

// outsideArrays reports codecs and filters that need the shape of an array.
func (p *CParams) outsideArrays() error {
	if p.Codec.forArrays() {
		return fmt.Errorf("%w: Codec = %v, want it only for arrays", ErrParam, p.Codec)
	}
	for i, f := range p.Filters {
		if f.ID.forArrays() {
			return fmt.Errorf("%w: Filters[%d] = %v, want it only for arrays", ErrParam, i, f.ID)
		}
	}
	return nil
}

// orDefaultOutsideArrays is orDefault for data without the shape of an array.
func (p *CParams) orDefaultOutsideArrays() (*CParams, error) {
	p, err := p.orDefault()
	if err == nil {
		err = p.outsideArrays()
	}
	return p, err
}

// String returns the parameters in one line, for example "zstd 5, shuffle, type size 4". It omits a
// block size of 0, one thread and SplitForwardCompat.
func (p *CParams) String() string {
	p = p.WithDefaults()
	parts := []string{fmt.Sprintf("%s %d", codecString(p.Codec, p.CodecMeta), p.Level)}
	if p.Dict {
		parts = append(parts, "dictionary")
	}
	for _, f := range p.Filters {
		if f.ID != NoFilter {
			parts = append(parts, f.String())
		}
	}
	parts = append(parts, fmt.Sprintf("type size %d", p.TypeSize))
	if p.BlockSize != 0 {
		parts = append(parts, fmt.Sprintf("block size %d", p.BlockSize))
	}
	if p.Split != SplitForwardCompat {
		parts = append(parts, p.Split.String())
	}
	if p.Threads != 1 {
		parts = append(parts, threads(p.Threads))
	}
	return strings.Join(parts, ", ")
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// orDefault returns p with its defaults, and validates it.
func (p *CParams) orDefault() (*CParams, error) {
	p = p.WithDefaults()
	return p, p.Validate()
}

func (p *CParams) toC() C.goblosc2_cparams_t {
	c := C.goblosc2_cparams_t{
		codec: C.int32_t(p.Codec), codec_meta: C.int32_t(p.CodecMeta), level: C.int32_t(p.Level), typesize: C.int32_t(p.TypeSize),
		blocksize: C.int32_t(p.BlockSize), threads: C.int32_t(p.Threads), splitmode: C.int32_t(p.Split),
	}
	if p.Dict {
		c.dict = 1
	}
	for i, f := range p.Filters {
		c.filters[i], c.filters_meta[i] = C.uint8_t(f.ID), C.uint8_t(f.Meta)
	}
	return c
}

func fromC(c *C.goblosc2_cparams_t) *CParams {
	p := &CParams{
		Codec: Codec(c.codec), CodecMeta: uint8(c.codec_meta), Level: int(c.level), Dict: c.dict != 0, TypeSize: int(c.typesize),
		BlockSize: int(c.blocksize), Threads: int(c.threads), Split: SplitMode(c.splitmode),
	}
	for i := range p.Filters {
		p.Filters[i] = Filter{FilterID(c.filters[i]), uint8(c.filters_meta[i])}
	}
	return p
}

// libraryCParams and libraryDParams return the library's defaults.
func libraryCParams() *CParams {
	var c C.goblosc2_cparams_t
	C.goblosc2_default_cparams(&c)
	return fromC(&c)
}

func libraryDParams() *DParams { return &DParams{Threads: int(C.goblosc2_default_dthreads())} }

// DParams are the parameters of decompression. A nil *DParams means DefaultDParams().
type DParams struct {
	Threads int // 0: 1

	// MaxBytes is the maximum size in bytes of the data of a chunk, and of all chunks of a call for
	// several. A larger one returns ErrLimit before memory for the data is allocated. It is for
	// contexts and pools; in a Storage it must be 0. 0: no limit, so that 32 bytes can expand to 2
	// GiB.
	MaxBytes int

	// Allow names additional codecs and filters that may be used: NDLZ, the ZFPs, NDCell and
	// NDMean, and registered ones. Those that are safe for any bytes are always allowed. NDLZ, the
	// ZFPs, NDCell and NDMean should only be allowed for trusted bytes. Chunks with any other codec
	// or filter are rejected, because the library would search for it and start a program.
	Allow Allow
}

// Allow lists codecs and filters that may be used for reading in addition to those that are safe
// for any bytes.
type Allow struct {
	Codecs  []Codec
	Filters []FilterID
}

func (a Allow) policy() guard.Policy { return guard.Allow(a.Codecs, a.Filters) }

// DefaultDParams returns the library's default: one thread (BLOSC2_DPARAMS_DEFAULTS).
func DefaultDParams() *DParams { return &DParams{Threads: 1} }

// filled returns a copy of p with the defaults, and DefaultDParams() for nil.
func (p *DParams) filled() *DParams {
	d := DefaultDParams()
	if p != nil {
		d.Threads, d.MaxBytes, d.Allow = cmp.Or(p.Threads, d.Threads), p.MaxBytes, p.Allow
	}
	return d
}

// validate reports an invalid field. The error wraps ErrParam.
func (p *DParams) validate() error {
	p = p.filled()
	if p.Threads < 1 || p.Threads > math.MaxInt16 {
		return fmt.Errorf("%w: Threads = %d, want 1 to %d", ErrParam, p.Threads, math.MaxInt16)
	}
	if p.MaxBytes < 0 {
		return fmt.Errorf("%w: MaxBytes = %d, want at least 0", ErrParam, p.MaxBytes)
	}
	for _, c := range p.Allow.Codecs {
		if _, ok := codecName(c); !ok {
			return fmt.Errorf("%w: Allow.Codecs has %v, want linked or registered ones", ErrParam, c)
		}
	}
	for _, f := range p.Allow.Filters {
		if _, ok := filterName(f); !ok {
			return fmt.Errorf("%w: Allow.Filters has %v, want linked or registered ones", ErrParam, f)
		}
	}
	return nil
}

// checkBytes returns an error for data of n bytes that exceeds MaxBytes.
func (p *DParams) checkBytes(n int) error {
	if p.MaxBytes > 0 && n > p.MaxBytes {
		return fmt.Errorf("%w: data: got %d bytes, want at most %d (DParams.MaxBytes)", ErrLimit, n, p.MaxBytes)
	}
	return nil
}

func (p *DParams) orDefault() (*DParams, error) {
	p = p.filled()
	return p, p.validate()
}

// Storage describes the location and the compression of a new super-chunk or array. The zero value
// is sparse memory with the library's default parameters.
type Storage struct {
	Path       string   // file or directory to create; "" for memory
	Contiguous bool     // one file or buffer (a frame) instead of one per chunk
	Mapping    int64    // address space in bytes of a mapped file, see [OpenOptions]; 0: not mapped
	Medium     Medium   // stores the frame instead of a file and is overwritten from its start; may be nil
	CParams    *CParams // nil: DefaultCParams()
	DParams    *DParams // nil: DefaultDParams()
}

// validate reports every invalid field. Each error wraps ErrParam.
func (s *Storage) validate() error {
	_, errC := s.CParams.orDefault()
	_, errD := s.DParams.orDefault()
	var errP error
	if s.Path != "" {
		errP = checkPath(s.Path)
	}
	var errM error
	if s.Mapping != 0 && (s.Mapping < 0 || s.Path == "" || !s.Contiguous) {
		errM = fmt.Errorf("%w: Mapping = %d, want 0, or more for a contiguous file", ErrParam, s.Mapping)
	}
	if s.Medium != nil && (s.Path != "" || !s.Contiguous || s.Mapping != 0) {
		errM = fmt.Errorf("%w: a Medium with Path = %q, Contiguous = %v, Mapping = %d, want a contiguous frame without a path", ErrParam, s.Path, s.Contiguous, s.Mapping)
	}
	var errOnly error
	if s.CParams != nil && s.CParams.Dict {
		errOnly = fmt.Errorf("%w: Dict = true, C-Blosc2 does not read all chunks back that a super-chunk makes: use SChunk.CompressWith", errors.ErrUnsupported)
	}
	if s.DParams != nil && s.DParams.MaxBytes != 0 {
		errD = errors.Join(errD, fmt.Errorf("%w: DParams.MaxBytes = %d, want 0 in a Storage", ErrParam, s.DParams.MaxBytes))
	}
	return errors.Join(errP, errM, errC, errD, errOnly)
}
