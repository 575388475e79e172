// hyperslab plot: draw a picture of an array.

package draw

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Values of --kind.
const (
	kindAuto      = "auto"
	kindHeat      = picture.Heatmap
	kindLine      = picture.Line
	kindHistogram = picture.Histogram
)

// plotJob is one run of plot.
type plotJob struct {
	*shell.App

	job    shell.JobFlags
	output string
	kind   string
	title  string
	size   string
	limits string
	colors string
	clip   string
	log    bool
	bins   int
	panels int
	with   []string
	force  bool
	asIs   bool
}

// drawing is a picture that can also be drawn on the terminal.
type drawing struct{ picture.Picture }

func newPlot(a *shell.App) *cobra.Command {
	j := &plotJob{App: a}
	cmd := &cobra.Command{
		Use:   "plot FILE[:/path][[SELECTION]]",
		Short: "Draw an array: heat map, line or histogram, in a file or on the terminal",
		Long: `plot draws an array with two dimensions as a heat map, with one dimension as a line, and
with any shape as a histogram. With -o it writes a PNG or SVG file, and otherwise block
characters to standard output. A selection chooses two dimensions of more.

--kind line draws an array with two dimensions as a curve for each index of the first
one, at most 7, and --with adds other arrays. --panels 12 draws 12 small pictures at
indexes of the first dimension: heat maps of an array with three dimensions, or lines of
one with two. They have the same range of values.

Title and labels are the attributes long_name and units and the dimension names. The
axes show the indices in the whole array, with row 0 at the top, or the coordinates,
which grow to the right and upwards. Coordinates are the array with the name of the
dimension, as in netCDF files, in the same group of the HDF5 file, the same ctable, or
the directory that convert writes for a whole file. An array that was converted alone
has dimension names but no coordinates.

By the CF conventions, values are unpacked with scale_factor and add_offset. Values
equal to _FillValue or missing_value, or outside valid_range, are missing and drawn in
grey. --as-is draws the stored elements. A cell of a heat map is the mean of its
elements. A point of a line shows the minimum and the maximum, so that no peak is lost.

--log draws the logarithms of positive values; others are missing, and a cell is the
geometric mean. --clip 1,99 ends the colours or the axis at percentiles of the cells or
points, so that a few extreme values do not hide the others.` + shell.AddressHelp + shell.TwoArguments + shell.SliceHelp,
		Example: `  hyperslab plot etopo.h5:/ROSE -o rose.png
  hyperslab plot etopo.h5:/ROSE
  hyperslab plot 'etopo.h5:/ROSE[45]' -o row.svg
  hyperslab plot etopo.h5:/ROSE --kind histogram -o heights.png --bins 60
  hyperslab plot waves.b2nd -o waves.png --panels 9
  hyperslab plot 'etopo.h5:/ROSE[::45]' --kind line -o rows.png
  hyperslab plot 'etopo.h5:/ROSE[40]' --with 'etopo.h5:/ROSE[60]' -o both.svg
  hyperslab plot etopo.h5:/ROSE -o clipped.png --clip 2,98 --colors magma
  hyperslab plot 'rose.b2nd[::-1, :90]' -o west.png --range=-4000,4000 --colors diverging`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON, err := cmd.Flags().GetBool("json"); err == nil && asJSON && j.output == "" {
				return shell.Usagef("--json requires -o, because the picture is written to standard output")
			}
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	f := cmd.Flags()
	shell.OutputFlag(cmd, &j.output, "write the picture to `FILE`.png or FILE.svg")
	f.StringVar(&j.kind, "kind", kindAuto, "`KIND` of picture: auto, heatmap, line or histogram")
	f.StringVar(&j.title, "title", "", "`TEXT` above the picture")
	shell.SizeFlag(cmd, &j.size)
	f.StringVar(&j.limits, "range", "", "`LOW,HIGH` values of the first and the last colour, or of the ends of the axis")
	f.StringVar(&j.colors, "colors", "viridis", "`NAME` of the colours: viridis, magma, plasma, inferno, gray or diverging")
	f.StringVar(&j.clip, "clip", "", "`LOW,HIGH` percentiles at which the colours or the axis end, for example 1,99")
	f.BoolVar(&j.log, "log", false, "logarithmic colours of a heat map, or vertical axis of a line")
	f.IntVar(&j.bins, "bins", 40, "`NUMBER` of bins of a histogram")
	f.IntVar(&j.panels, "panels", 0, "`NUMBER` of small pictures at indexes of the first dimension")
	f.StringArrayVar(&j.with, "with", nil, "`ARRAY` that is drawn as another curve, FILE:/path; can be repeated")
	shell.AsIsFlag(cmd, &j.asIs, "draw")
	shell.ForceFlag(cmd, &j.force, "replace the file if it exists")
	j.job.Add(cmd, "no progress and no summary of the picture")
	shell.CompleteWords(cmd, "kind", kindAuto, kindHeat, kindLine, kindHistogram)
	shell.CompleteWords(cmd, "colors", picture.GradientNames...)
	cmd.MarkFlagsMutuallyExclusive("range", "clip")
	(&shell.FilesFlags{}).Add(a, cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	shell.AddDType(a, cmd)
	a.Done(cmd)
	return cmd
}

func (j *plotJob) run(ctx context.Context, address string) (err error) {
	if _, err := j.job.Check(); err != nil {
		return err
	}
	width, height, format, err := j.check()
	if err != nil {
		return err
	}
	var out *atomicfile.Output
	if j.output != "" { // fail before any work is done
		if out, err = shell.NewOutput(ctx, j.output, atomicfile.Options{Overwrite: j.force}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Abort()) }()
	}
	columns, lines := width, height
	if out == nil {
		columns, lines = terminalRoom(j.Columns())
	}
	p, err := j.gatherPicture(ctx, address, columns, lines)
	if err != nil {
		return err
	}
	if out == nil {
		return p.blocks(j.Stdout, j.Data, picture.Gradients[j.colors], columns, lines)
	}
	if err := p.Save(out.Path(), format, width, height, picture.Gradients[j.colors]); err != nil {
		return ndarray.Wrap("create", j.output, err)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := out.Commit(); err != nil {
		return ndarray.Wrap("create", j.output, err)
	}
	if !j.job.Quiet {
		j.Note("%s: %s of %s, %dx%d", term.Safe(j.output), p.Kind, term.Safe(address), width, height)
	}
	return nil
}

// check checks the flags.
func (j *plotJob) check() (width, height int, format string, err error) {
	if err := errors.Join(
		shell.OneOf("--kind", j.kind, kindAuto, kindHeat, kindLine, kindHistogram),
		shell.OneOf("--colors", j.colors, picture.GradientNames...),
	); err != nil {
		return 0, 0, "", err
	}
	if j.bins < 1 || j.bins > 10000 {
		return 0, 0, "", shell.Usagef("--bins %d: want 1 to 10000", j.bins)
	}
	if j.panels < 0 || j.panels > picture.MaxPanels {
		return 0, 0, "", shell.Usagef("--panels %d: want 1 to %d", j.panels, picture.MaxPanels)
	}
	if len(j.with) > 0 && j.panels > 0 {
		return 0, 0, "", shell.Usagef("--with and --panels cannot be combined")
	}
	return PictureOf("-o", j.output, j.size)
}

// PictureOf parses the size and the name of a picture. The format is "" without a name.
func PictureOf(flag, file, pixels string) (width, height int, format string, err error) {
	size, err := term.ParseShape(pixels)
	if err != nil || len(size) != 2 || size[0] < 200 || size[1] < 150 || size[0] > 16384 || size[1] > 16384 {
		return 0, 0, "", shell.Usagef("--size %s: want WIDTHxHEIGHT in pixels, from 200x150 to 16384x16384", pixels)
	}
	format = strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")
	if file != "" && format != "png" && format != "svg" {
		return 0, 0, "", shell.Usagef("%s %s: want a name that ends in .png or .svg", flag, file)
	}
	return int(size[0]), int(size[1]), format, nil
}

// limitsOf reads --range. With --log it returns the logarithms of the bounds.
func (j *plotJob) limitsOf() (low, high float64, given bool, err error) {
	if j.limits == "" {
		return 0, 0, false, nil
	}
	low, high, err = shell.ParseRange(j.limits)
	if err == nil && j.log {
		if low <= 0 {
			return 0, 0, false, shell.Usagef("--range %s: with --log, want a LOW above 0", j.limits)
		}
		low, high = math.Log10(low), math.Log10(high)
	}
	return low, high, err == nil, err
}

// percentiles reads --clip.
func (j *plotJob) percentiles() (low, high float64, err error) {
	if j.clip == "" {
		return 0, 100, nil
	}
	low, high, err = shell.ParseRange(j.clip)
	if err != nil || !(0 <= low && low < high && high <= 100) {
		err = shell.Usagef("--clip %s: want two percentiles from 0 to 100, for example 1,99", j.clip)
	}
	return low, high, err
}

// gatherPicture reads the array, reduced to width × height cells or points.
func (j *plotJob) gatherPicture(ctx context.Context, address string, width, height int) (_ *drawing, err error) {
	memory := j.job.Limit
	low, high, clipped, err := j.limitsOf()
	if err != nil {
		return nil, err
	}
	if _, _, err := j.percentiles(); err != nil {
		return nil, err
	}
	arr, err := j.OpenInTree(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if err := j.job.Fit(memory, address, arr.Whole()); err != nil {
		return nil, err
	}
	arr.SetWorkers(j.job.Jobs)
	p := &drawing{picture.Picture{Kind: j.kind, Shape: arr.Shape(), Low: low, High: high, Clipped: clipped, Log: j.log}}
	if err := p.choose(address, arr.Meta(), j.panels > 0); err != nil {
		return nil, err
	}
	if p.Kind == kindHistogram && (j.log || j.clip != "") {
		return nil, shell.Usagef("--log and --clip are for heat maps and lines, not for histograms")
	}
	meant, err := j.meaning(ctx, arr, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meant.Close()) }()
	if err := j.describe(ctx, p, address, arr, meant); err != nil {
		return nil, err
	}
	values := meant.Values
	total := values.NBytes()
	if p.Kind == kindHistogram {
		total *= 2 // passes
	}
	m := term.NewMeter(j.job.Progress, j.Stderr, "plot", total, time.Now).SetSources(ctx, arr.Stored())
	defer m.Finish()
	r := reduction{memory: memory, width: width, height: height, log: j.log, progress: m.Update}
	if err := p.read(ctx, values, j, r); err != nil {
		return nil, err
	}
	if len(j.with) > 0 {
		r.progress = func(int64) {}
		err = j.addCurves(ctx, p, address, r)
	}
	if err == nil {
		err = p.bound(ctx, values, j, m)
	}
	return p, err
}

// meaning returns the values of an array, or the stored elements with --as-is.
func (j *plotJob) meaning(ctx context.Context, arr *shell.Part, address string) (*shell.Meaning, error) {
	meant, err := j.Meant(ctx, arr, address, cf.ValueOptions{Float: true})
	if err != nil {
		return nil, err
	}
	if j.asIs {
		if meant.Values != arr.Array {
			err = meant.Values.Close()
		}
		meant.Values, meant.Applied = arr.Array, ""
		return meant, err
	}
	if !j.job.Quiet {
		j.NoteWarnings("plot", meant.Variable)
	}
	if meant.Applied != "" && !j.job.Quiet {
		j.Note("%s %s", j.Talk.Notice("hyperslab plot:"), term.Safe(meant.Applied))
	}
	return meant, nil
}

// choose determines the kind of picture, and fails if the array cannot be drawn.
func (p *drawing) choose(address string, m ndarray.Meta, panels bool) error {
	if !drawable(m.DType) {
		return shell.Usagef("%s: elements of type %v cannot be drawn, want numbers", address, m.DType)
	}
	if m.NumElems() == 0 {
		return shell.Usagef("%s has no elements to draw", address)
	}
	rank := len(m.Shape)
	if panels {
		rank--
	}
	if p.Kind == kindAuto {
		switch rank {
		case 1:
			p.Kind = kindLine
		case 2:
			p.Kind = kindHeat
		default:
			part := "'FILE:/path[0, ..., :, :]'"
			if _, selection := shell.SplitSelection(address); selection == "" && len(m.Shape) > 2 {
				part = shell.ShellWord(address + "[0" + strings.Repeat(", 0", len(m.Shape)-3) + "]")
			}
			return shell.Usagef("%s has %s; a picture has one or two, which a selection as in %s takes, or --kind histogram", address,
				axesText(len(m.Shape)), part)
		}
	}
	switch want := map[string]int{kindHeat: 2, kindLine: 1}[p.Kind]; {
	case want == 0 && panels:
		return shell.Usagef("--panels are heat maps or lines, not a histogram")
	case want == 0 || want == rank:
		return nil
	case p.Kind == kindLine && rank == 2 && !panels:
		if m.Shape[0] > picture.MaxSeries {
			return shell.Usagef("%s has %d rows, and a line picture at most %d curves; a selection as in [:%d] takes fewer", address,
				m.Shape[0], picture.MaxSeries, picture.MaxSeries)
		}
		return nil
	case panels:
		return shell.Usagef("%s has %s; --panels of kind %s take %d", address, axesText(len(m.Shape)), p.Kind, want+1)
	default:
		return shell.Usagef("%s has %s, a %s takes %d; a selection reduces them", address, axesText(len(m.Shape)), p.Kind, want)
	}
}

func axesText(n int) string {
	if n == 1 {
		return "1 axis"
	}
	return fmt.Sprintf("%d axes", n)
}

// describe determines title, labels and coordinates.
func (j *plotJob) describe(ctx context.Context, p *drawing, address string, arr *shell.Part, v *shell.Meaning) (err error) {
	p.Title = term.Safe(cmp.Or(j.title, v.LongName, address))
	p.Label = term.Safe(v.Units)
	if p.Kind != kindHistogram {
		if p.Axes, err = axesOf(ctx, j.App, address, arr); err != nil {
			return err
		}
		for i := range p.Axes {
			p.Axes[i].Label = term.Safe(p.Axes[i].Label)
		}
	}
	return nil
}

// read reads the values of a heat map or of lines.
func (p *drawing) read(ctx context.Context, arr *ndarray.Array, o *plotJob, r reduction) (err error) {
	shape := arr.Shape()
	rank := len(shape)
	planes := &planes{drawing: p, values: arr, reduction: r}
	switch {
	case p.Kind == kindHistogram:
	case o.panels > 0:
		n := min(int64(o.panels), shape[0])
		planes.width, planes.height = picture.PanelSize(int(n), r.width, r.height, o.output == "")
		for i := range n {
			at := i
			if n > 1 {
				at = i * (shape[0] - 1) / (n - 1)
			}
			x, name, err := planes.at(ctx, at)
			if err != nil {
				return err
			}
			x.Title = name
			p.Panels = append(p.Panels, x)
		}
	case p.Kind == kindHeat:
		p.Grid, err = r.grid(ctx, arr)
	case rank == 1:
		var e *picture.Envelope
		e, err = r.line(ctx, arr)
		p.Lines = []picture.Series{{Envelope: e}}
	default: // a curve for each row
		for i := range shape[0] {
			x, name, err := planes.at(ctx, i)
			if err != nil {
				return err
			}
			p.Lines = append(p.Lines, picture.Series{Name: name, Envelope: x.Lines[0].Envelope})
		}
		p.Axes, p.Shape = p.Axes[1:], p.Shape[1:]
	}
	return err
}

// addCurves adds the arrays of --with to the line of the array at an address.
func (j *plotJob) addCurves(ctx context.Context, p *drawing, address string, r reduction) error {
	if p.Kind != kindLine || len(p.Lines) != 1 {
		return shell.Usagef("--with adds curves to the line of an array with one dimension, got %s of kind %s", address, p.Kind)
	}
	if n := len(j.with) + 1; n > picture.MaxSeries {
		return shell.Usagef("got %d curves, want at most %d", n, picture.MaxSeries)
	}
	names := []string{address}
	if j.title == "" {
		p.Title = ""
	}
	for _, x := range j.with {
		names = append(names, x)
		if err := j.addCurve(ctx, p, x, r); err != nil {
			return err
		}
	}
	short := make(map[string]bool)
	for _, x := range names {
		short[path.Base(x)] = true
	}
	for i, x := range names {
		if len(short) == len(names) {
			x = path.Base(x)
		}
		p.Lines[i].Name = term.Safe(x)
	}
	return nil
}

func (j *plotJob) addCurve(ctx context.Context, p *drawing, address string, r reduction) (err error) {
	arr, err := j.OpenInTree(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	if m := arr.Meta(); len(m.Shape) != 1 || m.Shape[0] != p.Shape[0] || !drawable(m.DType) {
		return shell.Usagef("--with %s: got shape %v of type %v, want %d numbers", address, m.Shape, m.DType, p.Shape[0])
	}
	meant, err := j.meaning(ctx, arr, address)
	if err != nil {
		return err
	}
	if term.Safe(meant.Units) != p.Label {
		p.Label = ""
	}
	e, err := r.line(ctx, meant.Values)
	p.Lines = append(p.Lines, picture.Series{Envelope: e})
	return errors.Join(err, meant.Close())
}

// bound sets the range of values if --range is not given, and counts the values of a histogram.
func (p *drawing) bound(ctx context.Context, arr *ndarray.Array, o *plotJob, m *term.Meter) error {
	before := int64(0)
	work := &ndarray.WorkOptions{Workers: o.job.Jobs, Memory: o.job.Limit,
		Progress: func(p ndarray.Progress) { m.Update(before + p.DoneBytes) }}
	var low, high float64
	if p.Kind == kindHistogram {
		sum, err := ndarray.Summarize(ctx, arr, work)
		if err != nil {
			return err
		}
		before = arr.NBytes()
		low, high = sum.Min, sum.Max
		if !p.Clipped {
			p.Low, p.High = picture.Bounds(low, high)
		}
	} else {
		from, to, err := o.percentiles()
		if err != nil {
			return err
		}
		low, high = p.Percentiles(0, 100)
		p.Bound(from, to)
	}
	if !(p.Low < p.High) || math.IsInf(p.High-p.Low, 0) {
		return fmt.Errorf("%w: no finite range of values to draw, from %v to %v; --range LOW,HIGH gives one", ndarray.ErrValue, low, high)
	}
	if p.Kind == kindHistogram {
		h, err := ndarray.CountBins(ctx, arr, p.Low, p.High, o.bins, work)
		p.Bins = &h
		return err
	}
	return nil
}

// planes are the parts of an array at the indexes of its first dimension, as pictures.
type planes struct {
	*drawing
	reduction
	values *ndarray.Array
	done   int64
}

// at reads the part at an index, and returns the name of the index: its coordinate.
func (s *planes) at(ctx context.Context, i int64) (f *picture.Picture, name string, err error) {
	along := &s.Axes[0]
	x := s.Picture
	x.Axes, x.Shape, x.Lines, x.Panels = append([]picture.Axis{}, s.Axes[1:]...), s.Shape[1:], nil, nil
	name = cmp.Or(along.Label, "index") + " " + picture.Number(along.At(float64(i), s.Shape[0]))
	plane, err := ndarray.View(s.values, ndarray.Select(ndarray.At(i)))
	if err != nil {
		return nil, "", err
	}
	r := s.reduction
	r.progress = func(n int64) { s.progress(s.done + n) }
	if s.Kind == kindHeat {
		x.Grid, err = r.grid(ctx, plane)
	} else {
		var e *picture.Envelope
		e, err = r.line(ctx, plane)
		x.Lines = []picture.Series{{Envelope: e}}
	}
	s.done += plane.NBytes()
	return &x, name, errors.Join(err, plane.Close())
}
