package draw

import (
	"bytes"
	"context"
	"flag"
	"html"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/view"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/serve"
)

var update = flag.Bool("update", false, "write the golden files again")

var bg = context.Background()

// drawnView is a picture: the parameters of its page, and whether view has the same one.
type drawnView struct {
	name, file, path, params string
	viewed                   bool
}

var views = []drawnView{
	{"surface", "ocean.nc", "/temperature", "", true},
	{"depth", "ocean.nc", "/temperature", "at0=3&at1=1", true},
	{"colors", "ocean.nc", "/temperature", "at0=7&at1=5&colors=magma", true},
	{"log", "ocean.nc", "/temperature", "at0=3&at1=1&log=true", true},
	{"clip", "ocean.nc", "/temperature", "at0=3&at1=1&clip=1,99", true},
	{"raw", "ocean.nc", "/temperature", "at0=3&at1=1&raw=true", true},
	{"transposed", "ocean.nc", "/temperature", "at0=3&at1=1&transpose=true", true},
	{"depths", "ocean.nc", "/station", "", true},
	{"depths-down", "ocean.nc", "/station", "transpose=true", true},
	{"flags", "ocean.nc", "/quality", "", true},
	{"coordinate", "ocean.nc", "/lat", "", true},
	{"series", "series.nc", "/flow", "", true},
	{"series-log", "series.nc", "/flow", "log=true", true},
	{"levels", "series.nc", "/wind", "", true},
	{"months", "series.nc", "/rain", "", true},
	{"curved", "curved.nc", "/ice", "", true},
	{"broken", "broken.nc", "/v", "", true},
	{"rgb", "plain.h5", "/rgb", "", true},
	{"rgba", "plain.h5", "/rgba", "", true},
	{"complex", "plain.h5", "/wave", "", true},
	{"peaks", "plain.h5", "/peaks", "clip=1,99", true},
	{"gaps", "plain.h5", "/gaps", "", true},
	{"large", "plain.h5", "/large", "", true},
	{"matrix", "plain.h5", "/matrix", "", true},
	{"enumeration", "plain.h5", "/colour", "", true},
	{"panels", "ocean.nc", "/temperature", "at0=3&panels=6", false},
	{"film", "plain.h5", "/film", "panels=3", false},
	{"phase", "plain.h5", "/wave", "part=phase", false},
	{"rows", "plain.h5", "/rows", "lines=true", false},
}

// TestPictures compares pictures of plot, of the page of serve, and of view: the page and view
// print the command of plot, all draw the same pixels, and the characters of view are those pixels.
func TestPictures(t *testing.T) {
	dir := pictureFiles(t)
	golden, err := filepath.Abs("testdata")
	require.NoError(t, err)
	t.Chdir(dir)
	h, err := serve.New(dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}})
	require.NoError(t, err)
	defer h.Close()
	compared := 0
	for _, v := range views {
		t.Run(v.name, func(t *testing.T) {
			page := v.page(t, h)
			plotted := plotted(t, page.command, "900x600")
			requireSame(t, plotted, decoded(t, page.png))
			requireNear(t, filepath.Join(golden, v.name+".png"), plotted)
			if v.viewed {
				v.compareView(t, page.command, plotted)
				compared++
			}
		})
	}
	require.GreaterOrEqual(t, compared, 24)
}

