package h5objects

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5copy"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Source is an object to copy.
type Source struct {
	File   string // name of its file
	Path   string // of the object in the file
	To     string // path of the copy
	Within bool   // the file is the one that gets the copy
}

// MissingError is the error of a dataset whose other files are missing, without
// Copy.AllowMissing. It matches ndarray.ErrNotFound.
type MissingError struct{ Problem h5copy.Problem }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: %s: %v", e.Problem.Path, e.Problem.What, e.Problem.Err)
}

// Unwrap returns ndarray.ErrNotFound and the error of the file.
func (e *MissingError) Unwrap() []error { return []error{ndarray.ErrNotFound, e.Problem.Err} }

// Copy describes the copies of objects to one file.
type Copy struct {
	Sources []Source
	Target  string // the file that gets the copies, for messages and for relative names of files
	Replace bool   // existing objects are replaced; otherwise they are ndarray.ErrExists

	Follow       bool   // also objects that references point to
	AllowMissing bool   // also datasets whose other files are missing
	ExternalDir  string // directory of external files with relative names; "" is the working directory

	Exclude    func(path string) bool            // objects of the sources that are left out; nil: none
	Unreadable func(path string, err error) bool // see h5copy.Options
	Problem    func(p h5copy.Problem)            // gets each part that is not kept

	Open    func(file string) (*h5.File, error) // returns an open file of the sources
	Release func() error                        // runs after the sources of each file; nil: no effect
}

// Add adds the object at a location, FILE:/path, whose copy gets the path to.
func (c *Copy) Add(from, to string) error {
	loc, err := locate.Parse(from)
	if err == nil && (strings.Trim(loc.Object, "/") == "" || strings.Trim(to, "/") == "") {
		err = fmt.Errorf("%w: object %q, copy %q: want FILE:/path and a path", ndarray.ErrParam, from, to)
	}
	c.Sources = append(c.Sources, Source{File: loc.File, Path: loc.Object, To: path.Clean("/" + to)})
	return err
}

// set contains the sources of one file.
type set struct {
	file   string
	within bool
	pairs  []h5copy.Pair
}

// location returns the location of a source; of all sources for index -1.
func (s *set) location(i int) string {
	if i < 0 && len(s.pairs) == 1 {
		i = 0
	}
	if i < 0 {
		return s.file
	}
	return locate.Location{File: s.file, Object: s.pairs[i].From}.String()
}

// source returns the path in the source of a path in the target.
func (s *set) source(at string) string {
	best := h5copy.Pair{}
	for _, p := range s.pairs {
		if (at == p.To || strings.HasPrefix(at, p.To+"/")) && len(p.To) > len(best.To) {
			best = p
		}
	}
	return best.From + strings.TrimPrefix(at, best.To)
}

// sets collects the sources of each file.
func (c *Copy) sets() (sets []set) {
	for _, x := range c.Sources {
		at := slices.IndexFunc(sets, func(s set) bool { return s.file == x.File || s.within && x.Within })
		if at < 0 {
			at = len(sets)
			sets = append(sets, set{file: x.File, within: x.Within})
		}
		sets[at].pairs = append(sets[at].pairs, h5copy.Pair{From: "/" + strings.Trim(x.Path, "/"), To: x.To})
	}
	return sets
}

// Run copies the objects to dst, which will become the target. It checks all of them before it
// changes dst. A target that exists is ndarray.ErrExists. A missing source, or a missing file of a
// dataset, is ndarray.ErrNotFound. A target that is a source, a group above one, or a link to one
// is ndarray.ErrParam.
func (c *Copy) Run(ctx context.Context, dst *h5.File) error {
	sets := c.sets()
	for i := range sets {
		if err := c.each(ctx, &sets[i], dst, c.check); err != nil {
			return err
		}
	}
	if err := c.replace(dst); err != nil {
		return err
	}
	for i := range sets {
		if err := c.each(ctx, &sets[i], dst, c.copy); err != nil {
			return err
		}
	}
	return nil
}

// step checks or copies a set. failed is the index of the source that an error is about, or -1.
type step func(ctx context.Context, src, dst *h5.File, s *set) (failed int, err error)

