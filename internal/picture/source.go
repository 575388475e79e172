// Pictures of a variable: the elements are read, reduced and described.

package picture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/hyperslab/hyperslab/internal/elements/printable"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Input is a variable, or the selected part of one.
type Input struct {
	Name      string            // of the array, for a title without long_name
	Variable  *cf.Variable      // of the selected elements
	Whole     *cf.Variable      // of the whole array, for its coordinates; nil: Variable
	Selection ndarray.Selection // of the elements of Whole that Variable has
}

// Close closes the variables.
func (in *Input) Close() error {
	var err error
	for _, v := range []*cf.Variable{in.Variable, in.Whole} {
		if v != nil {
			err = errors.Join(err, v.Close())
		}
	}
	return err
}

// Look is how a picture is drawn. The zero value of each field is its default.
type Look struct {
	Kind      string // Heatmap, Line, Histogram, Image; "" or Auto: by the number of dimensions
	Colors    string // one of GradientNames; "": the first one
	Log       bool   // logarithms of positive values; others are missing
	Clip      Clip   // percentiles at which the colours or the axis end; zero: 0 and 100
	Panels    int    // small pictures at indexes of the first dimension; 0 or 1: one picture
	Part      string // of complex numbers: Amplitude, Phase, Real or Imaginary; "": Amplitude
	Raw       bool   // stored elements, without the attributes of the CF conventions
	Transpose bool   // the first dimension of a heat map or an image runs to the right
}

// Clip is a range between two percentiles.
type Clip struct{ Low, High float64 }

// Options are the options of Draw.
type Options struct {
	Look
	Title         string            // "": long_name, standard_name or the name of the array
	Low, High     float64           // the range of values; equal: that of the values
	Bins          int               // of a histogram; 0: 40
	Width, Height int               // of the picture in pixels; at least DefaultWidth × DefaultHeight is reduced to
	With          []Input           // other arrays of one dimension, drawn as curves
	Memory        int64             // bytes of elements at a time; 0: 128 MiB
	Workers       int               // of a histogram; 0: one for each processor
	Limit         int64             // elements that are read; 0: no limit
	Progress      func(bytes int64) // bytes of elements that were read; nil: not reported

	// Warn is called with each broken attribute and the path of its array; nil: not reported.
	Warn func(path string, problem error)
}

// The size of a picture in pixels without another one. Every array is reduced to at least this
// size, so that the range of values is the same for a page, a file and a terminal.
const (
	DefaultWidth  = 900
	DefaultHeight = 600
)

// StoredValues is the label of stored elements to which attributes apply.
const StoredValues = "stored values"

// Parts of complex numbers.
const (
	Amplitude = "amplitude"
	Phase     = "phase"
	Real      = "real"
	Imaginary = "imaginary"
)

// Parts are the names of the parts of complex numbers, the default one first.
var Parts = []string{Amplitude, Phase, Real, Imaginary}

// Unfit is the error of an array or of options that no picture fits.
type Unfit struct {
	Problem string
	ByRank  bool // only a histogram has pictures of that number of dimensions
}

func (e *Unfit) Error() string { return e.Problem }

func unfit(format string, args ...any) error { return &Unfit{Problem: fmt.Sprintf(format, args...)} }

// Step returns the smallest step that takes at most limit elements of a shape, in which each
// dimension has that step.
func Step(shape []int64, limit int64) int64 {
	for step := int64(1); ; step++ {
		taken := make([]int64, len(shape))
		for i, length := range shape {
			taken[i] = grid.DivUp(length, step)
		}
		if n, ok := grid.Product(taken); ok && n <= limit {
			return step
		}
	}
}

// Drawable reports whether elements of type d can be drawn: numbers of at most 64 bits, and complex
// numbers of two of them.
func Drawable(d ndarray.DType) bool {
	switch d.Kind {
	case ndarray.Bool, ndarray.Int, ndarray.Uint, ndarray.Enum, ndarray.BFloat:
		return true
	case ndarray.Float:
		return d.Size <= 8
	case ndarray.Complex:
		return d.Size <= 16
	}
	return false
}

// IsImage reports whether the last dimension of an array has the channels of pixels: 3 or 4
// elements of type uint8, after two dimensions of at least minImage.
func IsImage(m ndarray.Meta) bool {
	rank := len(m.Shape)
	return rank >= 3 && m.DType.Kind == ndarray.Uint && m.DType.Size == 1 && isChannels(m.Shape[rank-1]) &&
		m.Shape[rank-2] >= minImage && m.Shape[rank-3] >= minImage
}

