// Tests of writers, whose files the reference library reads.

package crosscheck

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cblosc"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/chunk"
)

// specSchema is the version of the format of a Spec.
const specSchema = "hyperslab.crosscheck.spec/1"

// Spec describes a file that a writer must write: its elements, and the facts in Must. The writer
// may choose the compression. Params contains the parameters of the reference's vector, which the
// writer may use.
type Spec struct {
	Schema string            `json:"schema"`
	Case   string            `json:"case"`
	Area   string            `json:"area"`
	Object string            `json:"object,omitempty"` // as in a Case: the object that must contain the elements
	Data   string            `json:"data"`             // file with the elements, in the form of a case's decoded bytes
	DType  string            `json:"dtype,omitempty"`
	Shape  []int64           `json:"shape"`
	Item   int               `json:"item"`
	Must   map[string]any    `json:"must"` // further facts that the reference must find, by area
	Params map[string]string `json:"params,omitempty"`
}

// written is the content of a file as the reference reads it: its elements and the facts of
// Spec.Must.
type written struct {
	data  []byte
	facts map[string]any
}

// readWritten reads a file of an area with the reference library.
func readWritten(area, path, object, name string) (w *written, err error) {
	w = &written{}
	switch area {
	case "chunk", "blosc1":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c, err := chunk.Parse(b)
		if err != nil {
			return nil, err
		}
		if int(c.CBytes) != len(b) {
			return nil, fmt.Errorf("size of the chunk: got %d bytes, want %d as in the header", len(b), c.CBytes)
		}
		d, err := cblosc.NewDecompressor(nil)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		if w.data, err = decodeChunk(d, &c.Header, b); err != nil {
			return nil, err
		}
		w.facts = map[string]any{"typesize": c.ItemSize(), "header": c.Size()}
	case "frame":
		if w.data, err = decodeFrame(path); err != nil {
			return nil, err
		}
		if f := openVariable(path); f != nil {
			w.facts = map[string]any{"typesize": int(f.TypeSize), "chunksize": 0, "chunks": f.NumChunks()}
			return w, f.Close()
		}
		s, err := cblosc.OpenSChunk(path)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		meta, err := hexMap(s.Meta())
		if err != nil {
			return nil, err
		}
		vlmeta, err := hexMap(s.VLMeta())
		if err != nil {
			return nil, err
		}
		w.facts = map[string]any{"typesize": s.TypeSize(), "chunksize": s.ChunkSize(), "chunks": s.NumChunks(), "meta": meta, "vlmeta": vlmeta}
	case "b2nd", "caterva":
		if w.data, err = decodeArray(path); err != nil {
			return nil, err
		}
		a, err := cblosc.OpenArrayWith(path, cblosc.OpenOptions{Allow: trusted})
		if err != nil {
			return nil, err
		}
		defer a.Close()
		w.facts = map[string]any{"shape": a.Shape(), "chunks": a.ChunkShape(), "blocks": a.Blocks(), "dtype": a.DType(), "itemsize": a.ItemSize()}
	case "metalayer":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m, err := b2ndmeta.Parse(name, b)
		if err != nil {
			return nil, err
		}
		w.data, err = metalayerText(m)
		return w, err
	case "bcolz":
		s, err := loadBcolz(path, object)
		if err != nil {
			return nil, err
		}
		w.data = s.read(bcolzMisread{})
		w.facts = map[string]any{"shape": s.array.Sizes.Shape, "dtype": s.array.Storage.DType.Text}
	case "store":
		x, err := decodeStore(path, object)
		if err != nil {
			return nil, err
		}
		w.data, w.facts = x.data, x.facts
	case "hdf5":
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := checkHDF5(b); err != nil { // check an untrusted file before libhdf5 reads it
			return nil, err
		}
		x, err := decodeHDF5(path, object)
		if err != nil {
			return nil, err
		}
		w.data = x.data
		w.facts = map[string]any{"shape": append([]int64{}, x.shape...), "dtype": x.dtype, "item": x.item}
	default:
		return nil, fmt.Errorf("no area %q", area)
	}
	return w, nil
}

func hexMap(layers *cblosc.Metalayers) (map[string]string, error) {
	m := make(map[string]string)
	for l, err := range layers.All() {
		if err != nil {
			return nil, err
		}
		m[l.Name] = hex.EncodeToString(l.Content)
	}
	return m, nil
}

// writable reports whether a case is a task for a writer: its elements are specified and lossless,
// and the file does not need other files. In a container only arrays are written.
func writable(c Case) bool {
	return c.Must == Accept && c.Decoded.SHA256 != "" && !c.Decoded.Lossy && len(c.Beside) == 0 && (c.Area != "store" || c.Metadata["kind"] == "array")
}

// newSpec returns the spec of a case, and its elements, from the vector.
func newSpec(dir string, c Case) (*Spec, []byte, error) {
	w, err := readWritten(c.Area, filepath.Join(dir, filepath.FromSlash(c.Path)), c.Object, c.Params["name"])
	if err != nil {
		return nil, nil, fmt.Errorf("crosscheck: %s: %w", c.ID, err)
	}
	if hexSum(w.data) != c.Decoded.SHA256 {
		return nil, nil, fmt.Errorf("crosscheck: %s: the vector has changed", c.ID)
	}
	return &Spec{
		Schema: specSchema, Case: c.ID, Area: c.Area, Object: c.Object, DType: c.Decoded.DType, Shape: c.Decoded.Shape, Item: c.Decoded.Item,
		Must: w.facts, Params: c.Params,
	}, w.data, nil
}

