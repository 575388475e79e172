// hyperslab bench: measure codecs on the user's data and recommend one.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// benchDoc is the document of bench --json.
type benchDoc struct {
	Schema       string     `json:"schema"`
	Address      string     `json:"address"`
	Format       string     `json:"format"`
	DType        string     `json:"dtype"`
	SampleShape  []jsonInt  `json:"sample_shape"`
	SampleBytes  jsonInt    `json:"sample_bytes"`
	Workers      int        `json:"workers"`
	Goal         string     `json:"goal"`
	StorageSpeed jsonFloat  `json:"storage_mb_per_s"`
	Rows         []benchRow `json:"rows"`
	Best         *int       `json:"best"`
	Flags        *string    `json:"flags"`
}

// benchRow is the result for one way of storing the sample.
type benchRow struct {
	Codec      string    `json:"codec"`
	Level      int       `json:"level"`
	Filters    []string  `json:"filters"`
	Chunks     []jsonInt `json:"chunks"`
	Stored     jsonInt   `json:"stored_bytes"`
	Ratio      jsonFloat `json:"ratio"`
	Compress   jsonFloat `json:"compress_mb_per_s"`
	Decompress jsonFloat `json:"decompress_mb_per_s"`
}

// Goals of --for.
const (
	goalSpeed   = "speed"
	goalRatio   = "ratio"
	goalBalance = "balance"
)

type benchFlags struct {
	job      jobFlags
	format   string
	codecs   []string
	levels   []int
	shuffles []string
	chunks   []string
	sample   string
	seconds  float64
	goal     string
	storage  float64
	plot     string
	size     string
	force    bool
	json     bool
}

