// New, which makes a plan from metadata.

package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree/numberview"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// Defaults of Options.
const (
	defaultShardBytes = 1 << 30
	defaultWorkers    = 4
	defaultMemory     = 128 << 20
)

// programMemory is the projected memory of a process in addition to its buffers and chunks: the
// program, its libraries, and memory that the garbage collector has not freed yet.
const programMemory = 96 << 20

// indexMemory is the projected memory of the index of an array in a format, for each of its chunks.
// That of HDF5 includes the memory that libhdf5 keeps after several shards in one process.
func indexMemory(format string) int64 {
	switch hyperslab.Format(format) {
	case hyperslab.HDF5:
		return 512
	case hyperslab.B2ND, hyperslab.Caterva:
		return 48
	}
	return 0
}

// remoteMemory is the projected memory of the block cache and the requests of package remote.
const remoteMemory = 320 << 20

// tooOften is the average number of times each chunk of the source may be decoded before a plan has
// two stages.
const tooOften = 3

// Options are the options of New. Nil means the zero value.
type Options struct {
	// Spec describes the target array: chunks, compression, fill value, dimension names, maximum
	// shape and attributes. Its shape must be that of the source. Its element type may be another
	// type of numbers that ndarray.Convert accepts, to which the elements are then converted. Nil:
	// those of the source, as far as the format of the target can represent them.
	Spec *ndarray.Spec

	// Round and Clip allow a conversion to change values that the type of Spec cannot represent:
	// to the nearest value, and to the minimum or maximum. Otherwise Plan.Work returns
	// ndarray.ErrValue for them.
	Round, Clip bool

	Format hyperslab.Format // of the target; default: by the extension of its name
	Sparse bool             // a b2nd target is a directory with a file for each chunk

	// Compact joins the parts of an HDF5 target into one file without recompression. Otherwise the
	// target is a virtual dataset, and the parts stay in the directory TARGET.shards. A target in
	// an object store must be compact, because HDF5 does not read virtual datasets from there.
	Compact bool

	// DType is the element type of a source that stores none, a Caterva array or a plain frame.
	// Nil: that of the source.
	DType *ndarray.DType

	// Chunks is the grid of verify, stats and checksum; default: the chunks of the source.
	Chunks []int64

	ShardBytes int64 // maximum size of the elements of a shard, unless one chunk is larger; default 1 GiB
	Memory     int64 // buffers of one process in bytes; default 128 MiB
	Workers    int   // goroutines of one process; default 4
}

// New plans an operation on the array at src. It reads only metadata. The operation convert,
// repack, rechunk or copy writes an array to dst, which must be a new file or object: FILE.b2nd, or
// FILE.h5:/path. The operation verify, stats or checksum writes a JSON document to the new file
// dst. An HDF5 target is always chunked, because shards consist of chunks. src and dst can be URLs
// of S3 in a program that imports package remote.
//
// It returns ndarray.ErrExists if dst exists, ErrParam for invalid options, errors.ErrUnsupported
// for strings of variable length, null arrays, arrays without elements and other target formats,
// and the errors of hyperslab.Open.
func New(ctx context.Context, operation, src, dst string, o *Options) (*Plan, error) {
	p, err := newPlan(ctx, operation, src, dst, o)
	if err != nil {
		return nil, ndarray.Wrap("plan", dst, err)
	}
	return p, nil
}

// hasSum returns an error for elements that have no sum.
func hasSum(ctx context.Context, a *ndarray.Array) error {
	var none ndarray.Selection
	if len(a.Shape()) > 0 {
		none = ndarray.Select(ndarray.Span(0, 0))
	}
	empty, err := ndarray.View(a, none)
	if err != nil {
		return err
	}
	_, err = ndarray.Summarize(ctx, empty, nil)
	return errors.Join(err, empty.Close())
}

