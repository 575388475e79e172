// Plan, its JSON form and its identifier.

package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
)

// schema identifies the JSON form of a Plan.
const schema = "hyperslab.plan/3"

// mostBytes is the maximum size of a plan and of a receipt as JSON.
const mostBytes = 16 << 20

// Plan describes one operation and its division into shards.
type Plan struct {
	Schema    string  `json:"schema"`
	ID        string  `json:"id"`        // SHA-256 of the other fields, in hexadecimal digits
	Operation string  `json:"operation"` // convert, repack, rechunk, copy, verify, stats or checksum; of many files also recover and index
	Source    Source  `json:"source"`
	Target    Target  `json:"target"`
	Stages    []Stage `json:"stages"` // one, or two for a rechunking through intermediate chunks

	// Command is the command of the program hyperslab with its flags, of a plan of many files.
	Command []string `json:"command"`

	Workers       int   `json:"workers"`              // goroutines of one process
	Memory        int64 `json:"memory_bytes"`         // buffers of one process
	ProcessMemory int64 `json:"process_memory_bytes"` // projected maximum of one process
	ReadBytes     int64 `json:"read_bytes"`           // elements decoded in all stages, with repetitions
	WriteBytes    int64 `json:"write_bytes"`          // elements encoded in all stages
	Passes        int   `json:"passes"`               // over all elements; without the join of the parts
}

// Source identifies the source at the time of planning.
type Source struct {
	Location string  `json:"location"`
	Format   string  `json:"format"`
	Shape    []int64 `json:"shape"`
	DType    string  `json:"dtype"`
	Chunks   []int64 `json:"chunks"`
	Bytes    int64   `json:"bytes"`      // of all elements
	Files    int64   `json:"files"`      // 1, or those of a directory
	Stored   int64   `json:"file_bytes"` // size of all files
	Modified string  `json:"modified"`   // latest time of all files, RFC 3339 in UTC
	Digest   string  `json:"digest"`     // SHA-256 of the metadata, attributes and list of files
	Offsets  []int64 `json:"offsets"`    // of the lines of each shard in the list of many files; nil for an array
}

// Target describes the array that Commit publishes, the JSON file of verify, stats and checksum, or
// the directory of many files.
type Target struct {
	Location   string   `json:"location"`
	Format     string   `json:"format"` // b2nd, caterva, hdf5 or json; "files" for a directory of many files
	Sparse     bool     `json:"sparse"`
	Compact    bool     `json:"compact"` // an HDF5 target is one file; otherwise a virtual dataset over the parts
	Chunks     []int64  `json:"chunks"`
	Blocks     []int64  `json:"blocks"`
	MaxShape   []int64  `json:"max_shape"`
	Dimensions []string `json:"dimension_names"`
	Fill       []byte   `json:"fill"`
	Codec      string   `json:"codec"`
	Level      int      `json:"level"`
	Filters    []string `json:"filters"`
	Comment    string   `json:"comment"`
	Attributes []string `json:"attributes"` // names of the attributes that are copied

	// DType is the element type to which numbers are converted, "" for that of the source. A value
	// that it cannot represent is an error, unless it is rounded or clipped.
	DType string `json:"dtype"`
	Round bool   `json:"round"` // to the nearest value, ties to even
	Clip  bool   `json:"clip"`  // to the minimum or maximum of the type
}

// Stage is a division of the array into shards, which are boxes in row-major order.
type Stage struct {
	Chunks []int64 `json:"chunks"` // of the parts
	Shard  []int64 `json:"shard"`  // shape of a shard; a multiple of Chunks, clipped at the array's edge
	Shards int64   `json:"shards"`
}

// format is the Format of the targets of verify, stats and checksum.
const jsonFormat = "json"

// operations are the valid values of Plan.Operation; true if the target is an array.
var operations = map[string]bool{
	"convert": true, "repack": true, "rechunk": true, "copy": true,
	"verify": false, "stats": false, "checksum": false,
}

