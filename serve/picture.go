// Pictures: heat maps, images, lines and small multiples of the elements of an array, as PNG. The
// source of the file draws them, so that a worker reads the coordinates too.

package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
)

// Limits of a picture.
const (
	pictureElements = 16 << 20
	pictureMemory   = 32 << 20 // bytes of elements at a time
)

// variable is an array with the tree in which its coordinates are.
type variable struct {
	array *ndarray.Array
	tree  cf.Tree
	path  string // in the tree
	name  string
	alone bool // the file has only this array
}

// picture answers a request for a picture.
func (h *Handler) picture(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	name, err := fileName(v.Get("file"))
	q := &request{Route: routePicture, Path: clean(v.Get("path")), Selection: v.Get("selection"), Limit: h.pageLimit()}
	if err == nil {
		_, err = lookOf(v)
	}
	look := url.Values{}
	for _, name := range lookParameters {
		if x := v.Get(name); x != "" {
			look.Set(name, x)
		}
	}
	q.Look = look.Encode()
	if err == nil {
		err = h.reply(w, r, name, q)
	}
	if err != nil {
		h.problem(w, err)
	}
}

// lookParameters are the parameters of a picture that determine its look.
var lookParameters = []string{"kind", "colors", "log", "clip", "lines", "panels", "part", "raw", "transpose"}

// lookOf returns the look of the parameters of a picture.
func lookOf(v url.Values) (picture.Look, error) {
	l := picture.Look{Kind: v.Get("kind"), Colors: v.Get("colors"), Part: v.Get("part")}
	lines, err := false, error(nil)
	for _, x := range []struct {
		name string
		to   *bool
	}{{"log", &l.Log}, {"raw", &l.Raw}, {"transpose", &l.Transpose}, {"lines", &lines}} {
		if *x.to, err = strconv.ParseBool(cmp.Or(v.Get(x.name), "false")); err != nil {
			return l, fail(http.StatusUnprocessableEntity, "%s %q: want true or false", x.name, v.Get(x.name))
		}
	}
	if lines {
		l.Kind = picture.Line
	}
	if l.Panels, err = strconv.Atoi(cmp.Or(v.Get("panels"), "1")); err != nil || l.Panels < 1 {
		return l, fail(http.StatusUnprocessableEntity, "panels %q: want a number from 1 to %d", v.Get("panels"), picture.MaxPanels)
	}
	if l.Part == picture.Amplitude {
		l.Part = ""
	}
	if l.Clip, err = picture.ParseClip(v.Get("clip")); err == nil {
		err = l.Check()
	}
	return l, unfit(err)
}

// unfit returns an error that no picture fits as a problem of the request.
func unfit(err error) error {
	if _, ok := errors.AsType[*picture.Unfit](err); ok || errors.Is(err, ndarray.ErrValue) {
		return &problem{Status: http.StatusUnprocessableEntity, Message: err.Error(), err: err}
	}
	return err
}

// draw draws the selected elements.
func (v *variable) draw(ctx context.Context, q *request) (_ response, err error) {
	if v.array.Meta().Null {
		return response{}, fail(http.StatusUnprocessableEntity, "the array has no elements to draw")
	}
	parameters, err := url.ParseQuery(q.Look)
	if err != nil {
		return response{}, err
	}
	look, err := lookOf(parameters)
	if err != nil {
		return response{}, err
	}
	part, err := parsePart(q.Selection, v.array.Shape())
	if err != nil {
		return response{}, err
	}
	view, err := ndarray.View(v.array, part.selection)
	if err != nil {
		return response{}, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	in := &picture.Input{Name: v.name, Selection: part.selection}
	if in.Variable, err = cf.New(ctx, view, v.tree, v.path); err != nil {
		return response{}, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if in.Whole, err = cf.New(ctx, v.array, v.tree, v.path); err != nil {
		return response{}, err
	}
	p, err := picture.Draw(ctx, in, &picture.Options{Look: look, Limit: pictureElements, Memory: pictureMemory})
	if err != nil {
		return response{}, unfit(err)
	}
	var out bytes.Buffer
	err = p.Write(&out, "png", picture.DefaultWidth, picture.DefaultHeight)
	return response{Type: "image/png", Body: out.Bytes()}, err
}