func newPlan(ctx context.Context, operation, src, dst string, options *Options) (_ *Plan, err error) {
	var o Options
	if options != nil {
		o = *options
	}
	writes, ok := operations[operation]
	if !ok {
		return nil, fmt.Errorf("%w: operation %q", ndarray.ErrParam, operation)
	}
	if o.ShardBytes < 0 || o.Memory < 0 || o.Workers < 0 {
		return nil, fmt.Errorf("%w: %d bytes of a shard, %d bytes of memory, %d workers", ndarray.ErrParam, o.ShardBytes, o.Memory, o.Workers)
	}
	p := &Plan{
		Schema: schema, Operation: operation, Target: Target{Location: dst},
		Workers: cmp.Or(o.Workers, defaultWorkers), Memory: cmp.Or(o.Memory, defaultMemory),
	}
	to, err := locate.Parse(dst)
	if err != nil {
		return nil, err
	}
	if urlfile.IsURL(to.File) && !isS3(to.File) {
		return nil, fmt.Errorf("%w: a target on a web server, want s3://bucket/key", errors.ErrUnsupported)
	}
	a, err := hyperslab.Open(ctx, src, &hyperslab.OpenOptions{DType: o.DType})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	m := a.Meta()
	if o.DType != nil && !untyped(m.Format) {
		return nil, fmt.Errorf("%w: dtype of %s: got %v, want none, because format %s stores it", ndarray.ErrParam, src, o.DType, m.Format)
	}
	switch {
	case m.Null, a.NumElems() == 0:
		return nil, fmt.Errorf("%w: %s has no elements to divide", errors.ErrUnsupported, src)
	case len(m.Shape) == 0:
		return nil, fmt.Errorf("%w: %s is a scalar, which has no chunks to divide", errors.ErrUnsupported, src)
	case m.DType.Size == 0:
		return nil, fmt.Errorf("%w: elements of variable size, %v, in %s", errors.ErrUnsupported, m.DType, src)
	case operation == "stats":
		if err := hasSum(ctx, a); err != nil {
			return nil, err
		}
	}
	attrs, err := a.Attrs(ctx)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if p.Source, err = identify(ctx, src, m, attrs); err != nil {
		return nil, err
	}
	if writes {
		view, err := p.retype(a, &o)
		if err != nil {
			return nil, err
		}
		if m = view.Meta(); view != a {
			if attrs, err = view.Attrs(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return nil, err
			}
		}
	}
	chunks := o.Chunks
	if writes {
		spec, err := target(&p.Target, to, m, attrs, &o)
		if err != nil {
			return nil, err
		}
		chunks = spec.ChunkShape
	} else if o.Sparse || o.Compact {
		return nil, fmt.Errorf("%w: storage of the target of %s, which is a JSON file", ndarray.ErrParam, operation)
	} else {
		p.Target.Format = jsonFormat
		chunks = cmpShape(chunks, m.ChunkShape)
	}
	chunks = clip(cmpShape(chunks, grid.AutoChunk(m.Shape, m.DType.Size)), m.Shape)
	if len(chunks) != len(m.Shape) || slices.ContainsFunc(chunks, func(n int64) bool { return n < 1 }) {
		return nil, fmt.Errorf("%w: chunks: got %v, want %d lengths of at least 1", ndarray.ErrParam, chunks, len(m.Shape))
	}
	if err := p.vacant(ctx); err != nil {
		return nil, err
	}
	p.divide(m, chunks, cmp.Or(o.ShardBytes, defaultShardBytes), operation == "rechunk" || operation == "convert" || operation == "repack")
	if p.ID, err = p.digest(); err != nil {
		return nil, err
	}
	return p, p.check()
}

// retype sets the element type of the target, if it is another one than that of the source, and
// returns the source with that type.
func (p *Plan) retype(a *ndarray.Array, o *Options) (*ndarray.Array, error) {
	if o.Spec == nil || o.Spec.DType.Equal(a.DType()) {
		if o.Round || o.Clip {
			return nil, fmt.Errorf("%w: Round or Clip without another element type of Spec", ndarray.ErrParam)
		}
		return a, nil
	}
	c := &numberview.Conversion{To: o.Spec.DType, Round: o.Round, Clip: o.Clip}
	if c.Fits(a.DType()) != nil {
		return a, nil // target returns the error
	}
	p.Target.DType, p.Target.Round, p.Target.Clip = c.To.String(), c.Round, c.Clip
	return c.View(a, false)
}

func cmpShape(a, b []int64) []int64 {
	if a != nil {
		return a
	}
	return b
}

// clip returns a chunk shape clipped to an array.
func clip(chunk, shape []int64) []int64 {
	out := slices.Clone(chunk)
	for i := range min(len(out), len(shape)) {
		out[i] = min(out[i], shape[i])
	}
	return out
}

