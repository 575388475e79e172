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
	axes       []string      // dimension names; nil if no dimension has one
	unstored   bool          // no elements are stored: all are the fill value
	leftOut    []unsupported // attributes that refer to other objects of the file
}

func (d dataset) label() string   { return filepath.Base(d.file) + ":" + d.path }
func (d dataset) address() string { return d.file + ":" + d.path }

// row is the result for one dataset.
type row struct {
	dataset
	bytes, stored int64
	seconds       float64
	compared      int   // comparisons by hyperslab diff without differences
	crossChecked  int   // comparisons by h5diff without differences
	err           error // the first error
}

// unsupported is an attribute in the output of hyperslab info.
type unsupported struct{ Name, Type, Reason string }

// prover contains the tools and a directory for their output.
type prover struct {
	hyperslab, h5diff tool
	dir               string
}

// numeric matches the dtypes of measurements.
var numeric = regexp.MustCompile(`^[<>|][biuf][0-9]+$`)

// numericDatasets lists the numeric datasets in all files, with the attributes that cannot be
// converted, so that they are reported before anything is written.
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
				Names       []string      `json:"dimension_names"`
				Unsupported []unsupported `json:"unsupported_attributes"`
			}
			if err := document(p.hyperslab, &info, "info", "--json", d.address()); err != nil {
				return nil, err
			}
			d.axes = info.Names
			for _, u := range info.Unsupported {
				// Only these have no meaning in another file. All others are not excluded, and
				// convert fails if it would lose them. That is a failure of the demo.
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

// prove converts d in both round trips and compares the results.
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

// sameAxes checks that a copy of d has the dimension names of d.
func (p *prover) sameAxes(d dataset, address string) error {
	var info struct {
		Names []string `json:"dimension_names"`
	}
	if err := document(p.hyperslab, &info, "info", "--json", address); err != nil {
		return err
	}
	if !slices.Equal(info.Names, d.axes) {
		return fmt.Errorf("the axes of %s are named %q, want %q", address, info.Names, d.axes)
	}
	return nil
}

// same runs hyperslab diff. A difference is an error that describes it.
func (p *prover) same(args []string) error {
	o, err := p.hyperslab(args...)
	if err != nil {
		return err
	}
	if o.code == 0 {
		return nil
	}
	loud, err := p.hyperslab(append([]string{"diff"}, args[2:]...)...) // without --quiet, to list the differences
	if err != nil {
		return err
	}
	return loud.failure()
}
