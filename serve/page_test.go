package serve_test

import (
	"bytes"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/serve"
)

// TestHandler_pages reads the pages that a browser without JavaScript shows.
func TestHandler_pages(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cube.h5")+":/a/cube", numbers([]int64{5, 120, 40}, []int64{1, 60, 40}), nil)
	write(t, filepath.Join(dir, "line.b2nd"), numbers([]int64{300}, nil), nil)
	injected := numbers([]int64{3}, nil)
	injected.Attrs = []ndarray.Attr{{Name: "<b>name</b>", Value: ndarray.Text("<script>alert(1)</script>")}}
	write(t, filepath.Join(dir, "<i>.b2nd"), injected, nil)
	s := newServer(t, dir, &serve.Options{Untrusted: hyperslab.Untrusted{InProcess: true}})
	read := func(target string, want int) string {
		t.Helper()
		status, header, body := get(t, s, target, "Accept", "text/html,*/*")
		require.Equal(t, want, status, string(body))
		require.Equal(t, "text/html; charset=utf-8", header.Get("Content-Type"))
		require.NotContains(t, header.Get("Content-Security-Policy"), "script")
		require.NotContains(t, string(body), "<script")
		require.NotContains(t, string(body), "<i>") // part of a name
		return string(body)
	}
	t.Run("files", func(t *testing.T) {
		body := read("/", 200)
		require.Contains(t, body, `href="view?file=cube.h5"`)
		require.Contains(t, body, "&lt;i&gt;.b2nd")
	})
	t.Run("group", func(t *testing.T) {
		body := read("/view?file=cube.h5&path=/a", 200)
		require.Contains(t, body, `<td>[5, 120, 40]</td><td>&lt;i4</td>`)
	})
	t.Run("array", func(t *testing.T) {
		body := read("/view?file=cube.h5&path=/a/cube&at0=2&row=50&column=16", 200)
		require.Contains(t, body, "<tr><td>50</td><td>11616</td><td>11617</td>") // 2*4800 + 50*40 + 16
		require.Equal(t, 50+2, strings.Count(body, "<tr><td>"))                  // elements and attributes
		require.Contains(t, body, "selection=2%2C%3A%2C%3A")
		require.Contains(t, body, `<td>units</td><td>string[]</td><td>m</td>`)
		require.Contains(t, body, "next columns")
	})
	t.Run("indexes out of range", func(t *testing.T) {
		body := read("/view?file=cube.h5&path=/a/cube&at0=99&row=1000&column=-5", 200)
		require.Contains(t, body, "<tr><td>100</td><td>23200</td>")
	})
	t.Run("text of a file", func(t *testing.T) {
		body := read("/view?file=%3Ci%3E.b2nd&path=/%3Ci%3E", 200)
		require.Contains(t, body, "&lt;script&gt;alert(1)&lt;/script&gt;")
	})
	t.Run("missing file", func(t *testing.T) { require.Contains(t, read("/view?file=missing.h5", 404), "File not found") })
	t.Run("directory outside", func(t *testing.T) { read("/?dir=..", 404) })
	t.Run("heat map", func(t *testing.T) {
		status, header, body := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:,:&colors=gray")
		require.Equal(t, 200, status, string(body))
		require.Equal(t, "image/png", header.Get("Content-Type"))
		img, err := png.Decode(bytes.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, 900, img.Bounds().Dx())
		// Values increase from top to bottom, so brightness must increase too.
		top, _, _, _ := img.At(300, 120).RGBA()
		bottom, _, _, _ := img.At(300, 480).RGBA()
		require.Less(t, top, bottom)
	})
	t.Run("line", func(t *testing.T) {
		_, _, linear := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:,:")
		for _, look := range []string{"&log=true", "&clip=10,90", "&colors=magma"} {
			status, _, other := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:,:"+look)
			require.Equal(t, 200, status, other)
			require.NotEqual(t, linear, other, look)
		}
		for _, look := range []string{"&clip=90,10", "&clip=1", "&clip=0,101", "&colors=pink"} {
			status, _, body := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:,:"+look)
			require.Equal(t, 422, status, body)
		}
		status, _, body := get(t, s, "/picture?file=line.b2nd&path=/line")
		require.Equal(t, 200, status, string(body))
		_, err := png.Decode(bytes.NewReader(body))
		require.NoError(t, err)
	})
	t.Run("rows as lines", func(t *testing.T) {
		_, _, heat := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:5,:")
		status, _, lines := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:5,:&lines=true")
		require.Equal(t, 200, status, string(lines))
		require.NotEqual(t, heat, lines)
		status, _, body := get(t, s, "/picture?file=cube.h5&path=/a/cube&selection=1,:,:&lines=true")
		require.Equal(t, 422, status, string(body))
	})
	t.Run("small multiples", func(t *testing.T) {
		for _, selection := range []string{"", ":,3:90:2,:", "4:1:-1,:,:", "2:3,:,:", ":,5,:", "3,:9,:"} {
			status, _, body := get(t, s, "/picture?file=cube.h5&path=/a/cube&panels=4&selection="+selection)
			require.Equal(t, 200, status, "%s: %s", selection, body)
			_, err := png.Decode(bytes.NewReader(body))
			require.NoError(t, err)
		}
		for _, look := range []string{"panels=0", "panels=65", "panels=x"} {
			status, _, body := get(t, s, "/picture?file=cube.h5&path=/a/cube&"+look)
			require.Equal(t, 422, status, "%s: %s", look, body)
		}
		require.Contains(t, read("/view?file=cube.h5&path=/a/cube&panels=4", 200), "panels=4&amp;path=%2Fa%2Fcube&amp;selection=%3A%2C%3A%2C%3A")
	})
	t.Run("switches", func(t *testing.T) {
		address := "/picture?file=cube.h5&path=/a/cube&selection=1,:,:"
		for _, name := range []string{"log", "raw", "transpose", "lines"} {
			for _, same := range [][]string{{"true", "1", "T", "TRUE"}, {"", "false", "0", "F"}} {
				_, _, want := get(t, s, address+"&"+name+"="+same[0])
				for _, value := range same[1:] {
					_, _, got := get(t, s, address+"&"+name+"="+value)
					require.Equal(t, want, got, "%s=%s", name, value)
				}
			}
			status, _, body := get(t, s, address+"&"+name+"=yes")
			require.Equal(t, 422, status, string(body))
			require.Contains(t, string(body), name)
			require.Contains(t, read("/view?file=cube.h5&path=/a/cube&"+name+"=yes", 200), "yes&#34;: want true or false")
		}
	})
	t.Run("three dimensions", func(t *testing.T) {
		status, _, body := get(t, s, "/picture?file=cube.h5&path=/a/cube")
		require.Equal(t, 422, status, string(body))
		require.Contains(t, string(body), "3 dimensions; a picture has one or two")
	})
}