// judgeWritten reads a file that a writer made from a spec, and sets the verdict. Three judges must
// accept the file: the reference library, the readers in plain Go, and hyperslab.Verify.
func judgeWritten(ctx context.Context, res *Result, s *Spec, data []byte, out string) {
	got, err := readWritten(s.Area, out, s.Object, s.Params["name"])
	if errors.Is(err, os.ErrNotExist) && !exists(out) {
		res.Verdict, res.Detail = Refused, "the command succeeded without output"
		return
	}
	if err != nil {
		res.Verdict, res.Detail = Unreadable, err.Error()
		return
	}
	if !bytes.Equal(got.data, data) {
		x := explainWritten(s, got.data, data, out)
		res.Verdict, res.Explanation = Wrong, x
		res.Detail = firstLine(x.String())
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Must)) {
		if is, want := fmt.Sprint(got.facts[name]), fmt.Sprint(s.Must[name]); is != want {
			res.Verdict, res.Detail = Wrong, fmt.Sprintf("%s: %s, want %s", name, is, want)
			return
		}
	}
	if err := validWritten(ctx, s, out); err != nil {
		res.Verdict, res.Detail = Unreadable, err.Error()
		return
	}
	res.Verdict = Pass
}

// validWritten returns the first error that the readers in plain Go or hyperslab.Verify find in a
// file that the reference reads.
func validWritten(ctx context.Context, s *Spec, out string) error {
	root, err := annotate(out, Case{Area: s.Area, Params: s.Params})
	if err != nil {
		return err
	}
	for path, f := range root.Complaints() {
		// A valid file may have a codec that only trusted files may have, or files of a bcolz array
		// that was longer.
		if strings.Contains(f.Complaint, format.ErrUnsupported.Error()) || strings.HasPrefix(f.Complaint, "left over") {
			continue
		}
		return fmt.Errorf("the readers in plain Go: %s: %s", path, f.Complaint)
	}
	switch s.Area {
	case "chunk", "blosc1", "metalayer": // not a file that Verify supports
		return nil
	}
	r, err := hyperslab.Verify(ctx, out, &hyperslab.VerifyOptions{Workers: 1})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	for _, f := range r.Findings {
		return fmt.Errorf("verify: %v", f)
	}
	return nil
}

// explainWritten explains why the reference reads got from a file that a writer made of data. It
// treats data as the result of a reader with the same mistake.
func explainWritten(s *Spec, got, data []byte, out string) *Explanation {
	c := Case{ID: s.Case, Area: s.Area, Object: s.Object, Params: s.Params, Decoded: &Decoded{Item: s.Item}}
	x, err := explainFile(out, c, data)
	if err != nil || x.Offset < 0 { // the file cannot be analysed
		x = difference(got, data, s.Item)
		x.Stage = "written"
		return x
	}
	x.Got, x.Want, x.GotSize, x.WantSize = x.Want, x.Got, x.WantSize, x.GotSize
	x.Stage = "written, " + x.Stage
	if x.Rule != "" {
		x.Rule = "the result would be right if " + x.Rule
	}
	return x
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// task writes the spec and the elements of a case into the directory scratch, and returns the path
// of the spec and of the file to write.
func task(dir string, c Case, scratch string) (s *Spec, data []byte, spec, out string, err error) {
	if s, data, err = newSpec(dir, c); err != nil {
		return nil, nil, "", "", err
	}
	s.Data = filepath.Join(scratch, "data")
	spec, out = filepath.Join(scratch, "spec.json"), filepath.Join(scratch, "out")
	text, err := json.MarshalIndent(s, "", " ")
	if err == nil {
		err = os.Mkdir(scratch, 0o755)
	}
	if err == nil {
		err = errors.Join(os.WriteFile(s.Data, data, 0o644), os.WriteFile(spec, append(text, '\n'), 0o644))
	}
	if err != nil {
		err = fmt.Errorf("crosscheck: %w", err)
	}
	return s, data, spec, out, err
}

// runWrite runs the Write command for one case.
func runWrite(ctx context.Context, dir string, c Case, scratch string, o *RunOptions) (Result, error) {
	res := Result{Case: c.ID, Area: c.Area, Direction: Writing}
	s, data, spec, out, err := task(dir, c, scratch)
	if err != nil {
		return res, err
	}
	if execute(ctx, o, o.Write, map[string]string{"{spec}": spec, "{out}": out, "{object}": c.Object, "{area}": c.Area}, &res) {
		judgeWritten(ctx, &res, s, data, out)
	}
	return res, nil
}

// write asks the adapter to write the file of a case. It reports false if the adapter skips it.
func (a *adapter) write(ctx context.Context, dir string, c Case, scratch string) (Result, bool, error) {
	res := Result{Case: c.ID, Area: c.Area, Direction: Writing}
	if err := unchanged(dir, c); err != nil {
		return res, true, err
	}
	s, data, spec, out, err := task(dir, c, scratch)
	if err != nil {
		return res, true, err
	}
	if s.Data, err = filepath.Abs(s.Data); err != nil {
		return res, true, fmt.Errorf("crosscheck: %w", err)
	}
	shape := make([]string, len(s.Shape))
	for i, n := range s.Shape {
		shape[i] = fmt.Sprint(n)
	}
	start := time.Now()
	answer, failed, detail := a.ask(ctx, "write", s.Data, out, c.Area, c.Object, s.DType, fmt.Sprint(s.Item), strings.Join(shape, ","), spec)
	res.Time = time.Since(start)
	switch {
	case failed != "":
		res.Verdict, res.Detail = failed, detail
	case answer[0] == "skip":
		return res, false, nil
	case answer[0] == "crash":
		res.Verdict, res.Detail = Crash, field(answer, 1)
	case answer[0] == "refused":
		res.Verdict, res.Detail = Refused, field(answer, 1)
	default:
		judgeWritten(ctx, &res, s, data, out)
	}
	return res, true, nil
}
