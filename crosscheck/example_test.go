package crosscheck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/hyperslab/hyperslab/crosscheck"
)

// exampleVectors writes the vectors of the smallest area.
func exampleVectors() (dir string, m *crosscheck.Manifest, remove func()) {
	tmp, err := os.MkdirTemp("", "crosscheck-example-")
	if err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(tmp, "vectors")
	if m, err = crosscheck.Emit(context.Background(), dir, &crosscheck.Options{Areas: []string{"metalayer"}}); err != nil {
		log.Fatal(err)
	}
	return dir, m, func() { os.RemoveAll(tmp) }
}

func ExampleAreas() {
	fmt.Println(crosscheck.Areas()[:3])
	// Output: [chunk blosc1 frame]
}

func ExampleEmit() {
	tmp, err := os.MkdirTemp("", "crosscheck-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	m, err := crosscheck.Emit(context.Background(), filepath.Join(tmp, "vectors"), &crosscheck.Options{Areas: []string{"metalayer"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Cases) > 50, m.Cases[0].ID)
	// Output: true metalayer/b2nd-rank00
}

func ExampleArchive() {
	var b bytes.Buffer
	m, err := crosscheck.Archive(context.Background(), &b, &crosscheck.Options{Small: true, Areas: []string{"metalayer"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Cases) > 50, string(b.Bytes()[:2]))
	// Output: true PK
}

func ExampleLoad() {
	dir, _, remove := exampleVectors()
	defer remove()
	m, err := crosscheck.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Schema, m.Areas())
	// Output: hyperslab.crosscheck/1 [metalayer]
}

func ExampleDecode() {
	dir, m, remove := exampleVectors()
	defer remove()
	want, err := crosscheck.Decode(dir, m.Cases[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(want))
	// Output: {"version":0,"shape":[7],"chunks":[7],"blocks":[3],"dtype_format":0,"dtype":"|S7"}
}

func ExampleJudge() {
	dir, m, remove := exampleVectors()
	defer remove()
	fmt.Println(crosscheck.Judge(dir, m.Cases[0], nil, errors.New("not supported")).Verdict)
	fmt.Println(crosscheck.Judge(dir, m.Cases[0], []byte("{}"), nil).Verdict)
	// Output:
	// refused
	// wrong
}

func ExampleExplain() {
	dir, m, remove := exampleVectors()
	defer remove()
	x, err := crosscheck.Explain(dir, m.Cases[0], []byte("{}"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Offset, x.GotSize)
	// Output: 1 2
}

func ExampleRun() {
	dir, _, remove := exampleVectors()
	defer remove()
	// A program that refuses every file is right for the invalid ones only.
	r, err := crosscheck.Run(context.Background(), dir, crosscheck.RunOptions{Read: "false {in} {out}", Only: "metalayer/b2nd-rank00"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.OK(), r.Results[0].Verdict)
	for _, g := range r.Groups() {
		fmt.Println(g.First.Verdict, g.Cases)
	}
	// Output:
	// false refused
	// refused [metalayer/b2nd-rank00]
}

// An adapter serves many cases, and its failures become pages for the authors of the library.
func ExampleReport_WriteUpstream() {
	ctx := context.Background()
	o := crosscheck.RunOptions{Adapter: "python3 adapter.py"}
	r, err := crosscheck.Run(ctx, "vectors", o)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WriteUpstream(ctx, "vectors", o, "reports"); err != nil {
		log.Fatal(err)
	}
}

// This is a complete test of a reader of frames. The skipped case is one that the reader does not
// support.
func ExampleReader() {
	_ = func(t *testing.T) { // func TestReader(t *testing.T)
		crosscheck.Reader(t, "frame", func(r crosscheck.Request) ([]byte, error) {
			return nil, errors.ErrUnsupported // call the reader here
		}, "frame/sparse/special-uninit")
	}
}

// A reader of numbers answers with float64.
func ExampleRequest_FromFloat64() {
	r := crosscheck.Request{DType: ">i2", Item: 2, BigEndian: true}
	b, err := r.FromFloat64([]float64{1, -2})
	fmt.Println(b, err)
	_, err = r.FromFloat64([]float64{0.5})
	fmt.Println(err)
	// Output:
	// [0 1 255 254] <nil>
	// crosscheck: element 0: 0.5 is not a number of dtype >i2
}

func ExampleRequest_FromLittle() {
	r := crosscheck.Request{DType: ">i2", Item: 2, BigEndian: true}
	b, err := r.FromLittle([]byte{1, 0, 2, 0})
	fmt.Println(b, err)
	// Output: [0 1 0 2] <nil>
}

func ExampleCodec() {
	_ = func(t *testing.T) { // func TestCodec(t *testing.T)
		crosscheck.Codec(t, decode)
	}
}

func ExampleWriter() {
	_ = func(t *testing.T) { // func TestWriter(t *testing.T)
		crosscheck.Writer(t, "chunk", func(s crosscheck.Spec, data []byte, out string) error {
			return errors.ErrUnsupported // call the writer here
		})
	}
}