// pictureFiles returns a directory with the files of pictures.py.
func pictureFiles(t *testing.T) string {
	dir := t.TempDir()
	out, err := exec.Command(testenv.Python(t, "netCDF4", "h5py"), "../../../../serve/testdata/pictures.py", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// page is what the page of a view has.
type page struct {
	command string
	png     []byte
}

// page reads the page of a view, and the picture in it.
func (v *drawnView) page(t *testing.T, h *serve.Handler) page {
	get := func(target string) string {
		r := httptest.NewRequest("GET", target, nil)
		r.Host = "localhost"
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, 200, w.Code, w.Body)
		return w.Body.String()
	}
	body := get("/view?" + url.Values{"file": {v.file}, "path": {v.path}}.Encode() + "&" + v.params)
	image := regexp.MustCompile(`<img src="(picture[^"]*)"`).FindStringSubmatch(body)
	command := regexp.MustCompile(`<code>([^<]*)</code>`).FindStringSubmatch(body)
	require.True(t, image != nil && command != nil, body)
	return page{html.UnescapeString(command[1]), []byte(get("/" + html.UnescapeString(image[1])))}
}

// words splits a command line as a shell does.
func words(t *testing.T, command string) []string {
	out, err := exec.Command("bash", "-c", `hyperslab() { printf '%s\0' "$@"; }; `+command).Output()
	require.NoError(t, err)
	list := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	require.Equal(t, "plot", list[0])
	return list[1:]
}

func newApp(out io.Writer) *shell.App {
	a := &shell.App{Stdout: out, Stderr: io.Discard}
	a.Name.Store(new("hyperslab plot"))
	return a
}

// plotted runs the command and returns its picture.
func plotted(t *testing.T, command, size string) image.Image {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.png")
	cmd := newPlot(newApp(io.Discard))
	cmd.SetArgs(append(words(t, command), "-o", file, "--size", size, "-q", "--progress", "none"))
	require.NoError(t, cmd.ExecuteContext(bg), command)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return decoded(t, b)
}

func decoded(t *testing.T, b []byte) image.Image {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b))
	require.NoError(t, err)
	return img
}

// differing returns the number of pixels that differ by more than a distance in one channel.
func differing(a, b image.Image, distance int) (n int) {
	for y := range a.Bounds().Dy() {
		for x := range a.Bounds().Dx() {
			p, q := color.RGBAModel.Convert(a.At(x, y)).(color.RGBA), color.RGBAModel.Convert(b.At(x, y)).(color.RGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				if d > distance || d < -distance {
					n++
					break
				}
			}
		}
	}
	return n
}

func requireSame(t *testing.T, want, got image.Image) {
	t.Helper()
	require.Equal(t, want.Bounds(), got.Bounds())
	require.Zero(t, differing(want, got, 0), "pixels that differ")
}

// requireNear compares a picture of half the width and few colours with a golden file. Processors
// round the last bits of coordinates differently.
func requireNear(t *testing.T, file string, got image.Image) {
	t.Helper()
	const scale = 2
	small := image.NewPaletted(image.Rect(0, 0, got.Bounds().Dx()/scale, got.Bounds().Dy()/scale), coarse)
	for y := range small.Bounds().Dy() {
		for x := range small.Bounds().Dx() {
			small.Set(x, y, meanColor(got, image.Rect(x*scale, y*scale, (x+1)*scale, (y+1)*scale)))
		}
	}
	if *update {
		var out bytes.Buffer
		require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small))
		require.NoError(t, os.WriteFile(file, out.Bytes(), 0o666))
	}
	b, err := os.ReadFile(file)
	require.NoError(t, err, "run the test with -update and look at the picture")
	want := decoded(t, b)
	require.Equal(t, want.Bounds(), small.Bounds())
	require.LessOrEqual(t, differing(want, small, 0), small.Bounds().Dx()*small.Bounds().Dy()/200, "pixels that differ from %s", file)
}

// meanColor returns the mean of some pixels.
func meanColor(img image.Image, r image.Rectangle) color.Color {
	sum, n := [3]int{}, r.Dx()*r.Dy()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
			sum = [3]int{sum[0] + int(c.R), sum[1] + int(c.G), sum[2] + int(c.B)}
		}
	}
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), 255}
}

// coarse are 216 colours of golden files, which are small.
var coarse = func() (out color.Palette) {
	for r := range 6 {
		for g := range 6 {
			for b := range 6 {
				out = append(out, color.RGBA{uint8(51 * r), uint8(51 * g), uint8(51 * b), 255})
			}
		}
	}
	return out
}()

// request returns the request of view for the parameters of a page.
func (v *drawnView) request(t *testing.T, item view.Item) *view.Request {
	q := &view.Request{Item: item, Mode: view.Picture, Rows: 40, Columns: 68, Look: view.Look{Colors: "viridis"}}
	rank := len(item.Shape)
	q.Slice = view.Slice{At: make([]int64, rank), Row: max(rank-2, 0), Column: rank - 1}
	if rank == 1 {
		q.Slice.Column = -1
	}
	params, err := url.ParseQuery(v.params)
	require.NoError(t, err)
	for name, values := range params {
		switch name {
		case "colors":
			q.Look.Colors = values[0]
		case "log":
			q.Look.Log = true
		case "clip":
			q.Look.Clip = true
		case "raw":
			q.Look.Raw = true
		case "transpose":
			q.Slice.Row, q.Slice.Column = q.Slice.Column, q.Slice.Row
		default:
			k, err := strconv.Atoi(strings.TrimPrefix(name, "at"))
			require.NoError(t, err)
			at, err := strconv.ParseInt(values[0], 10, 64)
			require.NoError(t, err)
			q.Slice.At[k] = at
		}
	}
	return q
}

