// Storage of arrays: the flags, and their effect on one array in one format.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/tree/converted"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/bcolz"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// storeFlags describe how arrays must be stored. Properties that are not given stay unchanged, or
// are the choice of the format.
type storeFlags struct {
	codec  string
	level  int // -1: not given
	filter string
	chunks string
	blocks string
	sparse bool
	sum    bool
	grow   []int
}

func (o *storeFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.codec, "codec", "", "`CODEC` of b2nd and bcolz: blosclz, lz4, lz4hc, zlib, zstd; of HDF5: deflate, zstd, lz4, lzf, bzip2, szip, bitshuffle/CODEC, blosc/CODEC, blosc2/CODEC; of all: none")
	f.IntVar(&o.level, "level", -1, "compression level `N`, 0 to 9; of zstd in HDF5 1 to 22; not of lz4, lzf and szip in HDF5")
	f.StringVar(&o.filter, "shuffle", "", "`KIND` of shuffle: none, byte or bit")
	f.StringVar(&o.chunks, "chunks", "", "`SHAPE` of a chunk in elements, for example 64,64")
	f.StringVar(&o.blocks, "blocks", "", "`SHAPE` of a block inside a chunk of b2nd, in elements")
	f.BoolVar(&o.sparse, "sparse", false, "b2nd as a directory with a file for each chunk")
	f.BoolVar(&o.sum, "checksum", false, "a checksum with each chunk of HDF5 (Fletcher-32)")
	f.IntSliceVar(&o.grow, "grow", nil, "`AXES`, counted from 0, along which the array can grow without bound")
	f.Lookup("level").DefValue = "0" // so that the help shows no default
	words := append([]string{}, bloscCodecs...)
	for _, c := range hdf5.Codecs() {
		if !slices.Contains(words, c) {
			words = append(words, c)
		}
	}
	completeWords(cmd, "codec", words...)
	completeWords(cmd, "shuffle", "none", "byte", "bit")
}

// given reports whether any of the flags was given.
func (o *storeFlags) given() bool {
	return o.codec != "" || o.level >= 0 || o.filter != "" || o.chunks != "" || o.blocks != "" || o.sparse || o.sum || len(o.grow) > 0
}

// check checks the flags that do not depend on the arrays.
func (o *storeFlags) check() error {
	if o.level < -1 || o.level > mostLevel {
		return usagef("--level %d: want 0 to 9, or up to %d for zstd in HDF5", o.level, mostLevel)
	}
	if o.codec == "none" && o.level > 0 {
		return usagef("--level %d: codec none has no levels", o.level)
	}
	if o.filter != "" {
		if err := oneOf("--shuffle", o.filter, "none", "byte", "bit"); err != nil {
			return err
		}
	}
	for flag, text := range map[string]string{"--chunks": o.chunks, "--blocks": o.blocks} {
		if _, err := term.ParseShape(text); err != nil {
			return usagef("%s: %w", flag, err)
		}
	}
	return nil
}

// mostLevel is the highest level of any codec.
const mostLevel = 22

