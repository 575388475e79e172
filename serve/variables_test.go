package serve_test

import (
	"html"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// pictureFiles returns a directory with the files of pictures.py.
func pictureFiles(t *testing.T) string {
	dir := t.TempDir()
	out, err := exec.Command(testenv.Python(t, "netCDF4", "h5py"), "testdata/pictures.py", dir).CombinedOutput()
	require.NoError(t, err, string(out))
	return dir
}

// pageText returns a page without its tags: cells and lines are separated by spaces.
func pageText(t *testing.T, s *httptest.Server, target string) string {
	t.Helper()
	status, _, body := get(t, s, target, "Accept", "text/html")
	require.Equal(t, 200, status, string(body))
	return strings.Join(strings.Fields(html.UnescapeString(regexp.MustCompile("<[^>]*>").ReplaceAllString(string(body), " "))), " ")
}

// TestHandler_variables reads pages of variables with attributes of the CF conventions, in a worker
// process and in this process.
func TestHandler_variables(t *testing.T) {
	dir := pictureFiles(t)
	for name, o := range map[string]*serve.Options{
		"worker": {}, "in process": {Untrusted: hyperslab.Untrusted{InProcess: true}}, "trusted": {Trusted: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, dir, o)
			for target, want := range map[string][]string{
				"ocean.nc&path=/temperature&at0=3&at1=1": {
					"time = 2024-01-22 ◀ of 7 ▶", "depth = 10 m ◀ of 5 ▶", "Values: element × 0.01 (scale_factor) + 5 (add_offset)",
					"hyperslab plot 'ocean.nc:/temperature[3, 1, :, :]'", "lat 0 1 2", "-175 -165", " 0 -90 -2.72 ", "lat",
				},
				"ocean.nc&path=/temperature&at0=3&at1=1&column=16":          {" — "},
				"ocean.nc&path=/temperature&at0=3&at1=1&raw=true&column=16": {" -32768 ", "hyperslab plot 'ocean.nc:/temperature[3, 1, :, :]' --raw"},
				"ocean.nc&path=/time":            {"0 2024-01-01 1 2024-01-08 "},
				"ocean.nc&path=/quality":         {"0 (good) 1 (doubtful) 2 (bad)"},
				"series.nc&path=/months":         {"0 2000-01-16 1 2000-02-16", "2000-12-16 12 2001-01-16"},
				"plain.h5&path=/table":           {" id mass name 0 1 2.5 one 1 2 -1.5 two ", "hyperslab dump 'plain.h5:/table[0:2]'"},
				"plain.h5&path=/colour":          {" 0 RED GREEN BLUE 1 BLUE GREEN RED "},
				"plain.h5&path=/rgb":             {"hyperslab plot 'plain.h5:/rgb[:, :, :]'"},
				"plain.h5&path=/wave&part=phase": {"hyperslab plot 'plain.h5:/wave[:, :]' --part phase", "amplitude phase real imaginary"},
				"plain.h5&path=/film&panels=3":   {"hyperslab plot 'plain.h5:/film[:, :, :, :]' --panels 3"},
				"broken.nc&path=/v": {
					"attribute scale_factor: got a string, want a number", `attribute coordinates: there is no array "nowhere"`,
					`/x: attribute calendar: got "lunar"`, " 0 1 2 3 4 0 0 1 2 3 4 1 5 ",
				},
			} {
				text := pageText(t, s, "/view?file="+target)
				for _, w := range want {
					require.Contains(t, text, w, target)
				}
			}
			status, header, body := get(t, s, "/picture?file=ocean.nc&path=/temperature&selection=3,1")
			require.Equal(t, 200, status, string(body))
			require.Equal(t, "image/png", header.Get("Content-Type"))
			require.NotEmpty(t, header.Get("Etag"))
			status, _, _ = get(t, s, "/picture?file=ocean.nc&path=/temperature&selection=3,1", "If-None-Match", header.Get("Etag"))
			require.Equal(t, 304, status)
			raw := document(t, s, "/stats?file=ocean.nc&path=/temperature&selection=3,1")
			require.Equal(t, -32768.0, raw["min"])
			unpacked := document(t, s, "/stats?file=ocean.nc&path=/temperature&selection=3,1&unpack=true")
			require.InDelta(t, -2.99, unpacked["min"], 1e-9)
			require.InDelta(t, 26.5, unpacked["max"], 1e-9)
			for target, want := range map[string]int{
				"/data?file=ocean.nc&path=/temperature&unpack=true": 422, "/stats?file=ocean.nc&path=/temperature&unpack=x": 422,
				"/picture?file=plain.h5&path=/table": 422, "/picture?file=plain.h5&path=/gaps&part=phase": 422,
				"/picture?file=plain.h5&path=/gaps&kind=pie": 422, "/picture?file=plain.h5&path=/rgb&kind=heatmap": 422,
			} {
				status, _, body := get(t, s, target)
				require.Equal(t, want, status, "%s: %s", target, body)
			}
		})
	}
}

// TestHandler_aloneArray reads the page of a file with one array, whose command has no path.
func TestHandler_aloneArray(t *testing.T) {
	dir := t.TempDir()
	spec := numbers([]int64{20, 30}, nil)
	spec.Attrs = append(spec.Attrs, ndarray.Attr{Name: "scale_factor", Value: ndarray.Scalar(0.5)}, ndarray.Attr{Name: "_FillValue", Value: ndarray.Scalar(int32(7))})
	write(t, filepath.Join(dir, "grid.b2nd"), spec, nil)
	s := newServer(t, dir, &serve.Options{})
	text := pageText(t, s, "/view?file=grid.b2nd&path=/grid")
	for _, want := range []string{"hyperslab plot 'grid.b2nd[:, :]'", " 0 0 0.5 1 1.5 ", " — ", "Values: element × 0.5 (scale_factor)"} {
		require.Contains(t, text, want)
	}
}