// compareView compares the picture of view with that of plot: as pixels, and as characters.
func (v *drawnView) compareView(t *testing.T, command string, plotted image.Image) {
	a := newApp(io.Discard)
	tree, err := a.OpenTree(bg, v.file)
	require.NoError(t, err)
	s := &viewSource{a: a, file: v.file, base: "/", tree: tree}
	defer func() { require.NoError(t, s.close()) }()
	e, err := s.entry(bg, v.path)
	require.NoError(t, err)
	q := v.request(t, newViewItem(e, "/"))
	require.Equal(t, command, s.Command(q))
	c, err := s.Content(bg, q)
	require.NoError(t, err)
	if v.name == "broken" {
		require.Contains(t, strings.Join(c.Warnings, "\n"), "/v: attribute scale_factor: got a string, want a number")
		require.Contains(t, strings.Join(c.Warnings, "\n"), `/x: attribute calendar: got "lunar"`)
	}
	var out bytes.Buffer
	require.NoError(t, c.Picture.Write(&out, "png", 900, 600))
	requireSame(t, plotted, decoded(t, out.Bytes()))
	cells := c.Picture.Cells(q.Columns, q.Rows, true)
	require.NotEmpty(t, cells)
	if c.Picture.Kind == picture.Line {
		return
	}
	// The characters are the pixels of the raster of that size.
	block := cells[:len(cells)-picture.BelowCells]
	if c.Picture.Kind == picture.Image {
		block = cells[:len(cells)-1]
	}
	width := 0
	for _, x := range block[0] {
		if x.Rune == '▀' {
			width++
		}
	}
	left := len(block[0]) - width
	height := 2 * len(block)
	if block[len(block)-1][left].Back.A == 0 {
		height--
	}
	raster := c.Picture.Raster(width, height)
	for y, line := range block {
		for x, cell := range line[left:] {
			require.Equal(t, raster.RGBAAt(x, 2*y), cell.Fore)
			require.Equal(t, raster.RGBAAt(x, 2*y+1), cell.Back)
		}
	}
}

// TestViewSource_values reads tables of view: dates, unpacked numbers, and stored elements.
func TestViewSource_values(t *testing.T) {
	t.Chdir(pictureFiles(t))
	a := newApp(io.Discard)
	for _, x := range []struct {
		file, path string
		raw        bool
		rows       [][]string
		command    string
	}{
		{"ocean.nc", "/time", false, [][]string{{"2024-01-01T00:00:00.000000"}, {"2024-01-08T00:00:00.000000"}}, "hyperslab dump 'ocean.nc:/time[0:2]' --unpack"},
		{"ocean.nc", "/time", true, [][]string{{"0"}, {"7"}}, "hyperslab dump 'ocean.nc:/time[0:2]'"},
		{"series.nc", "/months", false, [][]string{{"2000-01-16T00:00:00.000000"}, {"2000-02-16T00:00:00.000000"}}, "hyperslab dump 'series.nc:/months[0:2]' --unpack"},
		{"plain.h5", "/matrix", false, [][]string{{"0", "1"}, {"4", "5"}}, "hyperslab dump 'plain.h5:/matrix[0:2, 0:2]'"},
	} {
		tree, err := a.OpenTree(bg, x.file)
		require.NoError(t, err)
		s := &viewSource{a: a, file: x.file, base: "/", tree: tree}
		e, err := s.entry(bg, x.path)
		require.NoError(t, err)
		q := (&drawnView{}).request(t, newViewItem(e, "/"))
		q.Mode, q.Rows, q.Columns, q.Look.Raw = view.Values, 2, 2, x.raw
		c, err := s.Content(bg, q)
		require.NoError(t, err)
		require.Equal(t, x.rows, c.Cells, x.path)
		require.Equal(t, x.command, s.Command(q))
		require.NoError(t, s.close())
	}
}