// growable makes the axes in --grow unlimited.
func (o *storeFlags) growable(spec *ndarray.Spec) error {
	for _, axis := range o.grow {
		if axis < 0 || axis >= len(spec.Shape) {
			return usagef("--grow %d: the array is %s, its axes are counted from 0", axis, term.FormatShape(spec.Shape))
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
	frameFormat:       b2nd.DefaultCompression,
	hyperslab.HDF5:    hdf5.DefaultCompression,
	hyperslab.Bcolz:   bcolz.DefaultCompression,
}

// codecs are the values of --codec, and filters the filters that can precede them.
var (
	codecs = map[hyperslab.Format][]string{
		hyperslab.B2ND:    bloscCodecs,
		hyperslab.Caterva: bloscCodecs,
		frameFormat:       bloscCodecs,
		hyperslab.HDF5:    hdf5.Codecs(),
		hyperslab.Bcolz:   bloscCodecs,
	}
	filters = map[hyperslab.Format][]string{
		hyperslab.B2ND:    {"shuffle", "bitshuffle", "delta"},
		hyperslab.Caterva: {"shuffle", "bitshuffle", "delta"},
		frameFormat:       {"shuffle", "bitshuffle", "delta"},
		hyperslab.HDF5:    {"shuffle", "bitshuffle", checksum},
		hyperslab.Bcolz:   {"shuffle", "bitshuffle"},
	}
	bloscCodecs = []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd", "none"}
)

// checksum is the HDF5 filter that adds a checksum to each chunk.
const checksum = "fletcher32"

// summed reports whether each chunk has a checksum.
func summed(c *ndarray.Compression) bool { return c != nil && slices.Contains(c.Filters, checksum) }

// isFrame reports whether a format stores arrays in Blosc2 frames, which have blocks and can be
// sparse.
func isFrame(f hyperslab.Format) bool {
	return f == hyperslab.B2ND || f == hyperslab.Caterva || f == frameFormat
}

// frameFormat is the value of --format for a plain Blosc2 frame.
const frameFormat = "frame"

// tableFormat is the format of convert for a table of python-blosc2.
const tableFormat = "ctable"

// A conversion between formats keeps the chunk shape of the source if the chunk size in bytes is
// within these limits, which suit every format. Otherwise the target format chooses it.
const (
	leastChunk = 16 << 10
	mostChunk  = 64 << 20
)

// spec returns the array to create from one that m describes, without attributes.
func (o *storeFlags) spec(m ndarray.Meta, format hyperslab.Format) (ndarray.Spec, error) {
	spec := m.Spec()
	within := string(format) == m.Format || isFrame(format) && isFrame(hyperslab.Format(m.Format))
	if !within {
		// Only HDF5 has comments.
		spec.Compression, spec.Comment = nil, ""
		if n := chunkBytes(m); n < leastChunk || n > mostChunk || format == hyperslab.Bcolz { // bcolz does not split rows
			spec.ChunkShape = nil
		}
	}
	if !within || !isFrame(format) || o.chunks != "" {
		spec.BlockShape = nil
	}
	if c := m.Compression; isFrame(hyperslab.Format(m.Format)) && format == hyperslab.HDF5 && c != nil && o.codec == converted.Blosc2Prefix+c.Codec {
		spec.Compression = cloneCompression(c) // chunks are copied without recompression if the flags do not change it
		spec.Compression.Codec = o.codec
		if o.chunks == "" {
			spec.ChunkShape = m.ChunkShape
		}
	}
	if o.chunks != "" {
		spec.ChunkShape, _ = term.ParseShape(o.chunks) // checked
	}
	if o.blocks != "" {
		spec.BlockShape, _ = term.ParseShape(o.blocks)
		if !isFrame(format) {
			return spec, usagef("--blocks is for b2nd; %s has no blocks", format)
		}
		if spec.ChunkShape == nil {
			return spec, usagef("--blocks needs --chunks here")
		}
	}
	if err := o.growable(&spec); err != nil {
		return spec, err
	}
	if format == frameFormat && (o.sparse || o.blocks != "") {
		return spec, usagef("--sparse and --blocks: a plain frame is one file, and has no blocks of a shape")
	}
	if o.sparse && !isFrame(format) {
		return spec, usagef("--sparse is for b2nd, not for %s", format)
	}
	if o.sum && format != hyperslab.HDF5 {
		return spec, usagef("--checksum is for HDF5, not for %s", format)
	}
	if err := o.compression(&spec, format); err != nil {
		return spec, err
	}
	err := spec.Validate()
	if err == nil && format == hyperslab.HDF5 && o.given() {
		err = hdf5.Check("x", spec) // the name does not matter
	}
	if err != nil {
		return spec, usagef("%s cannot be stored in %s with this storage: %w", cmp.Or(m.Path, "the array"), format, err)
	}
	return spec, nil
}

// keepBlosc2 gives spec the compression of an HDF5 source whose Blosc2 chunks a b2nd array takes
// without recompression, unless a flag requests another storage.
func (o *storeFlags) keepBlosc2(ctx context.Context, src *ndarray.Array, format hyperslab.Format, spec *ndarray.Spec) error {
	if format != hyperslab.B2ND || src.Meta().Format != string(hyperslab.HDF5) || o.codec != "" || o.level >= 0 || o.filter != "" || o.chunks != "" || o.blocks != "" {
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
func (o *storeFlags) compression(spec *ndarray.Spec, format hyperslab.Format) error {
	given := o.codec != "" || o.level >= 0 || o.filter != "" || o.sum
	c := cloneCompression(spec.Compression)
	switch unknown := notWritten(c, format); {
	case !given && unknown != "":
		return usagef("%w: the source is stored with %s, which cannot be written; choose with --codec", errors.ErrUnsupported, unknown)
	case !given:
		return nil
	case c == nil, c.Codec == "none", unknown != "":
		was := c
		if c = defaultCompression[format](); summed(was) {
			c.Filters = append(c.Filters, checksum)
		}
	}
	if o.codec != "" {
		was := c.Codec
		c.Codec = codecName(o.codec, format)
		if err := oneOf(fmt.Sprintf("in %s --codec", format), c.Codec, codecs[format]...); err != nil {
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
	case o.level > 9 && format != hyperslab.HDF5:
		return usagef("--level %d: want 0 to 9 in %s", o.level, format)
	case o.level >= 0:
		c.Level = o.level
	}
	arranges := strings.HasPrefix(c.Codec, "bitshuffle/") // the codec shuffles the bits itself
	if o.filter != "" || arranges {
		c.Filters = slices.DeleteFunc(c.Filters, func(f string) bool { return f == "shuffle" || f == "bitshuffle" })
		if name := map[string]string{"byte": "shuffle", "bit": "bitshuffle"}[o.filter]; name != "" && !(arranges && o.filter == "bit") {
			at := 0
			if len(c.Filters) > 0 && c.Filters[0] == "delta" { // it can only be the first filter
				at = 1
			}
			c.Filters = slices.Insert(c.Filters, at, name)
		}
	}
	if o.sum && !summed(c) {
		c.Filters = append(c.Filters, checksum)
	}
	spec.Compression = c
	return nil
}

// notWritten returns the codec or filter of c that a format can read but not write, or "".
func notWritten(c *ndarray.Compression, format hyperslab.Format) string {
	if c == nil {
		return ""
	}
	if !slices.Contains(codecs[format], c.Codec) {
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
