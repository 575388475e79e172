// The round trips of one dataset, and the comparisons after them.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dataset is one array of one file.
type dataset struct {
	file, path string
	shape      []int64
	dtype      string
	axes       []string      // their names; nil if none has one
	unstored   bool          // nothing is stored of it: all elements are fill value
	leftOut    []unsupported // attributes that refer to other objects of the file
}

func (d dataset) label() string   { return filepath.Base(d.file) + ":" + d.path }
func (d dataset) address() string { return d.file + ":" + d.path }

// row is what came of one dataset.
type row struct {
	dataset
	bytes, stored int64
	seconds       float64
	compared      int   // comparisons that found nothing, by hyperslab diff
	crossChecked  int   // the same by h5diff
	err           error // the first thing that went wrong
}

// unsupported is an attribute as hyperslab info tells of it.
type unsupported struct{ Name, Type, Reason string }

// prover knows the tools and a folder for what they write.
type prover struct {
	hyperslab, h5diff tool
	dir               string
}

// numeric are the element types of measurements.
var numeric = regexp.MustCompile(`^[<>|][biuf][0-9]+$`)

// numericDatasets lists the datasets of numbers in all files, with what cannot be
// carried over: that is known, and told, before anything is written.
func (p *prover) numericDatasets(files []string) ([]dataset, error) {
	var sets []dataset
	for _, file := range files {
		var doc struct {
			Entries []struct {
				Path, Kind, DType string
				Shape             []int64
				Stored            int64 `json:"stored_bytes"`
			}
		}
		if err := document(p.hyperslab, &doc, "ls", "--recursive", "--json", file); err != nil {
			return nil, err
		}
		for _, e := range doc.Entries {
			if e.Kind != "array" || !numeric.MatchString(e.DType) {
				continue
			}
			d := dataset{file: file, path: e.Path, shape: e.Shape, dtype: e.DType, unstored: e.Stored == 0}
			var info struct {
				Axes        []string
				Unsupported []unsupported `json:"unsupported_attributes"`
			}
			if err := document(p.hyperslab, &info, "info", "--json", d.address()); err != nil {
				return nil, err
			}
			d.axes = info.Axes
			for _, u := range info.Unsupported {
				// Only these mean nothing in another file. Any other is not excluded, and
				// convert refuses to lose it: that is a failure of the demo.
				if strings.Contains(u.Type, "H5T_REFERENCE") {
					d.leftOut = append(d.leftOut, u)
				}
			}
			sets = append(sets, d)
		}
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("no dataset of numbers in %s", strings.Join(files, ", "))
	}
	return sets, nil
}

// prove takes d through both round trips.
func (p *prover) prove(d dataset) row {
	r := row{dataset: d}
	r.err = p.roundTrips(&r)
	return r
}

func (p *prover) roundTrips(r *row) error {
	dir, err := os.MkdirTemp(p.dir, "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	var exclude []string
	for _, u := range r.leftOut {
		exclude = append(exclude, "--exclude-attr", u.Name)
	}

	for _, trip := range []struct {
		name  string
		flags []string
	}{{"one", nil}, {"sparse", []string{"--sparse"}}} {
		b2nd := filepath.Join(dir, trip.name+".b2nd")
		back := filepath.Join(dir, trip.name+".h5")
		var there struct {
			Bytes   int64   `json:"bytes"`
			Stored  int64   `json:"stored_bytes"`
			Seconds float64 `json:"copy_seconds"`
		}
		args := append([]string{"convert", "--json", "--quiet", r.address(), b2nd}, trip.flags...)
		if err := document(p.hyperslab, &there, append(args, exclude...)...); err != nil {
			return err
		}
		if trip.name == "one" {
			r.bytes, r.stored, r.seconds = there.Bytes, there.Stored, there.Seconds
		}
		if err := document(p.hyperslab, &struct{}{}, "convert", "--json", "--quiet", b2nd, back+":"+r.path); err != nil {
			return err
		}
		for _, other := range []string{b2nd, back + ":" + r.path} {
			if err := p.same(append([]string{"diff", "--quiet", r.address(), other}, exclude...)); err != nil {
				return err
			}
			if err := p.sameAxes(r.dataset, other); err != nil {
				return err
			}
			r.compared++
		}
		if err := sameByReference(p.h5diff, r.dataset, back); err != nil {
			return err
		}
		r.crossChecked++
	}
	return nil
}

// sameAxes checks that the axes of a copy of d have the names of d's.
func (p *prover) sameAxes(d dataset, address string) error {
	var info struct{ Axes []string }
	if err := document(p.hyperslab, &info, "info", "--json", address); err != nil {
		return err
	}
	if !slices.Equal(info.Axes, d.axes) {
		return fmt.Errorf("the axes of %s are named %q, want %q", address, info.Axes, d.axes)
	}
	return nil
}

// same runs hyperslab diff; a difference is an error that names it.
func (p *prover) same(args []string) error {
	o, err := p.hyperslab(args...)
	if err != nil {
		return err
	}
	if o.code == 0 {
		return nil
	}
	loud, err := p.hyperslab(append([]string{"diff"}, args[2:]...)...) // without --quiet: what differs
	if err != nil {
		return err
	}
	return loud.failure()
}
