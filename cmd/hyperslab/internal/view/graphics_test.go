package view

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/tty"
	"github.com/gdamore/tcell/v3/vt"
	"github.com/mattn/go-sixel"
	"github.com/stretchr/testify/require"
)

// WindowSize reports cells of 8 by 16 pixels.
func (r *recorder) WindowSize() (tty.WindowSize, error) {
	size, err := r.MockTerm.WindowSize()
	size.PixelWidth, size.PixelHeight = 8*size.Width, 16*size.Height
	return size, err
}

// startPixels is start with graphics.
func startPixels(t *testing.T, g Graphics) *session {
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	s := &session{t: t, term: &recorder{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24}, vt.MockOptColors(256))}, w: 80, h: 24, done: make(chan error, 1)}
	go func() {
		s.done <- Run(context.Background(), Options{Title: "test", Source: newMemory(), Colors: true, Graphics: g, Tty: s.term, Gradients: []string{"viridis", "gray"}, Escape: printable})
	}()
	return s
}

// leave ends the viewer and returns all that it wrote.
func (s *session) leave() string {
	s.keys("q")
	select {
	case err := <-s.done:
		require.NoError(s.t, err)
	case <-time.After(5 * time.Second):
		s.t.Fatal("the viewer does not end")
	}
	return s.term.output()
}

func TestRun_graphics(t *testing.T) {
	// show displays a picture and leaves it after the terminal received it.
	show := func(t *testing.T, g Graphics, picture string) string {
		s := startPixels(t, g)
		s.shows("cube")
		s.keys(down + "p")
		s.shows("command 1 /cube")
		require.Eventually(t, func() bool { return strings.Contains(s.term.output(), picture) }, 10*time.Second, 5*time.Millisecond)
		s.keys("v")
		s.shows("command 0 /cube")
		return s.leave()
	}
	t.Run("kitty", func(t *testing.T) {
		out := show(t, Kitty, "m=0;")
		var text strings.Builder
		parts := regexp.MustCompile("\x1b_G([^;\x1b]*);([^\x1b]*)\x1b\\\\").FindAllStringSubmatch(out, -1)
		require.NotEmpty(t, parts)
		require.Regexp(t, `^a=T,f=100,q=2,C=1,c=\d+,r=\d+,m=[01]$`, parts[0][1])
		for _, p := range parts {
			require.LessOrEqual(t, len(p[2]), kittyPart)
			text.WriteString(p[2])
			if strings.HasSuffix(p[1], "m=0") {
				break
			}
		}
		b, err := base64.StdEncoding.DecodeString(text.String())
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(b))
		require.NoError(t, err)
		require.Zero(t, picture.Bounds().Dx()%8)
		require.Zero(t, picture.Bounds().Dy()%16)
		last := strings.LastIndex(out, "\x1b_Ga=d,d=A,q=2\x1b\\")
		require.Greater(t, last, strings.Index(out, "a=T"), "the picture is removed with its mode")
	})
	t.Run("sixel", func(t *testing.T) {
		out := show(t, Sixel, "\x1bP")
		found := regexp.MustCompile("(?s)\x1bP[^\x1b]*\x1b\\\\").FindString(out)
		require.NotEmpty(t, found)
		var got image.Image
		require.NoError(t, sixel.NewDecoder(strings.NewReader(found)).Decode(&got))
		require.Positive(t, got.Bounds().Dx())
	})
	t.Run("cells", func(t *testing.T) {
		out := show(t, Cells, "▀")
		require.NotContains(t, out, "\x1b_G")
		require.NotContains(t, out, "\x1bPq")
	})
}

// answering is a terminal that answers queries.
type answering struct {
	tty.Tty // nil: other calls are not expected
	answer  string
	out     bytes.Buffer
	read    chan string
}

func (a *answering) Start() error { a.read = make(chan string, 2); return nil }
func (a *answering) Stop() error  { return nil }
func (a *answering) Drain() error { a.read <- ""; return nil }

func (a *answering) Write(b []byte) (int, error) {
	if a.answer != "" {
		a.read <- a.answer
	}
	return a.out.Write(b)
}

func (a *answering) Read(b []byte) (int, error) {
	s := <-a.read
	if s == "" {
		return 0, io.EOF
	}
	return copy(b, s), nil
}

func TestGraphicsOf(t *testing.T) {
	for _, tt := range []struct {
		name, answer string
		want         Graphics
	}{
		{"kitty", "\x1b_Gi=31;OK\x1b\\\x1b[?62;c", Kitty},
		{"kitty with an error", "\x1b_Gi=31;ENOENT\x1b\\\x1b[?62c", Cells},
		{"sixel", "\x1b[?62;4;22c", Sixel},
		{"tmux", "\x1b[?1;2c", Cells},
		{"14 is not 4", "\x1b[?62;14;22c", Cells},
		{"no answer", "", Cells},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &answering{answer: tt.answer}
			got, err := graphicsOf(a)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.True(t, strings.HasSuffix(a.out.String(), "\x1b[c"))
		})
	}
}