// each does one step for a set.
func (c *Copy) each(ctx context.Context, s *set, dst *h5.File, do step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	src, err := dst, error(nil)
	if !s.within {
		src, err = c.Open(s.file)
	}
	if err != nil {
		return err
	}
	failed, err := do(ctx, src, dst, s)
	if c.Release != nil {
		err = errors.Join(err, c.Release())
	}
	return ndarray.Wrap("copy", s.location(failed), err)
}

// CheckPaths returns the error of Run for a target in the file of its source that is the source, a
// group above it, or a link to it. It changes no file.
func (c *Copy) CheckPaths() error {
	for _, s := range c.sets() {
		if !s.within {
			continue
		}
		src, err := c.Open(s.file)
		if err != nil {
			return err
		}
		if failed, err := c.apart(src, &s); err != nil {
			return ndarray.Wrap("copy", s.location(failed), err)
		}
	}
	return nil
}

// check returns the errors of copy before the target is changed.
func (c *Copy) check(ctx context.Context, src, dst *h5.File, s *set) (failed int, err error) {
	if s.within {
		if failed, err := c.apart(src, s); err != nil {
			return failed, err
		}
	}
	if err := c.vacant(dst, s.pairs); err != nil {
		return -1, err
	}
	options, err := c.options(s)
	if err != nil {
		return -1, err
	}
	plan := h5copy.New(src, nil, options)
	if failed, err := plan.Objects(ctx, s.pairs); err != nil {
		return failed, err
	}
	for _, p := range plan.Problems {
		if p.Kind == h5copy.Missing && !c.AllowMissing {
			return -1, &MissingError{Problem: p}
		}
	}
	return -1, nil
}

// apart returns an error if the removal of one of the targets would also remove a source: if the
// target is the source, a group above it, or a link that its path leads through.
func (c *Copy) apart(src *h5.File, s *set) (failed int, err error) {
	for i, p := range s.pairs {
		for _, x := range c.Sources {
			needs, err := h5copy.Needs(src.Root(), p.From, x.To)
			if err != nil {
				return i, err
			}
			if needs {
				return i, fmt.Errorf("%w: the target %s is the source, a group above it, or a link to it", ndarray.ErrParam, x.To)
			}
		}
	}
	return -1, nil
}

// vacant returns ErrExists if a target exists, unless it may be replaced.
func (c *Copy) vacant(dst *h5.File, pairs []h5copy.Pair) error {
	if c.Replace {
		return nil
	}
	for _, p := range pairs {
		there, err := dst.Root().HasLink(p.To)
		if err != nil && !errors.Is(err, h5.ErrNotFound) { // a group of the path may be missing
			return err
		}
		if there {
			return fmt.Errorf("%w: %s", ndarray.ErrExists, locate.Location{File: c.Target, Object: p.To})
		}
	}
	return nil
}

// replace removes the existing targets, if they may be replaced.
func (c *Copy) replace(dst *h5.File) error {
	if !c.Replace {
		return nil
	}
	for _, x := range c.Sources {
		there, err := dst.Root().HasLink(x.To)
		if there && err == nil {
			err = dst.Root().Unlink(x.To)
		}
		if err != nil && !errors.Is(err, h5.ErrNotFound) {
			return ndarray.Wrap("replace", locate.Location{File: c.Target, Object: x.To}.String(), err)
		}
	}
	return nil
}

// options returns the options of the copy of a set.
func (c *Copy) options(s *set) (h5copy.Options, error) {
	dir, err := Directory(c.Target)
	o := h5copy.Options{
		Directory: dir, AllowMissing: c.AllowMissing, ExternalDir: c.ExternalDir, Follow: c.Follow, Unreadable: c.Unreadable,
	}
	if c.Exclude != nil {
		o.Exclude = func(path string) bool { return c.Exclude(s.source(path)) }
	}
	return o, err
}

// copy copies the sources of a set and reports the parts that are not kept.
func (c *Copy) copy(ctx context.Context, src, dst *h5.File, s *set) (failed int, err error) {
	options, err := c.options(s)
	if err != nil {
		return -1, err
	}
	x := h5copy.New(src, dst, options)
	if failed, err := x.Objects(ctx, s.pairs); err != nil {
		return failed, err
	}
	for _, p := range x.Problems {
		if c.Problem != nil {
			c.Problem(p)
		}
	}
	return -1, nil
}
