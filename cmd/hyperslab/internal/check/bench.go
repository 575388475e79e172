// hyperslab bench: measure codecs on the user's data and recommend one.

package check

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
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/draw"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/hdf5"
)

// BenchDoc is the document of bench --json.
type BenchDoc struct {
	Schema       string             `json:"schema"`
	Address      string             `json:"address"`
	Format       string             `json:"format"`
	DType        string             `json:"dtype"`
	SampleShape  []shell.JSONInt    `json:"sample_shape"`
	SampleBytes  shell.JSONInt      `json:"sample_bytes"`
	Workers      int                `json:"workers"`
	Goal         string             `json:"goal"`
	StorageSpeed shell.JSONFloat    `json:"storage_mb_per_s"`
	Rows         []convert.BenchRow `json:"rows"`
	Best         *int               `json:"best"`
	Flags        *string            `json:"flags"`
}

// Goals of --for.
const (
	goalSpeed   = "speed"
	goalRatio   = "ratio"
	goalBalance = "balance"
)

// benchJob is one run of bench.
type benchJob struct {
	*shell.App

	job      shell.JobFlags
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

func newBench(a *shell.App) *cobra.Command {
	j := &benchJob{App: a}
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
speed of --storage MB/s.` + shell.AddressHelp + shell.TwoArguments + shell.SliceHelp,
		Example: `  hyperslab bench etopo.h5:/ROSE --codec lz4,zstd --level 1,5 --seconds 0
  hyperslab bench etopo.h5:/ROSE --format hdf5 --codec deflate,blosc2/zstd --level 5 --for ratio --seconds 0
  hyperslab bench waves.b2nd --codec zstd --level 5 --chunks 5,30 --chunks 20,30 --seconds 0 --plot bench.png`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	f := cmd.Flags()
	f.StringVar(&j.format, "format", string(hyperslab.B2ND), "`FORMAT` to store it in: b2nd or hdf5")
	f.StringSliceVar(&j.codecs, "codec", nil,
		"`CODECS`; of b2nd lz4, lz4hc, zstd and zlib are tried, of hdf5 deflate, zstd, lz4, lzf and blosc2/zstd")
	f.IntSliceVar(&j.levels, "level", nil, "`LEVELS` of codecs that have levels (default 1,5,9)")
	f.StringSliceVar(&j.shuffles, "shuffle", []string{"byte", "bit"}, "`KINDS` of shuffle: none, byte and bit")
	f.StringArrayVar(&j.chunks, "chunks", nil,
		"`SHAPE` of a chunk; may be given several times (default: that of the array, and that of the format)")
	f.StringVar(&j.sample, "sample", "32MiB",
		"maximum `BYTES` of the part in the middle of the array that is measured; also at most a ninth of --memory")
	f.Float64VarP(&j.seconds, "seconds", "i", 0.2,
		"minimum `SECONDS` of writing, and of reading, for each measurement; the best run counts")
	f.StringVar(&j.goal, "for", goalBalance, "`GOAL` of the recommendation: speed, ratio or balance")
	f.Float64Var(&j.storage, "storage", 500, "for balance: speed of the storage in `MB/S`")
	f.StringVar(&j.plot, "plot", "", "also draw ratio against speed into `FILE`.png or FILE.svg")
	shell.SizeFlag(cmd, &j.size)
	shell.ForceFlag(cmd, &j.force, "replace the picture if it exists")
	j.job.Add(cmd, "no progress and no recommendation")
	shell.JSONFlag(cmd, &j.json)
	shell.CompleteWords(cmd, "format", string(hyperslab.B2ND), string(hyperslab.HDF5))
	shell.CompleteWords(cmd, "for", goalSpeed, goalRatio, goalBalance)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	return cmd
}

// check checks the flags that do not depend on the array.
func (j *benchJob) check() error {
	err := errors.Join(
		shell.OneOf("--format", j.format, string(hyperslab.B2ND), string(hyperslab.HDF5)),
		shell.OneOf("--for", j.goal, goalSpeed, goalRatio, goalBalance),
	)
	if err != nil {
		return err
	}
	for _, kind := range j.shuffles {
		err = errors.Join(err, shell.OneOf("--shuffle", kind, "none", "byte", "bit"))
	}
	if j.codecs == nil {
		j.codecs = []string{"lz4", "lz4hc", "zstd", "zlib"}
		if j.format == string(hyperslab.HDF5) {
			j.codecs = []string{"deflate", "zstd", "lz4", "lzf", "blosc2/zstd"}
		}
	}
	for _, codec := range j.codecs {
		err = errors.Join(err, shell.OneOf("in "+j.format+" --codec", codec, convert.Codecs[hyperslab.Format(j.format)]...))
	}
	if j.levels == nil {
		j.levels = []int{1, 5, 9}
	}
	switch {
	case err != nil:
		return err
	case !(j.seconds >= 0 && j.seconds <= 3600):
		return shell.Usagef("--seconds %v: want 0 to 3600", j.seconds)
	case !(j.storage > 0):
		return shell.Usagef("--storage %v: want more than 0 MB/s", j.storage)
	}
	_, _, _, err = draw.PictureOf("--plot", j.plot, j.size)
	return err
}

func (j *benchJob) run(ctx context.Context, address string) (err error) {
	memory, err := j.job.Check()
	if err == nil {
		err = j.check()
	}
	if err != nil {
		return err
	}
	most, err := term.ParseBytes(j.sample)
	if err != nil {
		return shell.Usagef("--sample: %w", err)
	}
	var picture *atomicfile.Output
	if j.plot != "" { // fail before any work is done
		if picture, err = shell.NewOutput(ctx, j.plot, atomicfile.Options{Overwrite: j.force}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, picture.Abort()) }()
	}
	src, err := j.OpenPart(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	budget := memory
	if j.job.Given { // a chunk is not larger than the sample, which is in memory three times
		if err := j.job.Fit(memory, address, src.Whole()); err != nil {
			return err
		}
		most = min(most, memory/(3+shell.ChunkCopies))
		budget = memory - 3*most
	}
	t, err := convert.NewTrial(ctx, src.Array, convert.TrialOptions{Format: hyperslab.Format(j.format), Bytes: most, Jobs: j.job.Jobs,
		Memory: budget})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	ways, err := j.ways(t, src.Meta())
	if err != nil {
		return err
	}
	for _, way := range ways {
		if j.job.Given {
			if err := j.job.Fit(budget, address, shell.SpecMeta(way)); err != nil {
				return err
			}
		}
	}
	t.Jobs = j.job.Jobs
	doc := BenchDoc{
		Schema: shell.SchemaBench, Address: address, Format: j.format, DType: t.Spec.DType.String(),
		SampleShape: shell.JSONShape(t.Spec.Shape),
		SampleBytes: shell.JSONInt(len(t.Data)), Workers: shell.Goroutines(t.Jobs), Goal: j.goal, StorageSpeed: shell.JSONFloat(j.storage),
		Rows: []convert.BenchRow{},
	}
	m := term.NewMeter(j.job.Progress, j.Stderr, "bench", 0, time.Now)
	for i, way := range ways {
		m.UpdateUnits(int64(i), int64(len(ways)), "ways")
		r, err := t.Run(ctx, way, time.Duration(j.seconds*float64(time.Second)))
		if err != nil {
			m.Finish()
			return err
		}
		doc.Rows = append(doc.Rows, r)
	}
	m.Finish()
	doc.recommend(j.storage)
	if picture != nil {
		width, height, format, _ := draw.PictureOf("--plot", j.plot, j.size)
		if err := drawBench(&doc, picture.Path(), format, width, height); err != nil {
			return ndarray.Wrap("create", j.plot, err)
		}
		if err := picture.Commit(); err != nil {
			return ndarray.Wrap("create", j.plot, err)
		}
	}
	if j.json {
		return j.WriteJSON(j.Stdout, doc)
	}
	if err := doc.table(j.Stdout, j.Data); err != nil || j.job.Quiet || doc.Best == nil {
		return err
	}
	j.Note("for %s: %s", j.goal, *doc.Flags)
	return nil
}

// ways returns all combinations of the flags, each once. Levels and shuffles without effect on a
// codec are skipped.
func (j *benchJob) ways(t *convert.Trial, m ndarray.Meta) ([]ndarray.Spec, error) {
	var grids [][]int64
	for _, text := range j.chunks {
		shape, err := term.ParseShape(text)
		if err != nil || len(shape) != len(t.Spec.Shape) {
			return nil, shell.Usagef("--chunks %s: want %s of a chunk", text, term.Plural(int64(len(t.Spec.Shape)), "length"))
		}
		grids = append(grids, shape)
	}
	if grids == nil {
		if m.ChunkShape != nil {
			grids = append(grids, m.ChunkShape)
		}
		grids = append(grids, grid.AutoChunk(t.Spec.Shape, t.Spec.DType.Size))
	}
	for i, g := range grids {
		grids[i] = slices.Clone(g)
		for axis := range g {
			grids[i][axis] = min(g[axis], t.Spec.Shape[axis])
		}
	}
	grids = slices.CompactFunc(grids, slices.Equal[[]int64])
	var all []ndarray.Spec
	seen := make(map[string]bool)
	for _, grid := range grids {
		for _, codec := range j.codecs {
			for _, level := range j.levels {
				for _, kind := range j.shuffles {
					flags := convert.StoreFlags{Codec: codec, Level: level, Filter: kind}
					if codec == "none" {
						flags.Level = 0
					}
					if strings.HasPrefix(codec, "bitshuffle/") {
						flags.Filter = "none" // the codec shuffles the bits itself
					}
					if j.format == string(hyperslab.HDF5) && codec != "none" {
						least, most, _, has := hdf5.Levels(codec)
						if flags.Level = min(max(level, least), most); !has {
							flags.Level = -1
						}
					}
					base := t.Spec
					base.ChunkShape = grid
					spec, err := flags.Spec(ndarray.Meta{
						Format: "mem", Shape: base.Shape, DType: base.DType, Fill: base.Fill,
					}, t.Format)
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
func (d *BenchDoc) recommend(storage float64) {
	if len(d.Rows) == 0 {
		return
	}
	work := func(r convert.BenchRow) float64 { return 1/float64(r.Compress) + 1/float64(r.Decompress) } // µs per byte
	best := func(cost func(r convert.BenchRow) float64) int {
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
		at = best(func(r convert.BenchRow) float64 { return 1 / float64(r.Ratio) })
	case goalSpeed:
		saves := slices.ContainsFunc(d.Rows, func(r convert.BenchRow) bool { return r.Ratio >= 1/0.9 })
		at = best(func(r convert.BenchRow) float64 {
			if saves && r.Ratio < 1/0.9 {
				return math.Inf(1)
			}
			return work(r)
		})
	default:
		at = best(func(r convert.BenchRow) float64 { return work(r) + 2/(float64(r.Ratio)*storage) })
	}
	r := d.Rows[at]
	flags := "--codec " + r.Codec
	if _, _, _, has := hdf5.Levels(r.Codec); has || d.Format != string(hyperslab.HDF5) && r.Codec != "none" {
		flags += " --level " + strconv.Itoa(r.Level)
	}
	flags += " --shuffle " + r.Shuffle() + " --chunks " + strings.ReplaceAll(shell.ShapeCell(r.Chunks), "x", ",")
	d.Best, d.Flags = &at, &flags
}

// table writes the rows, the smallest first. An arrow marks the recommended one.
func (d *BenchDoc) table(w io.Writer, p term.Paint) error {
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
		t.Add(mark, r.Codec, strconv.Itoa(r.Level), r.Shuffle(), shell.ShapeCell(r.Chunks), fmt.Sprintf("%.2fx", float64(r.Ratio)),
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
