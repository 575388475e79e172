// Emit, which writes the corpus with the reference libraries.

package crosscheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/testkit/pairwise"
)

// Options are the options of Emit. A nil *Options is the zero value.
type Options struct {
	Full     bool                         // every combination of parameters instead of all pairs
	Small    bool                         // at most 5 MB: one vector or more for each rule of the formats
	Areas    []string                     // nil: all areas
	Progress func(area string, cases int) // called after each area if not nil
}

// area is one part of the corpus.
type area struct {
	name    string
	emit    func(context.Context, *emitter) error
	explain func(path string, c Case, got []byte) (*Explanation, error)
}

var areas = []area{
	{"chunk", emitChunks, explainChunkFile},
	{"blosc1", emitBlosc1, explainChunkFile},
	{"frame", emitFrames, explainFrame},
	{"b2nd", emitArrays, explainArray},
	{"caterva", emitCaterva, explainArray},
	{"metalayer", emitMetalayers, explainMetalayer},
	{"bcolz", emitBcolz, explainBcolz},
	{"store", emitStores, explainStore},
	{"hdf5", emitHDF5, explainHDF5},
}

// Areas returns the names of the parts of the corpus in the order in which they are written.
func Areas() []string {
	names := make([]string, len(areas))
	for i, a := range areas {
		names[i] = a.name
	}
	return names
}

// Emit writes the vectors and their manifest into dir, which must not exist or must be empty. The
// bytes depend only on the linked versions of the libraries. Emit decodes each vector with the
// reference library, and returns an error if the result differs from the manifest.
func Emit(ctx context.Context, dir string, o *Options) (*Manifest, error) {
	if o == nil {
		o = &Options{}
	}
	for _, v := range os.Environ() {
		// These variables override parameters of the library.
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "BLOSC_") {
			return nil, fmt.Errorf("crosscheck: emit: the environment variable %s changes the output of C-Blosc2", name)
		}
	}
	if o.Small && o.Full {
		return nil, errors.New("crosscheck: emit: the options Small and Full exclude each other")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("crosscheck: emit: %w", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil, fmt.Errorf("crosscheck: emit: %s: %w", dir, errors.Join(err, notEmpty(len(entries))))
	}
	for _, name := range o.Areas {
		if !known(name) {
			return nil, fmt.Errorf("crosscheck: emit: unknown area: got %q, want one of %s", name, strings.Join(Areas(), ", "))
		}
	}
	e := &emitter{dir: dir, full: o.Full, m: &Manifest{Schema: Schema, Full: o.Full, Small: o.Small, Versions: map[string]string{"c-blosc2": cblosc.Version()}}}
	for _, a := range areas {
		if len(o.Areas) > 0 && !slices.Contains(o.Areas, a.name) {
			continue
		}
		before := len(e.m.Cases)
		if err := a.emit(ctx, e); err != nil {
			return nil, fmt.Errorf("crosscheck: emit %s: %w", a.name, err)
		}
		if o.Progress != nil {
			o.Progress(a.name, len(e.m.Cases)-before)
		}
	}
	if o.Small {
		if err := e.reduce(func(c Case) (format.Field, error) { return annotate(e.at(c.Path), c) }); err != nil {
			return nil, fmt.Errorf("crosscheck: emit: %w", err)
		}
	}
	if err := e.m.save(dir); err != nil {
		return nil, fmt.Errorf("crosscheck: emit: %w", err)
	}
	return e.m, nil
}

func notEmpty(n int) error {
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: the directory contains %d entries", os.ErrExist, n)
}

func known(name string) bool { return slices.Contains(Areas(), name) }

// emitter collects the cases of one Emit.
type emitter struct {
	dir  string
	full bool
	m    *Manifest
}

// file writes one vector and adds its case. It sets c.Path from the id.
func (e *emitter) file(c Case, ext string, content []byte) error {
	c.Path = c.ID + ext
	name, err := e.place(c.Path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, content, 0o644); err != nil {
		return err
	}
	return e.add(c)
}

// add adds the case of a file or directory that has been written.
func (e *emitter) add(c Case) error {
	var err error
	c.Bytes, c.SHA256, err = digest(filepath.Join(e.dir, filepath.FromSlash(c.Path)))
	if err != nil {
		return err
	}
	e.m.Cases = append(e.m.Cases, c)
	return nil
}

func (e *emitter) coverage(area string, ps []parameter, rows [][]int, pairs, impossible int) {
	names := make([]string, len(ps))
	for i, p := range ps {
		names[i] = p.Name
	}
	e.m.Coverage = append(e.m.Coverage, Coverage{Area: area, Parameters: names, Pairs: pairs, Covered: pairwise.Covered(ps, rows), Impossible: impossible, Cases: len(rows)})
}

// decodedBytes describes plain bytes of elements of item bytes.
func decodedBytes(b []byte, item int) *Decoded {
	return &Decoded{Bytes: int64(len(b)), SHA256: hexSum(b), Shape: []int64{int64(len(b) / item)}, Item: item}
}