func (a *app) benchCommand() *cobra.Command {
	var o benchFlags
	cmd := &cobra.Command{
		Use:   "bench FILE[:/path][[SELECTION]]",
		Short: "Measure codecs on your own data, and recommend one",
		Long: `bench stores a part of an array with each combination of the flags codec, level, shuffle
and chunk shape. It measures the compression ratio and the speed of writing and reading
with all workers, to and from a file in the directory for temporary files. It checks
that each file contains the same values.

--for selects the goal. ratio: the smallest file. speed: the least time to write and
read once, among the combinations that save at least a tenth, if there are any. balance:
the least time to write and read once, compression included, through storage with the
speed of --storage MB/s.` + addressHelp + twoArguments + sliceHelp,
		Example: `  hyperslab bench etopo.h5:/ROSE --codec lz4,zstd --level 1,5 --seconds 0
  hyperslab bench etopo.h5:/ROSE --format hdf5 --codec deflate,blosc2/zstd --level 5 --for ratio --seconds 0
  hyperslab bench waves.b2nd --codec zstd --level 5 --chunks 5,30 --chunks 20,30 --seconds 0 --plot bench.png`,
		Args:              arity(1, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.bench(cmd.Context(), address(args), &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", string(hyperslab.B2ND), "`FORMAT` to store it in: b2nd or hdf5")
	f.StringSliceVar(&o.codecs, "codec", nil, "`CODECS`; of b2nd lz4, lz4hc, zstd and zlib are tried, of hdf5 deflate, zstd, lz4, lzf and blosc2/zstd")
	f.IntSliceVar(&o.levels, "level", nil, "`LEVELS` of codecs that have levels (default 1,5,9)")
	f.StringSliceVar(&o.shuffles, "shuffle", []string{"byte", "bit"}, "`KINDS` of shuffle: none, byte and bit")
	f.StringArrayVar(&o.chunks, "chunks", nil, "`SHAPE` of a chunk; may be given several times (default: that of the array, and that of the format)")
	f.StringVar(&o.sample, "sample", "32MiB", "maximum `BYTES` of the part in the middle of the array that is measured; also at most a ninth of --memory")
	f.Float64VarP(&o.seconds, "seconds", "i", 0.2, "minimum `SECONDS` of writing, and of reading, for each measurement; the best run counts")
	f.StringVar(&o.goal, "for", goalBalance, "`GOAL` of the recommendation: speed, ratio or balance")
	f.Float64Var(&o.storage, "storage", 500, "for balance: speed of the storage in `MB/S`")
	f.StringVar(&o.plot, "plot", "", "also draw ratio against speed into `FILE`.png or FILE.svg")
	f.StringVar(&o.size, "size", "900x600", "`WIDTHxHEIGHT` of the picture in pixels")
	f.BoolVarP(&o.force, "force", "f", false, "replace the picture if it exists")
	o.job.add(cmd, "no progress and no recommendation")
	jsonFlag(cmd, &o.json)
	completeWords(cmd, "format", string(hyperslab.B2ND), string(hyperslab.HDF5))
	completeWords(cmd, "for", goalSpeed, goalRatio, goalBalance)
	(&untrustedFlags{}).add(a, cmd)
	addDType(a, cmd)
	return cmd
}

// check checks the flags that do not depend on the array.
func (o *benchFlags) check() error {
	err := errors.Join(
		oneOf("--format", o.format, string(hyperslab.B2ND), string(hyperslab.HDF5)),
		oneOf("--for", o.goal, goalSpeed, goalRatio, goalBalance),
	)
	if err != nil {
		return err
	}
	for _, kind := range o.shuffles {
		err = errors.Join(err, oneOf("--shuffle", kind, "none", "byte", "bit"))
	}
	if o.codecs == nil {
		o.codecs = []string{"lz4", "lz4hc", "zstd", "zlib"}
		if o.format == string(hyperslab.HDF5) {
			o.codecs = []string{"deflate", "zstd", "lz4", "lzf", "blosc2/zstd"}
		}
	}
	for _, codec := range o.codecs {
		err = errors.Join(err, oneOf("in "+o.format+" --codec", codec, codecs[hyperslab.Format(o.format)]...))
	}
	if o.levels == nil {
		o.levels = []int{1, 5, 9}
	}
	switch {
	case err != nil:
		return err
	case !(o.seconds >= 0 && o.seconds <= 3600):
		return usagef("--seconds %v: want 0 to 3600", o.seconds)
	case !(o.storage > 0):
		return usagef("--storage %v: want more than 0 MB/s", o.storage)
	}
	_, _, _, err = pictureOf("--plot", o.plot, o.size)
	return err
}

func (a *app) bench(ctx context.Context, address string, o *benchFlags) (err error) {
	memory, err := o.job.check()
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return err
	}
	most, err := term.ParseBytes(o.sample)
	if err != nil {
		return usagef("--sample: %w", err)
	}
	var picture *atomicfile.Output
	if o.plot != "" { // fail before any work is done
		if picture, err = newOutput(ctx, o.plot, atomicfile.Options{Overwrite: o.force}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, picture.Abort()) }()
	}
	src, err := a.openPart(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	budget := memory
	if o.job.given { // a chunk is not larger than the sample, which is in memory three times
		if err := o.job.fit(memory, address, src.whole()); err != nil {
			return err
		}
		most = min(most, memory/(3+chunkCopies))
		budget = memory - 3*most
	}
	t, err := newTrial(ctx, src.Array, hyperslab.Format(o.format), most, o.job.jobs, budget)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	ways, err := o.ways(t, src.Meta())
	if err != nil {
		return err
	}
	for _, way := range ways {
		if o.job.given {
			if err := o.job.fit(budget, address, specMeta(way)); err != nil {
				return err
			}
		}
	}
	t.jobs = o.job.jobs
	doc := benchDoc{
		Schema: schemaBench, Address: address, Format: o.format, DType: t.spec.DType.String(), SampleShape: jsonShape(t.spec.Shape),
		SampleBytes: jsonInt(len(t.data)), Workers: goroutines(t.jobs), Goal: o.goal, StorageSpeed: jsonFloat(o.storage), Rows: []benchRow{},
	}
	m := term.NewMeter(o.job.progress, a.stderr, "bench", 0, time.Now)
	for i, way := range ways {
		m.UpdateUnits(int64(i), int64(len(ways)), "ways")
		r, err := t.run(ctx, way, time.Duration(o.seconds*float64(time.Second)))
		if err != nil {
			m.Finish()
			return err
		}
		doc.Rows = append(doc.Rows, r)
	}
	m.Finish()
	doc.recommend(o.storage)
	if picture != nil {
		width, height, format, _ := pictureOf("--plot", o.plot, o.size)
		if err := drawBench(&doc, picture.Path(), format, width, height); err != nil {
			return ndarray.Wrap("create", o.plot, err)
		}
		if err := picture.Commit(); err != nil {
			return ndarray.Wrap("create", o.plot, err)
		}
	}
	if o.json {
		return a.writeJSON(a.stdout, doc)
	}
	if err := doc.table(a.stdout, a.data); err != nil || o.job.quiet || doc.Best == nil {
		return err
	}
	a.note("for %s: %s", o.goal, *doc.Flags)
	return nil
}

// ways returns all combinations of the flags, each once. Levels and shuffles without effect on a
// codec are skipped.
func (o *benchFlags) ways(t *trial, m ndarray.Meta) ([]ndarray.Spec, error) {
	var grids [][]int64
	for _, text := range o.chunks {
		shape, err := term.ParseShape(text)
		if err != nil || len(shape) != len(t.spec.Shape) {
			return nil, usagef("--chunks %s: want %s of a chunk", text, term.Plural(int64(len(t.spec.Shape)), "length"))
		}
		grids = append(grids, shape)
	}
	if grids == nil {
		if m.ChunkShape != nil {
			grids = append(grids, m.ChunkShape)
		}
		grids = append(grids, grid.AutoChunk(t.spec.Shape, t.spec.DType.Size))
	}
	for i, g := range grids {
		grids[i] = slices.Clone(g)
		for axis := range g {
			grids[i][axis] = min(g[axis], t.spec.Shape[axis])
		}
	}
	grids = slices.CompactFunc(grids, slices.Equal[[]int64])
	var all []ndarray.Spec
	seen := make(map[string]bool)
	for _, grid := range grids {
		for _, codec := range o.codecs {
			for _, level := range o.levels {
				for _, kind := range o.shuffles {
					flags := storeFlags{codec: codec, level: level, filter: kind}
					if codec == "none" {
						flags.level = 0
					}
					if strings.HasPrefix(codec, "bitshuffle/") {
						flags.filter = "none" // the codec shuffles the bits itself
					}
					if o.format == string(hyperslab.HDF5) && codec != "none" {
						least, most, _, has := hdf5.Levels(codec)
						if flags.level = min(max(level, least), most); !has {
							flags.level = -1
						}
					}
					base := t.spec
					base.ChunkShape = grid
					spec, err := flags.spec(ndarray.Meta{
						Format: "mem", Shape: base.Shape, DType: base.DType, Fill: base.Fill,
					}, t.format)
					if err != nil {
						return nil, err
					}
					spec.ChunkShape = grid
					if key := fmt.Sprint(spec.Compression, grid); !seen[key] {
						seen[key] = true
						all = append(all, spec)
					}
				}
			}
		}
	}
	return all, nil
}

// recommend selects the best row for the goal.
func (d *benchDoc) recommend(storage float64) {
	if len(d.Rows) == 0 {
		return
	}
	work := func(r benchRow) float64 { return 1/float64(r.Compress) + 1/float64(r.Decompress) } // µs per byte
	best := func(cost func(r benchRow) float64) int {
		at, least := 0, math.Inf(1)
		for i, r := range d.Rows {
			if c := cost(r); c < least {
				at, least = i, c
			}
		}
		return at
	}
	var at int
	switch d.Goal {
	case goalRatio:
		at = best(func(r benchRow) float64 { return 1 / float64(r.Ratio) })
	case goalSpeed:
		saves := slices.ContainsFunc(d.Rows, func(r benchRow) bool { return r.Ratio >= 1/0.9 })
		at = best(func(r benchRow) float64 {
			if saves && r.Ratio < 1/0.9 {
				return math.Inf(1)
			}
			return work(r)
		})
	default:
		at = best(func(r benchRow) float64 { return work(r) + 2/(float64(r.Ratio)*storage) })
	}
	r := d.Rows[at]
	flags := "--codec " + r.Codec
	if _, _, _, has := hdf5.Levels(r.Codec); has || d.Format != string(hyperslab.HDF5) && r.Codec != "none" {
		flags += " --level " + strconv.Itoa(r.Level)
	}
	flags += " --shuffle " + r.shuffle() + " --chunks " + strings.ReplaceAll(shapeCell(r.Chunks), "x", ",")
	d.Best, d.Flags = &at, &flags
}

// shuffle returns the value of --shuffle for the filters.
func (r *benchRow) shuffle() string {
	switch {
	case slices.Contains(r.Filters, "shuffle"):
		return "byte"
	case slices.Contains(r.Filters, "bitshuffle"), strings.HasPrefix(r.Codec, "bitshuffle/"):
		return "bit"
	}
	return "none"
}

// table writes the rows, the smallest first. An arrow marks the recommended one.
func (d *benchDoc) table(w io.Writer, p term.Paint) error {
	t := term.Table{
		Head:  []string{"", "CODEC", "LEVEL", "SHUFFLE", "CHUNKS", "RATIO", "STORED", "COMPRESS", "DECOMPRESS"},
		Right: []bool{false, false, true, false, false, true, true, true, true},
	}
	order := make([]int, len(d.Rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(d.Rows[j].Ratio, d.Rows[i].Ratio) })
	for _, i := range order {
		r, mark := d.Rows[i], ""
		if d.Best != nil && i == *d.Best {
			mark = "->"
		}
		t.Add(mark, r.Codec, strconv.Itoa(r.Level), r.shuffle(), shapeCell(r.Chunks), fmt.Sprintf("%.2fx", float64(r.Ratio)),
			term.FormatBytes(int64(r.Stored)), speedText(float64(r.Compress)), speedText(float64(r.Decompress)))
	}
	return t.Write(w, p)
}

// speedText formats a speed in MB/s with its significant digits.
func speedText(mb float64) string {
	if mb >= 10 {
		return fmt.Sprintf("%.0f MB/s", mb)
	}
	return fmt.Sprintf("%.1f MB/s", mb)
}

// estimate measures a small sample of src and returns the estimated stored bytes and duration of a
// conversion. ok is false if an array cannot be measured.
func estimate(ctx context.Context, src *ndarray.Array, spec ndarray.Spec, format hyperslab.Format, jobs int, memory int64) (stored int64, took time.Duration, ok bool, err error) {
	m := src.Meta()
	if m.DType.Size == 0 || src.NBytes() == 0 || len(m.Shape) == 0 || m.Path == stdio || format != hyperslab.B2ND && format != hyperslab.HDF5 {
		return 0, 0, false, nil
	}
	t, err := newTrial(ctx, src, format, estimateBytes, jobs, memory)
	if err != nil {
		return 0, 0, false, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	way := t.spec
	way.Compression = spec.Compression
	way.ChunkShape = slices.Clone(spec.ChunkShape)
	for axis := range way.ChunkShape {
		way.ChunkShape[axis] = min(way.ChunkShape[axis], max(way.Shape[axis], 1))
	}
	r, err := t.run(ctx, way, 0)
	if err != nil {
		return 0, 0, false, err
	}
	whole := float64(src.NBytes())
	stored = int64(whole / float64(len(t.data)) * float64(r.Stored))
	took = time.Duration(whole / float64(r.Compress) * float64(time.Microsecond))
	return stored, took, true, nil
}

// estimateBytes is the size of the sample of an estimate.
const estimateBytes = 8 << 20
