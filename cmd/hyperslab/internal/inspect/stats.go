// hyperslab stats: statistics of the values of an array.

package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/elements/jsonform"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// StatsDoc is the document of stats --json.
type StatsDoc struct {
	Schema    string           `json:"schema"`
	Address   string           `json:"address"`
	Shape     []shell.JSONInt  `json:"shape"`
	DType     string           `json:"dtype"`
	Count     shell.JSONInt    `json:"count"`
	NaNs      shell.JSONInt    `json:"nans"`
	Unpacked  *string          `json:"unpacked"`
	Min       any              `json:"min"`
	Max       any              `json:"max"`
	Sum       any              `json:"sum"`
	Mean      *shell.JSONFloat `json:"mean"`
	Std       *shell.JSONFloat `json:"std"`
	Histogram *HistogramDoc    `json:"histogram"`
}

// HistogramDoc contains the bins of an array's values.
type HistogramDoc struct {
	Edges []shell.JSONFloat `json:"edges"`
	Bins  []shell.JSONInt   `json:"bins"`
	Below shell.JSONInt     `json:"below"`
	Above shell.JSONInt     `json:"above"`
}

// statsJob is one run of stats.
type statsJob struct {
	*shell.App

	job    shell.JobFlags
	bins   int
	limits string
	raw    bool
	json   bool
}

