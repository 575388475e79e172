package serve_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// webTests returns the directory with the npm packages of the viewer and the scripts of web/test.
func webTests(t *testing.T) string {
	dir := os.Getenv("HYPERSLAB_WEB")
	if dir == "" {
		t.Skip("NOT TESTED: HYPERSLAB_WEB is not set; scripts/web-test.sh sets it")
	}
	return dir
}

// node runs a script of web/test and decodes its output.
func node(t *testing.T, to any, script string, args ...string) {
	t.Helper()
	cmd := exec.Command(testenv.Program(t, "node"), append([]string{filepath.Join(webTests(t), "test", script)}, args...)...)
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	require.NoError(t, err, diagnostics.String())
	require.NoError(t, json.Unmarshal(out, to), string(out))
}

// TestHandler_h5webClient reads files through the client of h5web, and compares everything that the
// client returns with h5grove: a file with elements of all types and, if HYPERSLAB_H5WEB_SAMPLE is
// the path of the sample file of h5web, that file.
func TestHandler_h5webClient(t *testing.T) {
	webTests(t)
	python := testenv.Python(t, "h5py", "h5grove", "orjson", "tifffile")
	compare := func(t *testing.T, sample []byte, paths, results int) {
		dir := t.TempDir()
		file := filepath.Join(dir, "sample.h5")
		if sample != nil {
			require.NoError(t, os.WriteFile(file, sample, 0o600))
		}
		grove := exec.Command(python, "testdata/oracle.py", file, "serve")
		grove.Stderr = os.Stderr
		out, err := grove.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, grove.Start())
		t.Cleanup(func() {
			require.NoError(t, grove.Process.Kill())
			_ = grove.Wait() // the error of a killed process
		})
		port, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		s := newServer(t, dir, &serve.Options{})
		var result struct {
			Compared, Paths   int
			More, Differences []string
		}
		node(t, &result, "api.mjs", s.URL, "http://127.0.0.1:"+strings.TrimSpace(port), "sample.h5")
		t.Logf("%d paths, %d results of the client; values that h5grove cannot encode: %d", result.Paths, result.Compared, len(result.More))
		require.Empty(t, result.Differences)
		require.Greater(t, result.Paths, paths)
		require.Greater(t, result.Compared, results)
		require.Less(t, len(result.More), 20, result.More)
	}
	t.Run("all types", func(t *testing.T) { compare(t, nil, 50, 250) })
	t.Run("sample of h5web", func(t *testing.T) {
		path := os.Getenv("HYPERSLAB_H5WEB_SAMPLE")
		if path == "" {
			t.Skip("NOT TESTED: HYPERSLAB_H5WEB_SAMPLE is not set; h5web's support/sample/create_h5_sample.py writes the file")
		}
		sample, err := os.ReadFile(path)
		require.NoError(t, err)
		compare(t, sample, 60, 200)
	})
}

// shown is what the browser shows of an array.
type shown struct {
	File                   string
	Title                  string
	Rows                   [][]string // of the table of the plain page
	Width                  int        // pixels of the picture of the plain page
	Image, Canvas          *rectangle
	Plain, Display, Matrix string // screenshots
	Texts, Facts           []string
}

type rectangle struct{ X, Y, Width, Height float64 }

// TestHandler_browser opens the same array in each format in headless Chromium, by the links of the
// pages, and compares values and pixels of the plain page and of h5web.
func TestHandler_browser(t *testing.T) {
	web := webTests(t)
	shots := filepath.Join(web, "screenshots")
	require.NoError(t, os.MkdirAll(shots, 0o755))
	dir := t.TempDir()
	spec := numbers([]int64{60, 80}, []int64{30, 40})
	write(t, filepath.Join(dir, "grid.b2nd"), spec, nil)
	write(t, filepath.Join(dir, "grid.bcolz"), numbers([]int64{60, 80}, nil), nil)
	write(t, filepath.Join(dir, "grid.h5")+":/a/grid", spec, nil)
	write(t, filepath.Join(dir, "grid.caterva"), ndarray.Spec{Shape: []int64{60, 80}, DType: ndarray.DTypeOf[int32]()}, &hyperslab.CreateOptions{Format: hyperslab.Caterva})
	for _, name := range []string{"tree.b2z", "tree.b2d", "tree"} {
		_, err := copyTree(filepath.Join(dir, name), filepath.Join(dir, "grid.h5"), nil)
		require.NoError(t, err)
	}
	type array struct {
		File string `json:"file"`
		Path string `json:"path"`
	}
	arrays := []array{
		{"grid.b2nd", "/grid"}, {"grid.bcolz", "/grid"}, {"grid.h5", "/a/grid"}, {"tree.b2z", "/a/grid"},
		{"tree.b2d", "/a/grid"}, {"tree", "/a/grid"}, {"grid.caterva", "/grid"},
	}
	const token = "the token of a test"
	s := newServer(t, dir, &serve.Options{Token: token})
	list, err := json.Marshal(arrays)
	require.NoError(t, err)
	var out struct {
		Results  []shown
		Messages []string
	}
	node(t, &out, "browser.mjs", s.URL+"/?"+url.Values{"token": {token}}.Encode(), shots, string(list))
	require.Empty(t, out.Messages)
	require.Len(t, out.Results, len(arrays))
	for i, r := range out.Results {
		t.Run(r.File, func(t *testing.T) {
			require.Equal(t, arrays[i].File+":"+arrays[i].Path, r.Title)
			require.Contains(t, r.Facts, "/"+strings.TrimPrefix(arrays[i].Path, "/"))
			require.Contains(t, r.Facts, "60 x 80 = 4800")
			if r.File == "grid.caterva" { // elements without a type
				require.Equal(t, []string{"1", "0x50000000", "0x51000000"}, r.Rows[2][:3])
				require.Contains(t, r.Facts, "Opaque")
				return
			}
			require.Equal(t, []string{"1", "80", "81", "82"}, r.Rows[2][:4])
			require.Contains(t, r.Facts, "Integer (signed), 32-bit, little-endian")
			require.Contains(t, strings.Join(r.Facts, " "), `units "m"`)
			for _, row := range []string{" 80 81 82 83 ", " 160 161 162 163 "} {
				require.True(t, strings.Contains(strings.Join(r.Texts, " "), row), "%s in %.800q", row, r.Texts)
			}
			require.Equal(t, 900, r.Width)
			// Row 0 has the least values: it is at the top of the page and at the bottom of h5web.
			dark, bright := color.RGBA{0x44, 0x01, 0x54, 255}, color.RGBA{0xfd, 0xe7, 0x25, 255}
			like(t, r.Plain, r.Image.at(0.15, 0.12), dark)
			like(t, r.Plain, r.Image.at(0.8, 0.9), bright)
			require.NotNil(t, r.Canvas)
			height := 60 * min(r.Canvas.Width/80, r.Canvas.Height/60) / r.Canvas.Height // cells are squares
			like(t, r.Display, r.Canvas.at(0.5, 0.5+0.48*height), dark)
			like(t, r.Display, r.Canvas.at(0.5, 0.5-0.48*height), bright)
		})
	}
}