// target resolves every choice of the target's format, so that a part gets the storage that the
// whole array would get.
func target(t *Target, to locate.Location, m ndarray.Meta, attrs ndarray.Attrs, o *Options) (spec ndarray.Spec, err error) {
	format := o.Format
	if format == "" {
		name, ok := detect.Name(to.File)
		if format = hyperslab.Format(name); !ok {
			return spec, fmt.Errorf("%w: format of %s: the extension is unknown", ndarray.ErrParam, to.File)
		}
	}
	if o.Spec != nil {
		spec = *o.Spec
		if !slices.Equal(spec.Shape, m.Shape) || spec.Null || !spec.DType.Equal(m.DType) {
			return spec, fmt.Errorf("%w: array of the plan: got %v %v, want %v %v as the source", ndarray.ErrParam, spec.Shape, spec.DType, m.Shape, m.DType)
		}
	} else {
		spec = m.Spec()
		spec.Attrs = attrs.List
		if string(format) != m.Format {
			spec.Compression, spec.BlockShape, spec.Comment = nil, nil, ""
		}
	}
	switch format {
	case hyperslab.B2ND, hyperslab.Caterva:
		if spec.ChunkShape == nil {
			spec.ChunkShape, spec.BlockShape = grid.AutoChunk(spec.Shape, spec.DType.Size), nil
		}
		if spec.BlockShape == nil {
			spec.BlockShape = grid.AutoBlocks(spec.ChunkShape, spec.DType.Size)
		}
		if spec.Compression == nil {
			spec.Compression = b2nd.DefaultCompression()
		}
		err = b2nd.Check(spec)
		if o.Sparse && slices.Contains(spec.Compression.Filters, "crc32c") {
			return spec, fmt.Errorf("%w: checksums in a sparse target of a plan", errors.ErrUnsupported)
		}
		if o.Compact {
			return spec, fmt.Errorf("%w: a compact target of format %s; the parts of HDF5 can be joined", ndarray.ErrParam, format)
		}
	case hyperslab.HDF5:
		if o.Sparse {
			return spec, fmt.Errorf("%w: a sparse array of format %s", ndarray.ErrParam, format)
		}
		if !o.Compact && urlfile.IsURL(to.File) {
			return spec, fmt.Errorf("%w: a virtual dataset in an object store, want a compact target", errors.ErrUnsupported)
		}
		if to.Object == "" {
			return spec, fmt.Errorf("%w: %s: name the array in the HDF5 file, for example %s:/data", ndarray.ErrParam, to, to.File)
		}
		if spec.ChunkShape == nil {
			spec.ChunkShape = grid.AutoChunk(spec.Shape, spec.DType.Size)
		}
		spec.ChunkShape = slices.Clone(spec.ChunkShape)
		for i := range min(len(spec.ChunkShape), len(spec.Shape)) {
			if spec.MaxShape == nil || i < len(spec.MaxShape) && spec.MaxShape[i] != ndarray.Unlimited {
				spec.ChunkShape[i] = min(spec.ChunkShape[i], spec.Shape[i])
			}
		}
		if spec.Compression == nil {
			spec.Compression = hdf5.DefaultCompression()
		}
		err = hdf5.Check(to.Object, spec)
	default:
		return spec, fmt.Errorf("%w: a target of format %s; want b2nd or hdf5", errors.ErrUnsupported, format)
	}
	if err != nil {
		return spec, err
	}
	if len(spec.Shape) == 0 {
		return spec, fmt.Errorf("%w: a scalar has no chunks to divide", errors.ErrUnsupported)
	}
	t.Format, t.Sparse, t.Compact = string(format), o.Sparse, o.Compact
	t.Chunks, t.Blocks, t.MaxShape, t.Dimensions = spec.ChunkShape, spec.BlockShape, spec.MaxShape, spec.AxisNames
	t.Fill, t.Comment = spec.Fill, spec.Comment
	t.Codec, t.Level, t.Filters = spec.Compression.Codec, spec.Compression.Level, spec.Compression.Filters
	for _, x := range spec.Attrs {
		t.Attributes = append(t.Attributes, x.Name)
	}
	return spec, nil
}

