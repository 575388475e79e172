// Storage of arrays: the flags, and their effect on one array in one format.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// StoreFlags describe how arrays must be stored. Properties that are not given stay unchanged, or
// are the choice of the format.
type StoreFlags struct {
	Codec  string
	Level  int // -1: not given
	Filter string
	Chunks string
	Blocks string
	Sparse bool
	Sum    bool
	Grow   []int
}

// Add adds the flags to a command.
func (o *StoreFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Codec, "codec", "", "`CODEC` of b2nd and bcolz: blosclz, lz4, lz4hc, zlib, zstd; of HDF5: deflate, zstd, lz4, lzf, "+
		"bzip2, szip, bitshuffle/CODEC, blosc/CODEC, blosc2/CODEC; of all: none")
	f.IntVar(&o.Level, "level", -1, "compression level `N`, 0 to 9; of zstd in HDF5 1 to 22; not of lz4, lzf and szip in HDF5")
	f.StringVar(&o.Filter, "shuffle", "", "`KIND` of shuffle: none, byte or bit")
	f.StringVar(&o.Chunks, "chunks", "", "`SHAPE` of a chunk in elements, for example 64,64")
	f.StringVar(&o.Blocks, "blocks", "", "`SHAPE` of a block inside a chunk of b2nd, in elements")
	f.BoolVar(&o.Sparse, "sparse", false, "b2nd as a directory with a file for each chunk")
	f.BoolVar(&o.Sum, "checksum", false, "a checksum of each chunk: Fletcher-32 in HDF5, CRC-32C in b2nd")
	f.IntSliceVar(&o.Grow, "grow", nil, "`AXES`, counted from 0, along which the array can grow without bound")
	f.Lookup("level").DefValue = "0" // so that the help shows no default
	words := append([]string{}, bloscCodecs...)
	for _, c := range hdf5.Codecs() {
		if !slices.Contains(words, c) {
			words = append(words, c)
		}
	}
	shell.CompleteWords(cmd, "codec", words...)
	shell.CompleteWords(cmd, "shuffle", "none", "byte", "bit")
}

// Given reports whether any of the flags was given.
func (o *StoreFlags) Given() bool {
	return o.Codec != "" || o.Level >= 0 || o.Filter != "" || o.Chunks != "" || o.Blocks != "" || o.Sparse || o.Sum || len(o.Grow) > 0
}

// check checks the flags that do not depend on the arrays.
func (o *StoreFlags) check() error {
	if o.Level < -1 || o.Level > mostLevel {
		return shell.Usagef("--level %d: want 0 to 9, or up to %d for zstd in HDF5", o.Level, mostLevel)
	}
	if o.Codec == "none" && o.Level > 0 {
		return shell.Usagef("--level %d: codec none has no levels", o.Level)
	}
	if o.Filter != "" {
		if err := shell.OneOf("--shuffle", o.Filter, "none", "byte", "bit"); err != nil {
			return err
		}
	}
	for flag, text := range map[string]string{"--chunks": o.Chunks, "--blocks": o.Blocks} {
		if _, err := term.ParseShape(text); err != nil {
			return shell.Usagef("%s: %w", flag, err)
		}
	}
	return nil
}

// mostLevel is the highest level of any codec.
const mostLevel = 22

// growable makes the axes in --grow unlimited.
func (o *StoreFlags) growable(spec *ndarray.Spec) error {
	for _, axis := range o.Grow {
		if axis < 0 || axis >= len(spec.Shape) {
			return shell.Usagef("--grow %d: the array is %s, its axes are counted from 0", axis, term.FormatShape(spec.Shape))
		}
		if spec.MaxShape == nil {
			spec.MaxShape = slices.Clone(spec.Shape)
		}
		spec.MaxShape[axis] = ndarray.Unlimited
	}
	return nil
}

// defaultCompression is the compression of a format without flags.
var defaultCompression = map[hyperslab.Format]func() *ndarray.Compression{
	hyperslab.B2ND:    b2nd.DefaultCompression,
	hyperslab.Caterva: b2nd.DefaultCompression,
	shell.FrameFormat: b2nd.DefaultCompression,
	hyperslab.HDF5:    hdf5.DefaultCompression,
	hyperslab.Bcolz:   bcolz.DefaultCompression,
}