// TestHandler_browserPictures opens pages of netCDF and HDF5 files in headless Chromium. The
// picture that the browser shows is that of the server, and the links lead to neighbours and to
// h5web.
func TestHandler_browserPictures(t *testing.T) {
	shots := filepath.Join(webTests(t), "screenshots")
	require.NoError(t, os.MkdirAll(shots, 0o755))
	s := newServer(t, pictureFiles(t), &serve.Options{Token: "secret"})
	type opened struct {
		Name  string `json:"name"`
		File  string `json:"file"`
		Path  string `json:"path"`
		Query string `json:"query"`
	}
	pages := []opened{
		{"ocean", "ocean.nc", "/temperature", "at0=3&at1=1"}, {"series", "series.nc", "/flow", ""}, {"levels", "series.nc", "/wind", ""},
		{"curved", "curved.nc", "/ice", ""}, {"image", "plain.h5", "/rgb", ""}, {"complex", "plain.h5", "/wave", "part=phase"},
	}
	list, err := json.Marshal(pages)
	require.NoError(t, err)
	var out struct {
		Results []struct {
			Name, Command, Form, Picture, Source, Next, Back, Magma, Viewer string
		}
		Messages []string
	}
	node(t, &out, "pictures.mjs", s.URL+"/?token=secret", shots, string(list))
	require.Empty(t, out.Messages)
	require.Len(t, out.Results, len(pages))
	for _, r := range out.Results {
		t.Run(r.Name, func(t *testing.T) {
			_, _, body := get(t, s, "/"+r.Source, "Authorization", "Bearer secret")
			want, err := png.Decode(bytes.NewReader(body))
			require.NoError(t, err)
			b, err := os.ReadFile(r.Picture)
			require.NoError(t, err)
			got, err := png.Decode(bytes.NewReader(b))
			require.NoError(t, err)
			for y := range 600 {
				for x := range 900 { // after a border of one pixel
					require.Equal(t, color.RGBAModel.Convert(want.At(x, y)), color.RGBAModel.Convert(got.At(x+1, y+1)), "%d, %d", x, y)
				}
			}
			require.Contains(t, r.Command, "hyperslab plot ")
			require.Contains(t, r.Magma, "--colors magma")
			require.NotEmpty(t, r.Viewer)
			if r.Name == "ocean" {
				require.Contains(t, r.Form, "time = 2024-01-22")
				require.Contains(t, r.Form, "depth = 10 m")
				require.Contains(t, r.Next, "time = 2024-01-29")
				require.Equal(t, r.Source, r.Back)
			}
		})
	}
}

// at returns the point at two fractions of the width and of the height.
func (r *rectangle) at(x, y float64) image.Point {
	if r == nil {
		return image.Pt(-1, -1)
	}
	return image.Pt(int(r.X+x*r.Width), int(r.Y+y*r.Height))
}

// like compares a pixel of a screenshot with a colour.
func like(t *testing.T, file string, at image.Point, want color.RGBA) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	got := color.RGBAModel.Convert(img.At(at.X, at.Y)).(color.RGBA)
	for _, d := range []int{int(got.R) - int(want.R), int(got.G) - int(want.G), int(got.B) - int(want.B)} {
		require.InDelta(t, 0, d, 24, "%s at %v: got %v, want about %v", file, at, got, want)
	}
}