func newStats(a *shell.App) *cobra.Command {
	j := &statsJob{App: a}
	cmd := &cobra.Command{
		Use:   "stats FILE[:/path][[SELECTION]]...",
		Short: "Compute minimum, maximum, mean and histogram of an array",
		Long: `stats computes statistics of all values of an array, or of a part of it, on all cores
and in bounded memory: the number of values and of NaN, minimum, maximum, sum, mean,
standard deviation (divided by the number of values), and a histogram of --bins bins of
equal width, from the minimum to the maximum or between the bounds of --range. Sums are
exact and rounded once.

By the CF conventions, values are unpacked with the attributes scale_factor and
add_offset. Values equal to _FillValue or missing_value, or outside valid_range, count
as NaN, and so does the default fill value of netCDF. --raw uses the stored elements.` + shell.AddressHelp + shell.TwoArguments + shell.SliceHelp,
		Example: `  hyperslab stats etopo.h5:/ROSE
  hyperslab stats rose.b2nd --bins 40 --range -6000,6000
  hyperslab stats 'rose.b2nd[:45]' --bins 0
  hyperslab stats rose.b2nd --json`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	f := cmd.Flags()
	f.IntVar(&j.bins, "bins", 10, "`NUMBER` of bins of the histogram; 0: no histogram and no second pass")
	f.StringVar(&j.limits, "range", "", "`LOW,HIGH` bounds of the histogram")
	shell.RawFlag(cmd, &j.raw, "take")
	j.job.Add(cmd, "no progress")
	shell.JSONFlag(cmd, &j.json)
	a.EachFile(cmd, &j.job, func(ctx context.Context, w *shell.Work) error {
		one := *j
		one.App, one.job.Jobs = w.App, w.Workers
		return one.summarize(ctx, w.Source, w.Memory)
	})
	(&shell.FilesFlags{}).Add(a, cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	return cmd
}

func (j *statsJob) run(ctx context.Context, address string) error {
	memory, err := j.job.Check()
	if err != nil {
		return err
	}
	return j.summarize(ctx, address, memory)
}

// summarize writes the statistics of one array.
func (j *statsJob) summarize(ctx context.Context, address string, memory int64) (err error) {
	low, high, err := j.bounds()
	if err != nil {
		return err
	}
	arr, err := j.OpenInTree(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if err := j.job.Fit(memory, address, arr.Whole()); err != nil {
		return err
	}
	values := arr.Array
	applied := ""
	if !j.raw {
		meant, err := j.Meant(ctx, arr, address, cf.ValueOptions{Wide: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, meant.Close()) }()
		j.NoteWarnings("stats", meant.Variable)
		values, applied = meant.Values, meant.Applied
	}
	passes := int64(1)
	if j.bins > 0 {
		passes = 2
	}
	m := term.NewMeter(j.job.Progress, j.Stderr, "stats", passes*values.NBytes(), time.Now).SetSources(ctx, arr.Stored())
	defer m.Finish()
	before := int64(0)
	work := &ndarray.WorkOptions{Workers: j.job.Jobs, Memory: memory, Progress: func(p ndarray.Progress) { m.Update(before + p.DoneBytes) }}
	sum, err := ndarray.Summarize(ctx, values, work)
	if err != nil {
		return err
	}
	before = values.NBytes()
	var h *ndarray.Histogram
	if j.limits == "" {
		low, high = picture.Bounds(around(&sum))
	}
	if j.bins > 0 && sum.Count > 0 && !math.IsInf(high-low, 0) && !math.IsNaN(high-low) {
		counted, err := ndarray.CountBins(ctx, values, low, high, j.bins, work)
		if err != nil {
			return err
		}
		h = &counted
	}
	m.Finish()
	if j.json {
		return j.WriteJSON(j.Stdout, newStatsDoc(address, arr.Array, &sum, h, applied))
	}
	digits := values.DType()
	if arr.DType().Kind == ndarray.Float && float64(float32(sum.Min)) == sum.Min && float64(float32(sum.Max)) == sum.Max {
		digits = arr.DType() // not scaled
	}
	shown := shownStats{Summary: &sum, address: address, meta: arr.Meta(), digits: digits, applied: applied}
	if err := shown.write(j.Stdout, j.Data); err != nil {
		return err
	}
	if h == nil {
		if j.bins > 0 && sum.Count > 0 {
			j.Note("no histogram: the values extend from %v to %v; --range LOW,HIGH sets its bounds", sum.Min, sum.Max)
		}
		return nil
	}
	return WriteHistogram(j.Stdout, j.Data, h, j.Columns())
}

// around returns the nearest floats around different values, which may be integers between floats.
func around(s *ndarray.Summary) (low, high float64) {
	low, high = s.Min, s.Max
	if s.MinInt == nil || s.MinInt.Cmp(s.MaxInt) == 0 {
		return low, high
	}
	if new(big.Float).SetInt(s.MinInt).Cmp(big.NewFloat(low)) < 0 {
		low = math.Nextafter(low, math.Inf(-1))
	}
	if new(big.Float).SetInt(s.MaxInt).Cmp(big.NewFloat(high)) > 0 {
		high = math.Nextafter(high, math.Inf(1))
	}
	return low, high
}

// bounds parses --bins and --range.
func (j *statsJob) bounds() (low, high float64, err error) {
	if j.bins < 0 || j.bins > 1<<24 {
		return 0, 0, shell.Usagef("--bins %d: want 0 to %d", j.bins, 1<<24)
	}
	if j.limits == "" {
		return 0, 0, nil
	}
	return shell.ParseRange(j.limits)
}

// bigJSON converts an integer of any size: a string beyond ±2^53.
func bigJSON(n *big.Int) any {
	return json.RawMessage(jsonform.Document.AppendInt(nil, n.String()))
}

func newStatsDoc(address string, arr *ndarray.Array, s *ndarray.Summary, h *ndarray.Histogram, applied string) StatsDoc {
	d := StatsDoc{
		Schema: shell.SchemaStats, Address: address, Shape: shell.ShapeDoc(arr.Meta()), DType: arr.DType().String(),
		Count: shell.JSONInt(s.Count), NaNs: shell.JSONInt(s.NaNs), Unpacked: shell.OrNull(applied),
	}
	switch {
	case s.ExactSum != nil:
		d.Sum = bigJSON(s.ExactSum)
		if s.Count > 0 {
			d.Min, d.Max = bigJSON(s.MinInt), bigJSON(s.MaxInt)
		}
	default:
		d.Sum = shell.JSONFloat(s.Sum)
		if s.Count > 0 {
			d.Min, d.Max = shell.JSONFloat(s.Min), shell.JSONFloat(s.Max)
		}
	}
	if s.Count > 0 {
		mean, std := shell.JSONFloat(s.Mean), shell.JSONFloat(s.Std)
		d.Mean, d.Std = &mean, &std
	}
	if h != nil {
		doc := &HistogramDoc{Below: shell.JSONInt(h.Below), Above: shell.JSONInt(h.Above)}
		for i, n := range h.Bins {
			doc.Edges, doc.Bins = append(doc.Edges, shell.JSONFloat(h.Edge(i))), append(doc.Bins, shell.JSONInt(n))
		}
		doc.Edges = append(doc.Edges, shell.JSONFloat(h.High))
		d.Histogram = doc
	}
	return d
}

// shownStats are the statistics of an array as text.
type shownStats struct {
	*ndarray.Summary
	address string
	meta    ndarray.Meta
	digits  ndarray.DType // type that determines the significant digits
	applied string        // attributes that change the values; "": none
}

func (s *shownStats) write(w io.Writer, p term.Paint) error {
	t := term.Table{Keys: true}
	t.Add("array", term.Safe(s.address))
	t.Add("shape", shell.MetaShape(s.meta))
	t.Add("dtype", s.meta.DType.String())
	if s.applied != "" {
		t.Add("values", term.Safe(s.applied))
	}
	t.Add("count", strconv.FormatInt(s.Count, 10))
	if s.NaNs > 0 {
		t.Add("NaN", strconv.FormatInt(s.NaNs, 10))
	}
	number := func(exact *big.Int, x float64) string {
		if exact != nil {
			return exact.String()
		}
		return realText(s.digits, x)
	}
	if s.Count > 0 {
		t.Add("min", number(s.MinInt, s.Min))
		t.Add("max", number(s.MaxInt, s.Max))
		t.Add("sum", number(s.ExactSum, s.Sum))
		t.Add("mean", fmt.Sprintf("%.10g", s.Mean))
		t.Add("std", fmt.Sprintf("%.10g", s.Std))
	}
	return t.Write(w, p)
}

// realText formats an element's value, or a sum of them, with its significant digits.
func realText(d ndarray.DType, x float64) string {
	if d.Size <= 4 && float64(float32(x)) == x {
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', 12, 64)
}

// WriteHistogram draws a bar for each bin.
func WriteHistogram(w io.Writer, p term.Paint, h *ndarray.Histogram, columns int) error {
	t := term.Table{Right: []bool{true, true, true}}
	t.Head = []string{"FROM", "TO", "COUNT"}
	most := int64(0)
	for _, n := range h.Bins {
		most = max(most, n)
	}
	width := max(min(columns, 100)-40, 10)
	if h.Below > 0 {
		t.Add("", fmt.Sprintf("%.6g", h.Low), strconv.FormatInt(h.Below, 10))
	}
	for i, n := range h.Bins {
		t.Add(fmt.Sprintf("%.6g", h.Edge(i)), fmt.Sprintf("%.6g", h.Edge(i+1)), strconv.FormatInt(n, 10), bar(n, most, width))
	}
	if h.Above > 0 {
		t.Add(fmt.Sprintf("%.6g", h.High), "", strconv.FormatInt(h.Above, 10))
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return t.Write(w, p)
}

// bar returns n of most as a bar of at most width columns, to an eighth of a column.
func bar(n, most int64, width int) string {
	if n <= 0 {
		return ""
	}
	eighths := int(math.Round(float64(n) / float64(most) * float64(8*width)))
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	if s == "" {
		return "▏"
	}
	return s
}
