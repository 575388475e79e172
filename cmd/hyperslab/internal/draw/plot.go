// hyperslab plot: draw a picture of an array.

package draw

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/location/shellword"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
)

// plotJob is one run of plot.
type plotJob struct {
	*shell.App

	job    shell.JobFlags
	look   picture.Look
	output string
	title  string
	size   string
	limits string
	clip   string
	bins   int
	with   []string
	force  bool
}

func newPlot(a *shell.App) *cobra.Command {
	j := &plotJob{App: a}
	cmd := &cobra.Command{
		Use:   "plot FILE[:/path][[SELECTION]]",
		Short: "Draw an array: heat map, line or histogram, in a file or on the terminal",
		Long: `plot draws an array with two dimensions as a heat map, with one dimension as a line, and
with any shape as a histogram. With -o it writes a PNG or SVG file, and otherwise block
characters to standard output. A selection chooses two dimensions of more. An array of
bytes with 3 or 4 channels in its last dimension is an image. Of complex numbers, the
picture has the amplitude, or the part of --part.

--kind line draws an array with two dimensions as a curve for each index of the first
one, at most 7, and --with adds other arrays. --panels 12 draws 12 small pictures at
indexes of the first dimension: heat maps of an array with three dimensions, or lines of
one with two. They have the same range of values.

The title is the attribute long_name or the name of the array, and the indexes that the
selection fixes: "time = 2024-01-02, depth = 10 m". The axes show coordinates, which grow
to the right and upwards, depths downwards, and dates in the calendar of the file. Without
coordinates they show the indexes in the whole array, with row 0 at the top. Coordinates
are the dimension scale in HDF5 and netCDF, otherwise the array with the name of the
dimension in the group of the array or a group above it, in the same ctable, or in the
directory that convert writes for a whole file.

By the CF conventions, values are unpacked with scale_factor and add_offset. Values
equal to _FillValue or missing_value, or outside valid_range, are missing and drawn in
grey. --raw draws the stored elements. A cell of a heat map is the mean of its
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
	f.StringVar(&j.look.Kind, "kind", picture.Auto, "`KIND` of picture: auto, heatmap, line, histogram or image")
	f.StringVar(&j.title, "title", "", "`TEXT` above the picture")
	shell.SizeFlag(cmd, &j.size)
	f.StringVar(&j.limits, "range", "", "`LOW,HIGH` values of the first and the last colour, or of the ends of the axis")
	f.StringVar(&j.look.Colors, "colors", "viridis", "`NAME` of the colours: viridis, magma, plasma, inferno, gray or diverging")
	f.StringVar(&j.clip, "clip", "", "`LOW,HIGH` percentiles at which the colours or the axis end, for example 1,99")
	f.BoolVar(&j.look.Log, "log", false, "logarithmic colours of a heat map, or vertical axis of a line")
	f.IntVar(&j.bins, "bins", 40, "`NUMBER` of bins of a histogram")
	f.IntVar(&j.look.Panels, "panels", 0, "`NUMBER` of small pictures at indexes of the first dimension")
	f.StringVar(&j.look.Part, "part", "", "`PART` of complex numbers: amplitude, phase, real or imaginary")
	f.BoolVar(&j.look.Transpose, "transpose", false, "draw the first dimension of a heat map to the right")
	f.StringArrayVar(&j.with, "with", nil, "`ARRAY` that is drawn as another curve, FILE:/path; can be repeated")
	shell.RawFlag(cmd, &j.look.Raw, "draw")
	shell.ForceFlag(cmd, &j.force, "replace the file if it exists")
	j.job.Add(cmd, "no progress and no summary of the picture")
	shell.CompleteWords(cmd, "kind", picture.Kinds...)
	shell.CompleteWords(cmd, "colors", picture.GradientNames...)
	shell.CompleteWords(cmd, "part", picture.Parts...)
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
	p, err := j.draw(ctx, address, width, height)
	if err != nil {
		return err
	}
	if out == nil {
		return writeText(j.Stdout, j.Data, p, j.Columns())
	}
	if err := p.Save(out.Path(), format, width, height); err != nil {
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
		shell.OneOf("--kind", j.look.Kind, picture.Kinds...),
		shell.OneOf("--colors", j.look.Colors, picture.GradientNames...),
	); err != nil {
		return 0, 0, "", err
	}
	if j.look.Part != "" {
		if err := shell.OneOf("--part", j.look.Part, picture.Parts...); err != nil {
			return 0, 0, "", err
		}
	}
	if j.bins < 1 || j.bins > 10000 {
		return 0, 0, "", shell.Usagef("--bins %d: want 1 to 10000", j.bins)
	}
	if j.look.Panels < 0 || j.look.Panels > picture.MaxPanels {
		return 0, 0, "", shell.Usagef("--panels %d: want 1 to %d", j.look.Panels, picture.MaxPanels)
	}
	if len(j.with) > 0 && j.look.Panels > 0 {
		return 0, 0, "", shell.Usagef("--with and --panels cannot be combined")
	}
	if j.look.Clip, err = picture.ParseClip(j.clip); err != nil {
		return 0, 0, "", shell.Usagef("--clip %s: want two percentiles from 0 to 100, for example 1,99", j.clip)
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

// draw reads the arrays and returns their picture.
func (j *plotJob) draw(ctx context.Context, address string, width, height int) (_ *picture.Picture, err error) {
	o := &picture.Options{Look: j.look, Title: j.title, Bins: j.bins, Width: width, Height: height, Memory: j.job.Limit, Workers: j.job.Jobs}
	if j.limits != "" {
		if o.Low, o.High, err = shell.ParseRange(j.limits); err != nil {
			return nil, err
		}
		if j.look.Log && o.Low <= 0 {
			return nil, shell.Usagef("--range %s: with --log, want a LOW above 0", j.limits)
		}
	}
	if !j.job.Quiet {
		o.Warn = func(path string, problem error) { j.NoteWarning("plot", path, problem) }
	}
	names := append([]string{address}, j.with...)
	inputs := make([]picture.Input, len(names))
	var m *term.Meter
	for i, name := range names {
		arr, in, failed := j.open(ctx, name)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, in.Close(), arr.Close()) }()
		inputs[i] = *in
		if i == 0 {
			total := arr.NBytes()
			if j.look.Kind == picture.Histogram {
				total *= 2 // passes
			}
			m = term.NewMeter(j.job.Progress, j.Stderr, "plot", total, time.Now).SetSources(ctx, arr.Stored())
			defer m.Finish()
		}
	}
	if len(j.with) > 0 {
		nameCurves(inputs, names)
	}
	o.With, o.Progress = inputs[1:], m.Update
	p, err := picture.Draw(ctx, &inputs[0], o)
	if err != nil {
		return nil, j.explain(address, len(inputs[0].Variable.Array.Shape()), err)
	}
	for _, in := range inputs {
		if applied := in.Variable.Describe(nil); applied != "" && !j.look.Raw && !j.job.Quiet {
			j.Note("%s %s", j.Talk.Notice("hyperslab plot:"), term.Safe(applied))
		}
	}
	return p, nil
}

// open opens an array that is drawn.
func (j *plotJob) open(ctx context.Context, address string) (*shell.Part, *picture.Input, error) {
	arr, err := j.OpenInTree(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	if err := j.job.Fit(j.job.Limit, address, arr.Whole()); err != nil {
		return nil, nil, errors.Join(err, arr.Close())
	}
	arr.SetWorkers(j.job.Jobs)
	in, err := j.Drawn(ctx, arr, address)
	if err != nil {
		return nil, nil, errors.Join(err, arr.Close())
	}
	return arr, in, nil
}

// nameCurves names curves by the last elements of their addresses if these differ.
func nameCurves(inputs []picture.Input, addresses []string) {
	short := make(map[string]bool)
	for _, x := range addresses {
		short[path.Base(x)] = true
	}
	for i, x := range addresses {
		if inputs[i].Name = x; len(short) == len(addresses) {
			inputs[i].Name = path.Base(x)
		}
	}
}

// explain adds the address and advice to an error of drawing.
func (j *plotJob) explain(address string, rank int, err error) error {
	if u, ok := errors.AsType[*picture.Unfit](err); ok {
		if !u.ByRank {
			return shell.Usagef("%s: %v", address, u)
		}
		part := "'FILE:/path[0, ..., :, :]'"
		if _, selection := shell.SplitSelection(address); selection == "" && rank > 2 {
			part = shellword.Quote(address + "[0" + strings.Repeat(", 0", rank-3) + "]")
		}
		return shell.Usagef("%s: %v, which a selection as in %s takes, or --kind histogram", address, u, part)
	}
	if errors.Is(err, ndarray.ErrValue) && j.limits == "" {
		return shell.Hintf("--range LOW,HIGH sets the range of values", "%s: %w", address, err)
	}
	return err
}
