// Values and coordinates of arrays by the CF conventions.

package shell

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/picture"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/cf"
	"github.com/hyperslab/hyperslab/remote"
)

// Meaning is an array with the values of its elements.
type Meaning struct {
	*cf.Variable
	Values  *ndarray.Array // Variable.Array if its elements are the values
	Applied string         // the attributes that apply; "" if the elements are the values
}

// Meant returns the meaning of the part of an array at an address. Closing it leaves the part open.
func (a *App) Meant(ctx context.Context, p *Part, address string, o cf.ValueOptions) (*Meaning, error) {
	t, path, err := a.treeOf(p, address)
	if err != nil {
		return nil, err
	}
	arr := p.Array
	v, err := cf.New(ctx, arr, t, path)
	if err != nil {
		return nil, err
	}
	m := &Meaning{Variable: v, Values: arr}
	values, err := v.Values(&o)
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	if m.Applied = v.Describe(&o); m.Applied == "" {
		return m, values.Close()
	}
	m.Values = values
	return m, nil
}

// Close closes the values and the coordinates.
func (m *Meaning) Close() error {
	var err error
	if m.Values != m.Array {
		err = m.Values.Close()
	}
	return errors.Join(err, m.Variable.Close())
}

// WholeOf returns the variable of the whole array of a part, for its coordinates. Closing it leaves
// the part open.
func (a *App) WholeOf(ctx context.Context, p *Part, address string) (*cf.Variable, error) {
	t, path, err := a.treeOf(p, address)
	if err != nil {
		return nil, err
	}
	arr := p.Array
	if p.Source != nil {
		arr = p.Source
	}
	return cf.New(ctx, arr, t, path)
}

// Drawn returns the variable of a part for a picture. Closing it leaves the part open.
func (a *App) Drawn(ctx context.Context, p *Part, address string) (*picture.Input, error) {
	t, at, err := a.treeOf(p, address)
	if err != nil {
		return nil, err
	}
	location, selection := SplitSelection(address)
	loc, err := locate.Parse(location)
	if err != nil {
		return nil, err
	}
	in := &picture.Input{Name: path.Base(at), Selection: p.Selection}
	if loc.Object == "" {
		in.Name = strings.TrimSuffix(path.Base(loc.File), path.Ext(loc.File))
	}
	if _, field := CutField(selection); field != "" {
		in.Name += "." + field
	}
	if in.Variable, err = cf.New(ctx, p.Array, t, at); err != nil || p.Source == nil {
		return in, err
	}
	if in.Whole, err = cf.New(ctx, p.Source, t, at); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// siblings is the tree in which the coordinates of an array are searched.
type siblings struct {
	a    *App
	part *Part
	file string
}

// treeOf returns the tree of an array and its path: its file or, for a file with one array, the
// directory of the file, because a tree can be converted to a file for each array. A file at a URL
// with one array has no tree.
func (a *App) treeOf(p *Part, address string) (cf.Tree, string, error) {
	location, _ := SplitSelection(address)
	loc, err := locate.Parse(location)
	switch {
	case err != nil:
		return nil, "", err
	case loc.Object != "":
		return siblings{a, p, loc.File}, loc.Object, nil
	case remote.IsURL(loc.File):
		return nil, "/", nil
	}
	file := filepath.Clean(loc.File)
	return siblings{a, p, filepath.Dir(file)}, filepath.Base(file), nil
}

// Open implements cf.Tree.
func (s siblings) Open(ctx context.Context, path string) (*ndarray.Array, error) {
	return s.a.OpenNear(ctx, s.part, locate.Location{File: s.file, Object: path})
}

// GroupAttrs implements cf.Tree.
func (s siblings) GroupAttrs(ctx context.Context, path string) (ndarray.Attrs, error) {
	if s.part.Tree == nil || s.part.file != s.file {
		return ndarray.Attrs{}, errors.ErrUnsupported
	}
	return s.part.Tree.GroupAttrs(ctx, path)
}

// NoteWarnings reports the attributes that have no effect, each once.
func (a *App) NoteWarnings(command string, v *cf.Variable) {
	for _, w := range v.Warnings() {
		a.NoteWarning(command, v.Path, w)
	}
}

// NoteWarning reports a problem of the array at a path, once.
func (a *App) NoteWarning(command, path string, problem error) {
	if _, before := a.warned.LoadOrStore(path+"\x00"+problem.Error(), true); !before {
		a.Note("%s %s: %s", a.Talk.Notice("hyperslab "+command+":"), term.Safe(path), term.Safe(problem.Error()))
	}
}

// NoteUndated reports the numbers of times that are printed as NaT because they are no dates.
func (a *App) NoteUndated(v *cf.Variable) {
	u := v.Undated()
	var parts []string
	if u.NaN > 0 {
		parts = append(parts, term.Plural(u.NaN, "element")+" NaN or infinite")
	}
	if u.Outside > 0 {
		parts = append(parts, term.Plural(u.Outside, "element")+" out of range")
	}
	if len(parts) > 0 {
		a.Note("%s no dates, printed as NaT: %s; the first one is %s", a.Talk.Notice("hyperslab dump:"), strings.Join(parts, ", "),
			IndexText(u.First))
	}
}