// Parse parses a plan in JSON, for example the content of a file that Encode wrote.
//
// It returns ErrPlan for a malformed plan, and for a plan that was altered after New.
func Parse(b []byte) (*Plan, error) {
	if len(b) > mostBytes {
		return nil, fmt.Errorf("%w: size: got %d bytes, want at most %d", ErrPlan, len(b), mostBytes)
	}
	p := &Plan{}
	if err := strict(b, p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if p.Schema != schema {
		return nil, fmt.Errorf("%w: schema: got %q, want %q", ErrPlan, p.Schema, schema)
	}
	id, err := p.digest()
	if err != nil {
		return nil, err
	}
	if id != p.ID {
		return nil, fmt.Errorf("%w: altered after planning: got id %q, want %s", ErrPlan, p.ID, id)
	}
	return p, p.check()
}

// strict decodes one JSON document without unknown keys.
func strict(b []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the document")
	}
	return nil
}

// Encode returns the plan as JSON, always with the same bytes for the same plan.
func (p *Plan) Encode() ([]byte, error) {
	b, err := encode(p)
	if err != nil {
		return nil, ndarray.Wrap("encode plan", p.Target.Location, err)
	}
	return b, nil
}

// encode is json.Marshal that keeps <, > and & of file names and dtypes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// digest returns the ID that belongs to the other fields.
func (p *Plan) digest() (string, error) {
	own := *p
	own.ID = ""
	b, err := encode(own)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// check checks the values of a plan, which may come from an untrusted file.
func (p *Plan) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w", ErrPlan, fmt.Errorf(format, args...))
	}
	if p.ofFiles() {
		return p.checkFiles()
	}
	array, ok := operations[p.Operation]
	if !ok {
		return bad("operation: got %q", p.Operation)
	}
	d, err := ndarray.ParseDType(p.Source.DType)
	if err != nil {
		d = ndarray.DType{Size: 1} // a type without a notation of NumPy; Work compares it with the source
	}
	if err := grid.Check(p.Source.Shape, max(d.Size, 1)); err != nil {
		return bad("source shape: %w", err)
	}
	targets := []string{jsonFormat}
	if array {
		targets = []string{string(hyperslab.B2ND), string(hyperslab.Caterva), string(hyperslab.HDF5)}
	}
	if !slices.Contains(targets, p.Target.Format) {
		return bad("target format of %s: got %q", p.Operation, p.Target.Format)
	}
	if n := len(p.Stages); n < 1 || n > 2 {
		return bad("stages: got %d, want 1 or 2", n)
	}
	if p.Workers < 1 || p.Memory < 1 {
		return bad("limits: got %d workers and %d bytes, want at least 1", p.Workers, p.Memory)
	}
	for i, s := range p.Stages {
		if len(s.Chunks) != len(p.Source.Shape) || len(s.Shard) != len(p.Source.Shape) {
			return bad("stage %d: got %d and %d dimensions, want %d", i+1, len(s.Chunks), len(s.Shard), len(p.Source.Shape))
		}
		for axis, n := range s.Shard {
			if c := s.Chunks[axis]; c < 1 || n < 1 || n%c != 0 && n != p.Source.Shape[axis] {
				return bad("stage %d: dimension %d: shards of %d with chunks of %d", i+1, axis, n, c)
			}
		}
		g, err := grid.New(p.Source.Shape, s.Shard)
		if err != nil {
			return bad("stage %d: %w", i+1, err)
		}
		if n := g.NumChunks(); n != s.Shards {
			return bad("stage %d: got %d shards, want %d", i+1, s.Shards, n)
		}
	}
	if last := p.Stages[len(p.Stages)-1]; p.Target.Chunks != nil && !slices.Equal(last.Chunks, p.Target.Chunks) {
		return bad("chunks of the last stage: got %v, want %v", last.Chunks, p.Target.Chunks)
	}
	return nil
}

// region returns the elements of a shard.
func (s Stage) region(shape []int64, shard int64) ndarray.Region {
	r := ndarray.Region{Start: make([]int64, len(shape)), Shape: make([]int64, len(shape))}
	for i := len(shape) - 1; i >= 0; i-- {
		along := (shape[i]-1)/s.Shard[i] + 1
		r.Start[i] = shard % along * s.Shard[i]
		r.Shape[i] = min(s.Shard[i], shape[i]-r.Start[i])
		shard /= along
	}
	return r
}