// minImage is the minimum number of rows and of columns of an array that is an image without a
// given kind.
const minImage = 8

func isChannels(n int64) bool { return n == 3 || n == 4 }

// drawing is the work for one picture.
type drawing struct {
	*Options
	reader
	in     *Input
	values *ndarray.Array
	out    *Picture
}

// Draw reads the elements of a variable and returns their picture. It returns *Unfit if no picture
// fits the array or the options, ErrValue if no value is finite, and the errors of reading.
func Draw(ctx context.Context, in *Input, o *Options) (_ *Picture, err error) {
	d := &drawing{Options: o, in: in, out: &Picture{Log: o.Log, Colors: o.Colors}}
	d.reader = reader{memory: o.Memory, part: o.Part, log: o.Log, progress: o.Progress}
	if err := d.check(); err != nil {
		return nil, err
	}
	if d.values, err = d.valuesOf(in); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.values.Close()) }()
	d.out.Shape = d.values.Shape()
	if err := d.describe(ctx); err != nil {
		return nil, err
	}
	if err := d.read(ctx); err != nil {
		return nil, err
	}
	if err := d.bound(ctx); err != nil {
		return nil, err
	}
	if o.Transpose {
		d.out.transpose()
	}
	return d.out, nil
}

// valuesOf returns the values of an array: the physical ones, or a view of the stored elements.
func (d *drawing) valuesOf(in *Input) (*ndarray.Array, error) {
	d.nullable, d.stored = in.Variable.Array.Meta().Nullable, in.Variable.Array.DType().Size
	if d.Raw {
		return ndarray.View(in.Variable.Array, ndarray.Select(ndarray.Ellipsis()))
	}
	return in.Variable.Values(&cf.ValueOptions{Float: true})
}

// check determines the kind of the picture, and fails if the array cannot be drawn.
func (d *drawing) check() error {
	m := d.in.Variable.Array.Meta()
	switch {
	case !Drawable(m.DType):
		return unfit("elements of type %v cannot be drawn, want numbers", m.DType)
	case m.Null || m.NumElems() == 0:
		return unfit("the array has no elements to draw")
	case d.Part != "" && m.DType.Kind != ndarray.Complex:
		return unfit("elements of type %v have no %s, want complex numbers", m.DType, d.Part)
	}
	rank := len(m.Shape)
	panels := d.Panels > 1
	if panels {
		rank--
	}
	if err := d.choose(m, rank); err != nil {
		return err
	}
	want := map[string]int{Heatmap: 2, Line: 1, Image: 3}[d.out.Kind]
	switch {
	case want == 0 && panels:
		return unfit("panels are heat maps, images or lines, not a histogram")
	case want == 0 && (d.Log || d.Clip != (Clip{})):
		return unfit("logarithms and percentiles are for heat maps and lines, not for histograms")
	case d.Transpose && want < 2:
		return unfit("only heat maps and images are transposed, got a picture of kind %s", d.out.Kind)
	case d.out.Kind == Image && !isChannels(m.Shape[len(m.Shape)-1]):
		return unfit("an image has 3 or 4 channels in the last dimension, got shape %v", m.Shape)
	case want == 0 || want == rank:
	case d.out.Kind == Line && rank == 2 && !panels:
		if m.Shape[0] > MaxSeries {
			return unfit("the array has %d rows, and a line picture at most %d curves; a selection as in [:%d] takes fewer", m.Shape[0],
				MaxSeries, MaxSeries)
		}
	case panels:
		return unfit("the array has %s; panels of kind %s take %d", dimensions(len(m.Shape)), d.out.Kind, want+1)
	default:
		return unfit("the array has %s, a picture of kind %s takes %d; a selection reduces them", dimensions(len(m.Shape)), d.out.Kind, want)
	}
	return d.fits(m.Shape)
}

// choose sets the kind of the picture of an array with rank dimensions for each panel.
func (d *drawing) choose(m ndarray.Meta, rank int) error {
	if d.out.Kind = d.Kind; d.Kind != "" && d.Kind != Auto {
		return nil
	}
	switch {
	case rank == 1:
		d.out.Kind = Line
	case rank == 2:
		d.out.Kind = Heatmap
	case rank == 3 && IsImage(m):
		d.out.Kind = Image
	default:
		return &Unfit{"the array has " + dimensions(len(m.Shape)) + "; a picture has one or two", true}
	}
	return nil
}