// divide sets the stages and the projected costs.
func (p *Plan) divide(m ndarray.Meta, chunks []int64, shardBytes int64, twice bool) {
	size := int64(m.DType.Size)
	total := m.NumElems() * size
	source := m.ChunkShape
	if n, _ := grid.Product(chunks); p.Target.Sparse {
		shardBytes = max(min(shardBytes, mostChunks*n*size), 1)
	}
	direct := shardShape(m.Shape, chunks, source, size, shardBytes)
	chunk := func(c []int64) int64 {
		if c == nil {
			return 0
		}
		n, _ := grid.Product(clip(c, m.Shape))
		return n * size
	}
	most := max(chunk(chunks), chunk(source))
	decodes := repeats(m.Shape, direct, source)
	if twice && decodes > tooOften {
		// The shards of the first stage cover whole chunks of the source. Their parts have chunks
		// that are no longer than a shard of either stage.
		first := shardShape(m.Shape, clip(source, m.Shape), direct, size, shardBytes)
		second := direct
		between := slices.Clone(first)
		for i := range between {
			between[i] = min(between[i], second[i])
		}
		for chunk(between) > 2*grid.ChunkBytes {
			longest := 0
			for i, n := range between {
				if n > between[longest] {
					longest = i
				}
			}
			if between[longest] == 1 {
				break
			}
			between[longest] = grid.DivUp(between[longest], 2)
		}
		for i := range first { // a shard consists of whole chunks
			first[i] = min(grid.RoundUp(first[i], between[i], math.MaxInt64), m.Shape[i])
		}
		if again := repeats(m.Shape, first, source) + repeats(m.Shape, second, between); again+1 < decodes {
			p.Stages = append(p.Stages, stage(m.Shape, between, first))
			p.ReadBytes = int64(repeats(m.Shape, first, source) * float64(total))
			p.WriteBytes = total
			p.Passes = 1
			decodes = repeats(m.Shape, second, between)
			most = max(most, chunk(between))
		}
	}
	p.Stages = append(p.Stages, stage(m.Shape, chunks, direct))
	p.ReadBytes += int64(min(decodes*float64(total), math.MaxInt64/4))
	p.Passes++
	if operations[p.Operation] {
		p.WriteBytes += total
	}
	copies := int64(4) // of a chunk for each worker
	if p.Target.Format == string(hyperslab.HDF5) {
		copies = 6 // also of compressed chunks that wait for libhdf5
	}
	p.ProcessMemory = p.Memory + copies*int64(p.Workers)*most + programMemory
	p.ProcessMemory += indexMemory(p.Target.Format) * (total / chunk(chunks))
	if source != nil {
		p.ProcessMemory += indexMemory(p.Source.Format) * (total / chunk(source))
	}
	if urlfile.IsURL(p.Source.Location) || urlfile.IsURL(p.Target.Location) {
		p.ProcessMemory += remoteMemory
	}
	if p.Target.Chunks != nil {
		p.Stages[len(p.Stages)-1].Chunks = slices.Clone(p.Target.Chunks)
	}
}

func stage(shape, chunks, shard []int64) Stage {
	s := Stage{Chunks: chunks, Shard: shard, Shards: 1}
	for i := range shape {
		s.Shards *= grid.DivUp(shape[i], shard[i])
	}
	return s
}

// repeats returns the average number of times that a chunk of cover is decoded if every shard
// decodes the chunks that it touches. A nil cover is not chunked, so its elements are read once.
func repeats(shape, shard, cover []int64) float64 {
	n := 1.0
	if cover == nil {
		return n
	}
	for i := range shape {
		n *= repeatsAlong(shape[i], shard[i], min(cover[i], shape[i]))
	}
	return n
}

// repeatsAlong returns, for one dimension, the number of pieces between the borders of shards and
// chunks, divided by the number of chunks.
func repeatsAlong(n, shard, chunk int64) float64 {
	borders := func(step int64) int64 { return grid.DivUp(n, step) - 1 }
	shared := int64(0)
	if both, ok := grid.Product([]int64{shard / gcd(shard, chunk), chunk}); ok {
		shared = borders(both)
	}
	return float64(borders(shard)+borders(chunk)-shared+1) / float64(borders(chunk)+1)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shardShape returns the shape of the shards: a chunk, enlarged within limit bytes. It first grows
// along the dimension that saves most decoding of chunks of cover, and then from the last dimension
// on.
func shardShape(shape, chunk, cover []int64, size, limit int64) []int64 {
	shard := clip(chunk, shape)
	bytes := func(s []int64) int64 {
		n, _ := grid.Product(s) // does not overflow: inside the array
		return n * size
	}
	// longer returns shard with k times its length along a dimension.
	longer := func(axis int, k int64) []int64 {
		out := slices.Clone(shard)
		if most, ok := grid.Product([]int64{out[axis], k}); ok {
			out[axis] = min(most, shape[axis])
		} else {
			out[axis] = shape[axis]
		}
		return out
	}
	for cover != nil && repeats(shape, shard, cover) > 1 {
		best, gain := []int64(nil), 0.0
		for axis := range shape {
			now, over := shard[axis], min(cover[axis], shape[axis])
			for _, k := range []int64{2, over / gcd(now, over), grid.DivUp(shape[axis], now)} {
				next := longer(axis, k)
				if next[axis] <= now || bytes(next) > limit {
					continue
				}
				g := math.Log(repeatsAlong(shape[axis], now, over)/repeatsAlong(shape[axis], next[axis], over)) /
					math.Log(float64(next[axis])/float64(now))
				if g > gain {
					best, gain = next, g
				}
			}
		}
		if best == nil {
			break
		}
		shard = best
	}
	for axis := len(shape) - 1; axis >= 0; axis-- {
		k := min(limit/bytes(shard), grid.DivUp(shape[axis], shard[axis]))
		if k > 1 {
			shard = longer(axis, k)
		}
		if shard[axis] < shape[axis] {
			break
		}
	}
	return shard
}