// codecs are the values of --codec, and filters the filters that can precede them.
var (
	Codecs = map[hyperslab.Format][]string{
		hyperslab.B2ND:    bloscCodecs,
		hyperslab.Caterva: bloscCodecs,
		shell.FrameFormat: bloscCodecs,
		hyperslab.HDF5:    hdf5.Codecs(),
		hyperslab.Bcolz:   bloscCodecs,
	}
	filters = map[hyperslab.Format][]string{
		hyperslab.B2ND:    {"shuffle", "bitshuffle", "delta", checksums[hyperslab.B2ND]},
		hyperslab.Caterva: {"shuffle", "bitshuffle", "delta"},
		shell.FrameFormat: {"shuffle", "bitshuffle", "delta"},
		hyperslab.HDF5:    {"shuffle", "bitshuffle", checksums[hyperslab.HDF5]},
		hyperslab.Bcolz:   {"shuffle", "bitshuffle"},
	}
	bloscCodecs = []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd", "none"}
)

// checksums are the filters that add a checksum to each chunk, the last ones of their formats.
var checksums = map[hyperslab.Format]string{hyperslab.HDF5: "fletcher32", hyperslab.B2ND: "crc32c"}

// isChecksum reports whether a filter adds a checksum to each chunk.
func isChecksum(filter string) bool {
	return filter == checksums[hyperslab.HDF5] || filter == checksums[hyperslab.B2ND]
}

// summed reports whether each chunk has a checksum.
func summed(c *ndarray.Compression) bool {
	return c != nil && slices.ContainsFunc(c.Filters, isChecksum)
}

// tableFormat is the format of convert for a table of python-blosc2.
const tableFormat = "ctable"

// A conversion between formats keeps the chunk shape of the source if the chunk size in bytes is
// within these limits, which suit every format. Otherwise the target format chooses it.
const (
	leastChunk = 16 << 10
	mostChunk  = 64 << 20
)

// Spec returns the array to create from one that m describes, without attributes.
func (o *StoreFlags) Spec(m ndarray.Meta, format hyperslab.Format) (ndarray.Spec, error) {
	spec := m.Spec()
	within := string(format) == m.Format || shell.IsFrame(format) && shell.IsFrame(hyperslab.Format(m.Format))
	if !within {
		// Only HDF5 has comments.
		spec.Compression, spec.Comment = nil, ""
		if n := chunkBytes(m); n < leastChunk || n > mostChunk || format == hyperslab.Bcolz { // bcolz does not split rows
			spec.ChunkShape = nil
		}
	}
	if !within || !shell.IsFrame(format) || o.Chunks != "" {
		spec.BlockShape = nil
	}
	if within && summed(spec.Compression) && checksums[format] == "" { // Caterva and plain frames
		spec.Compression = cloneCompression(spec.Compression)
		spec.Compression.Filters = slices.DeleteFunc(spec.Compression.Filters, isChecksum)
	}
	if c := m.Compression; shell.IsFrame(hyperslab.Format(m.Format)) && format == hyperslab.HDF5 && c != nil &&
		o.Codec == converted.Blosc2Prefix+c.Codec {
		spec.Compression = cloneCompression(c) // chunks are copied without recompression if the flags do not change it
		spec.Compression.Codec = o.Codec
		spec.Compression.Filters = slices.DeleteFunc(spec.Compression.Filters, isChecksum)
		if o.Chunks == "" {
			spec.ChunkShape = m.ChunkShape
		}
	}
	if err := o.shapes(&spec, format); err != nil {
		return spec, err
	}
	if err := o.fits(format); err != nil {
		return spec, err
	}
	if err := o.compression(&spec, format); err != nil {
		return spec, err
	}
	err := spec.Validate()
	if err == nil && format == hyperslab.HDF5 && o.Given() {
		err = hdf5.Check("x", spec) // the name does not matter
	}
	if err != nil {
		return spec, shell.Usagef("%s cannot be stored in %s with this storage: %w", cmp.Or(m.Path, "the array"), format, err)
	}
	return spec, nil
}

// shapes applies the flags for chunks, blocks and maximum shape.
func (o *StoreFlags) shapes(spec *ndarray.Spec, format hyperslab.Format) error {
	if o.Chunks != "" {
		spec.ChunkShape, _ = term.ParseShape(o.Chunks) // checked
	}
	if o.Blocks != "" {
		spec.BlockShape, _ = term.ParseShape(o.Blocks)
		if !shell.IsFrame(format) {
			return shell.Usagef("--blocks is for b2nd; %s has no blocks", format)
		}
		if spec.ChunkShape == nil {
			return shell.Usagef("--blocks needs --chunks here")
		}
	}
	return o.growable(spec)
}

// fits returns an error for a flag that the format does not support.
func (o *StoreFlags) fits(format hyperslab.Format) error {
	switch {
	case format == shell.FrameFormat && (o.Sparse || o.Blocks != ""):
		return shell.Usagef("--sparse and --blocks: a plain frame is one file, and has no blocks of a shape")
	case o.Sparse && !shell.IsFrame(format):
		return shell.Usagef("--sparse is for b2nd, not for %s", format)
	case o.Sum && checksums[format] == "":
		return shell.Usagef("--checksum is for HDF5 and b2nd, not for %s", format)
	}
	return nil
}