// fits checks the number of elements that are read.
func (d *drawing) fits(shape []int64) error {
	if d.Panels > 1 {
		shape = append([]int64{min(int64(d.Panels), shape[0])}, shape[1:]...)
	}
	if n, ok := grid.Product(shape); d.Limit > 0 && (!ok || n > d.Limit) {
		return unfit("the picture needs %d elements, the limit is %d: select every n-th element, for example ::%d", n, d.Limit,
			Step(shape, d.Limit))
	}
	return nil
}

func dimensions(n int) string {
	if n == 1 {
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", n)
}

// describe sets title, label and axes.
func (d *drawing) describe(ctx context.Context) (err error) {
	v, p := d.in.Variable, d.out
	if !d.Raw {
		d.warn(v)
	}
	p.Title = d.Title
	for _, title := range []string{v.LongName, strings.ReplaceAll(v.StandardName, "_", " "), d.in.Name} {
		if p.Title == "" {
			p.Title = title
		}
	}
	if d.Part == Phase && cmp.Or(p.Colors, GradientNames[0]) == GradientNames[0] {
		p.Colors = "cyclic"
	}
	p.Title, p.Label = printable.Text(p.Title), d.labelOf(v)
	var fixed []string
	if p.Axes, fixed, err = d.axesOf(ctx); err != nil {
		return err
	}
	p.Slice = strings.Join(fixed, ", ")
	if p.Kind == Histogram {
		p.Axes = nil
	}
	return nil
}

// labelOf returns the label of the values: units, and the part of complex numbers.
func (d *drawing) labelOf(v *cf.Variable) string {
	label := printable.Text(v.Units)
	if v.IsTime() || d.Raw && v.Describe(nil) != "" {
		label = ""
	}
	if d.Raw && v.Describe(nil) != "" {
		label = StoredValues
	}
	if v.Array.DType().Kind != ndarray.Complex {
		return label
	}
	switch part := cmp.Or(d.Part, Amplitude); {
	case part == Phase:
		return "phase [rad]"
	case label == "":
		return part
	default:
		return part + " [" + label + "]"
	}
}

// read reads the values of a heat map, an image or of lines.
func (d *drawing) read(ctx context.Context) (err error) {
	p := d.out
	switch {
	case p.Kind == Histogram:
	case d.Panels > 1:
		return d.readPanels(ctx)
	case p.Kind == Line && len(p.Shape) == 2:
		return d.readRows(ctx)
	default:
		err = d.readOne(ctx, p, d.values)
	}
	if err == nil && len(d.With) > 0 {
		err = d.readOthers(ctx)
	}
	return err
}

// readOne reads the values of a picture of an array.
func (d *drawing) readOne(ctx context.Context, p *Picture, values *ndarray.Array) (err error) {
	width, height := max(d.Width, DefaultWidth), max(d.Height, DefaultHeight)
	if n := min(int64(d.Panels), d.out.Shape[0]); n > 1 {
		rows, columns := arrange(int(n), float64(width), float64(height))
		width, height = grid.DivUp(width, columns), grid.DivUp(height, rows)
	}
	if d.Transpose {
		width, height = height, width
	}
	switch p.Kind {
	case Heatmap:
		p.Grid, err = d.grid(ctx, values, height, width)
	case Image:
		p.Channels, err = d.channels(ctx, values, fullOf(d.in.Variable.Array.DType()), height, width)
	default:
		var e *Envelope
		e, err = d.line(ctx, values, width)
		p.Lines = []Series{{Envelope: e}}
	}
	return err
}

// readPanels reads small multiples at indexes of the first dimension, at equal distances.
func (d *drawing) readPanels(ctx context.Context) error {
	p := d.out
	through, length := &p.Axes[0], p.Shape[0]
	n := min(int64(d.Panels), length)
	for i := range n {
		at := i
		if n > 1 {
			at = i * (length - 1) / (n - 1)
		}
		x, err := d.plane(ctx, at)
		if err != nil {
			return err
		}
		x.Title = through.text(at, length)
		p.Panels = append(p.Panels, x)
	}
	if name := through.Label; name != "" {
		p.Slice = strings.TrimPrefix(p.Slice+", by "+name, ", ")
	}
	p.Axes, p.Shape = p.Axes[1:], p.Shape[1:]
	return nil
}

// readRows reads a curve for each row of an array of two dimensions.
func (d *drawing) readRows(ctx context.Context) error {
	p := d.out
	for i := range p.Shape[0] {
		x, err := d.plane(ctx, i)
		if err != nil {
			return err
		}
		p.Lines = append(p.Lines, Series{Name: p.Axes[0].text(i, p.Shape[0]), Envelope: x.Lines[0].Envelope})
	}
	p.Axes, p.Shape = p.Axes[1:], p.Shape[1:]
	return nil
}

// plane returns the picture at an index of the first dimension, without a title.
func (d *drawing) plane(ctx context.Context, at int64) (_ *Picture, err error) {
	p := d.out
	view, err := ndarray.View(d.values, ndarray.Select(ndarray.At(at)))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	x := &Picture{Kind: p.Kind, Label: p.Label, Log: p.Log, Colors: p.Colors, Axes: p.Axes[1:], Shape: p.Shape[1:]}
	x.Axes = append([]Axis{}, x.Axes...)
	return x, d.readOne(ctx, x, view)
}

// readOthers adds the curves of other arrays.
func (d *drawing) readOthers(ctx context.Context) error {
	p := d.out
	if p.Kind != Line || len(p.Lines) != 1 {
		return unfit("another array adds a curve to the line of an array with one dimension, got a picture of kind %s", p.Kind)
	}
	if n := len(d.With) + 1; n > MaxSeries {
		return unfit("got %d curves, want at most %d", n, MaxSeries)
	}
	if d.Title == "" {
		p.Title = ""
	}
	p.Lines[0].Name = printable.Text(d.in.Name)
	for i := range d.With {
		if err := d.readOther(ctx, &d.With[i]); err != nil {
			return err
		}
	}
	return nil
}

func (d *drawing) readOther(ctx context.Context, in *Input) (err error) {
	p := d.out
	if m := in.Variable.Array.Meta(); len(m.Shape) != 1 || m.Shape[0] != p.Shape[0] || !Drawable(m.DType) {
		return unfit("%s: got shape %v of type %v, want %d numbers", in.Name, m.Shape, m.DType, p.Shape[0])
	}
	if d.labelOf(in.Variable) != p.Label {
		p.Label = ""
	}
	values, err := d.valuesOf(in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, values.Close()) }()
	e, err := d.line(ctx, values, max(d.Width, DefaultWidth))
	p.Lines = append(p.Lines, Series{Name: printable.Text(in.Name), Envelope: e})
	return err
}

