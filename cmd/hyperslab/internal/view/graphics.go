// Pictures in pixels, for terminals with the graphics protocol of Kitty or with Sixel.

package view

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"io"
	"strings"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/mattn/go-sixel"

	"github.com/hyperslab/hyperslab/internal/picture"
)

// Graphics is the way in which pictures are drawn.
type Graphics string

// Ways to draw pictures. Auto asks the terminal for the best one.
const (
	Cells Graphics = "cells" // characters with colours
	Kitty Graphics = "kitty"
	Sixel Graphics = "sixel"
	Auto  Graphics = "auto"
)

const (
	answerTime = 500 * time.Millisecond // maximum time for the answer of a terminal
	mostPixels = 2000                   // of a picture along each side
	kittyPart  = 4096                   // bytes of an image in one command of Kitty's protocol
)

// graphicsOf asks a terminal for its graphics: first by the query of Kitty's protocol, and then for
// its attributes, which every terminal reports and which contain 4 for Sixel. A terminal that does
// not answer in time has none.
func graphicsOf(tty tcell.Tty) (Graphics, error) {
	if err := tty.Start(); err != nil {
		return Cells, err
	}
	if _, err := io.WriteString(tty, "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"); err != nil {
		return Cells, err
	}
	answer := make(chan string, 1)
	go func() {
		var got []byte
		b := make([]byte, 256)
		for !bytes.HasSuffix(got, []byte("c")) {
			n, err := tty.Read(b)
			if got = append(got, b[:n]...); n == 0 || err != nil {
				break
			}
		}
		answer <- string(got)
	}()
	var got string
	var err error
	select {
	case got = <-answer:
	case <-time.After(answerTime):
		err = tty.Drain()
		got = <-answer
	}
	if serr := tty.Stop(); err == nil {
		err = serr
	}
	_, attributes, _ := strings.Cut(got, "\x1b[?")
	switch {
	case strings.Contains(got, "\x1b_Gi=31;OK"):
		return Kitty, err
	case strings.Contains(";"+strings.TrimSuffix(attributes, "c")+";", ";4;"):
		return Sixel, err
	}
	return Cells, err
}

// pixels is a picture on the terminal.
type pixels struct {
	picture  *picture.Picture
	gradient string
	area     area
	stale    bool // overwritten by characters
}

// pixelsOf returns the size in pixels of an area, at most mostPixels, or zeros if the terminal does
// not report it.
func pixelsOf(a area) (width, height int) {
	tty, ok := a.s.Tty()
	if !ok {
		return 0, 0
	}
	size, err := tty.WindowSize()
	if err != nil {
		return 0, 0
	}
	w, h := size.CellDimensions()
	return min(a.w*w, mostPixels), min(a.h*h, mostPixels)
}

// inPixels reports whether a picture in the area is drawn in pixels.
func (v *viewer) inPixels(a area) bool {
	if v.Graphics != Kitty && v.Graphics != Sixel {
		return false
	}
	w, h := pixelsOf(a)
	return w > 0 && h > 0
}

// show draws or removes the picture in pixels, after the characters were drawn.
func (v *viewer) show(screen tcell.Screen) error {
	if v.next == v.painted {
		return nil
	}
	tty, ok := screen.Tty()
	if !ok {
		return nil
	}
	var out bytes.Buffer
	if old := v.painted.area; v.painted.picture != nil {
		screen.LockRegion(old.x, old.y, old.w, old.h, false)
		if v.Graphics == Kitty {
			out.WriteString("\x1b_Ga=d,d=A,q=2\x1b\\")
		}
		screen.Sync() // writes the characters that the picture covered
	}
	v.painted = v.next
	if p := v.next.picture; p != nil {
		a := v.next.area
		image, err := encode(p, v.Graphics, picture.Gradients[v.next.gradient], a)
		if err != nil {
			return err
		}
		screen.LockRegion(a.x, a.y, a.w, a.h, true)
		fmt.Fprintf(&out, "\x1b7\x1b[%d;%dH%s\x1b8", a.y+1, a.x+1, image)
	}
	_, err := tty.Write(out.Bytes())
	return err
}

// encode returns the commands that draw a picture at the cursor.
func encode(p *picture.Picture, to Graphics, g picture.Gradient, a area) (string, error) {
	var file, out bytes.Buffer
	width, height := pixelsOf(a)
	if err := p.Write(&file, "png", width, height, g); err != nil {
		return "", err
	}
	if to == Sixel {
		image, err := png.Decode(&file)
		if err != nil {
			return "", err
		}
		err = sixel.NewEncoder(&out).Encode(image)
		return out.String(), err
	}
	text := base64.StdEncoding.EncodeToString(file.Bytes())
	keys := fmt.Sprintf("a=T,f=100,q=2,C=1,c=%d,r=%d,", a.w, a.h)
	for more := 1; more == 1; keys = "" {
		n := min(kittyPart, len(text))
		if n == len(text) {
			more = 0
		}
		fmt.Fprintf(&out, "\x1b_G%sm=%d;%s\x1b\\", keys, more, text[:n])
		text = text[n:]
	}
	return out.String(), nil
}