// keepBlosc2 gives spec the compression of an HDF5 source whose Blosc2 chunks a b2nd array takes
// without recompression, unless a flag requests another storage.
func (o *StoreFlags) keepBlosc2(ctx context.Context, src *ndarray.Array, format hyperslab.Format, spec *ndarray.Spec) error {
	if format != hyperslab.B2ND || src.Meta().Format != string(hyperslab.HDF5) || o.Codec != "" || o.Level >= 0 || o.Filter != "" ||
		o.Chunks != "" || o.Blocks != "" {
		return nil
	}
	c, blocks, err := converted.Blosc2(ctx, src)
	if err != nil || c == nil {
		return err
	}
	spec.Compression, spec.ChunkShape, spec.BlockShape = c, src.Meta().ChunkShape, blocks
	return nil
}

// cloneCompression returns a copy that shares no memory with c; nil stays nil.
func cloneCompression(c *ndarray.Compression) *ndarray.Compression {
	return ndarray.Meta{Compression: c}.Spec().Compression
}

// compression applies the flags to the compression. nil means the default of the target.
func (o *StoreFlags) compression(spec *ndarray.Spec, format hyperslab.Format) error {
	given := o.Codec != "" || o.Level >= 0 || o.Filter != "" || o.Sum
	c := cloneCompression(spec.Compression)
	switch unknown := notWritten(c, format); {
	case !given && unknown != "":
		return shell.Usagef("%w: the source is stored with %s, which cannot be written; choose with --codec", errors.ErrUnsupported,
			unknown)
	case !given:
		return nil
	case c == nil, c.Codec == "none", unknown != "":
		was := c
		if c = defaultCompression[format](); summed(was) {
			c.Filters = append(c.Filters, checksums[format])
		}
	}
	if o.Codec != "" {
		was := c.Codec
		c.Codec = codecName(o.Codec, format)
		if err := shell.OneOf(fmt.Sprintf("in %s --codec", format), c.Codec, Codecs[format]...); err != nil {
			return err
		}
		if format == hyperslab.HDF5 && c.Codec != was {
			_, _, c.Level, _ = hdf5.Levels(c.Codec)
		}
	}
	if c.Codec == "none" {
		c.Level, c.Filters = 0, nil
	}
	switch {
	case o.Level > 9 && format != hyperslab.HDF5:
		return shell.Usagef("--level %d: want 0 to 9 in %s", o.Level, format)
	case o.Level >= 0:
		c.Level = o.Level
	}
	o.arrange(c, format)
	spec.Compression = c
	return nil
}

// arrange applies --shuffle and --checksum to the filters.
func (o *StoreFlags) arrange(c *ndarray.Compression, format hyperslab.Format) {
	arranges := strings.HasPrefix(c.Codec, "bitshuffle/") // the codec shuffles the bits itself
	if o.Filter != "" || arranges {
		c.Filters = slices.DeleteFunc(c.Filters, func(f string) bool { return f == "shuffle" || f == "bitshuffle" })
		if name := map[string]string{"byte": "shuffle", "bit": "bitshuffle"}[o.Filter]; name != "" && !(arranges && o.Filter == "bit") {
			at := 0
			if len(c.Filters) > 0 && c.Filters[0] == "delta" { // it can only be the first filter
				at = 1
			}
			c.Filters = slices.Insert(c.Filters, at, name)
		}
	}
	if o.Sum && !summed(c) {
		c.Filters = append(c.Filters, checksums[format])
	}
}

// notWritten returns the codec or filter of c that a format can read but not write, or "".
func notWritten(c *ndarray.Compression, format hyperslab.Format) string {
	if c == nil {
		return ""
	}
	if !slices.Contains(Codecs[format], c.Codec) {
		return "codec " + c.Codec
	}
	for _, f := range c.Filters {
		if !slices.Contains(filters[format], f) {
			return "filter " + f
		}
	}
	return ""
}

// codecName returns the name of a codec in a format, because DEFLATE has two names.
func codecName(codec string, format hyperslab.Format) string {
	switch {
	case format == hyperslab.HDF5 && codec == "zlib":
		return "deflate"
	case format != hyperslab.HDF5 && codec == "deflate":
		return "zlib"
	}
	return codec
}

// chunkBytes returns the bytes of a chunk in memory, or 0 if the array is not chunked.
func chunkBytes(m ndarray.Meta) int64 {
	if m.ChunkShape == nil {
		return 0
	}
	n, ok := grid.Product(m.ChunkShape)
	if !ok || n > mostChunk {
		return mostChunk + 1
	}
	return n * int64(m.DType.Size)
}