// bound sets the range of values, and counts the values of a histogram.
func (d *drawing) bound(ctx context.Context) error {
	p := d.out
	if p.Kind == Image {
		return nil
	}
	p.Clipped = d.Low < d.High
	if p.Low, p.High = d.Low, d.High; p.Clipped && d.Log {
		p.Low, p.High = math.Log10(d.Low), math.Log10(d.High)
	}
	if p.Kind == Histogram {
		return d.count(ctx)
	}
	low, high := p.Percentiles(0, 100)
	switch {
	case d.Clip != (Clip{}):
		p.Bound(d.Clip.Low, d.Clip.High)
	case !p.Clipped && d.Part == Phase:
		p.Low, p.High = -math.Pi, math.Pi
		p.spread()
	default:
		p.Bound(0, 100)
	}
	p.Missing = p.hasMissing()
	return p.checkRange(low, high)
}

// checkRange returns ErrValue if the range of values cannot be drawn.
func (p *Picture) checkRange(low, high float64) error {
	if p.Low < p.High && !math.IsInf(p.High-p.Low, 0) {
		return nil
	}
	return fmt.Errorf("%w: no finite range of values to draw, from %v to %v", ndarray.ErrValue, low, high)
}

// count counts the values of a histogram.
func (d *drawing) count(ctx context.Context) error {
	p := d.out
	if d.values.DType().Kind == ndarray.Complex {
		return unfit("histograms are for real numbers")
	}
	before := int64(0)
	work := &ndarray.WorkOptions{Workers: d.Workers, Memory: cmp.Or(d.Memory, defaultMemory)}
	if d.Progress != nil {
		size := int64(d.values.DType().Size)
		work.Progress = func(x ndarray.Progress) { d.Progress(before + x.DoneBytes/size*int64(d.stored)) }
	}
	sum, err := ndarray.Summarize(ctx, d.values, work)
	if err != nil {
		return err
	}
	before = d.in.Variable.Array.NBytes()
	if !p.Clipped {
		p.Low, p.High = Bounds(sum.Min, sum.Max)
	}
	if err := p.checkRange(sum.Min, sum.Max); err != nil {
		return err
	}
	bins := d.Bins
	if bins == 0 {
		bins = 40
	}
	h, err := ndarray.CountBins(ctx, d.values, p.Low, p.High, bins, work)
	p.Bins = &h
	return err
}
