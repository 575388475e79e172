// The operations verify, stats and checksum, whose target is a JSON document.

package plan

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/internal/grid/boxes"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// mostFindings is the number of findings of one shard that are listed.
const mostFindings = 100

// finding is a chunk that cannot be decoded.
type finding struct {
	Start []int64 `json:"start"` // first element of the chunk
	Shape []int64 `json:"shape"`
	Error string  `json:"error"`
}

// result is the result of one shard; the operation decides which fields are set.
type result struct {
	Chunks   int64     `json:"chunks"`
	Corrupt  int64     `json:"corrupt"`  // verify: number of chunks that cannot be decoded
	Findings []finding `json:"findings"` // … and the first of them
	SHA256   string    `json:"sha256"`   // checksum: digest of the digests of all chunks
	Summary  []byte    `json:"summary"`  // stats
}

// examine does a shard of verify, stats or checksum.
func (p *Plan) examine(ctx context.Context, part *ndarray.Array, box ndarray.Region, o *WorkOptions) (json.RawMessage, error) {
	var r result
	var err error
	if p.Operation == "stats" {
		var s ndarray.Summary
		s, err = ndarray.Summarize(ctx, part, &ndarray.WorkOptions{Workers: o.Workers, Memory: p.Memory, Progress: o.Progress})
		if err == nil {
			r.Summary, err = s.MarshalBinary()
		}
	} else {
		err = p.chunks(ctx, part, box, o, &r)
	}
	if err != nil {
		return nil, err
	}
	return encode(r)
}

// chunks reads each chunk of a shard.
func (p *Plan) chunks(ctx context.Context, part *ndarray.Array, box ndarray.Region, o *WorkOptions, r *result) error {
	last := p.Stages[len(p.Stages)-1]
	stage := Stage{Chunks: last.Chunks, Shard: last.Chunks}
	r.Chunks = 1
	for i, n := range box.Shape {
		r.Chunks *= grid.DivUp(n, last.Chunks[i])
	}
	size := int64(part.DType().Size)
	most, _ := grid.Product(clip(last.Chunks, box.Shape))
	workers := max(1, min(int64(o.Workers), p.Memory/(most*size), r.Chunks))
	uniform, err := part.Uniform(ctx)
	if err != nil && (p.Operation != "verify" || !corrupt(err)) { // verify reports the error of each chunk
		return err
	}
	var sums [][sha256.Size]byte
	if p.Operation == "checksum" {
		sums = make([][sha256.Size]byte, r.Chunks)
	}
	var mu sync.Mutex
	progress := ndarray.Progress{TotalBytes: part.NBytes(), TotalUnits: r.Chunks}
	next := int64(0)
	group, gctx := errgroup.WithContext(ctx)
	for range workers {
		group.Go(func() error {
			buf := make([]byte, most*size)
			known := make(map[string][sha256.Size]byte) // digests of chunks of equal elements
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if n >= r.Chunks {
					return nil
				}
				at := stage.region(box.Shape, n)
				b := buf[:at.NumElems()*size]
				same := uniform != nil && uniform(at)
				err := read(gctx, part, b, at, same)
				if err != nil && (p.Operation != "verify" || !corrupt(err)) {
					return err
				}
				if sums != nil {
					sums[n] = digestOf(b, same, int(size), known)
				}
				mu.Lock()
				if err != nil {
					r.Corrupt++
					for i := range at.Start {
						at.Start[i] += box.Start[i]
					}
					r.Findings = append(r.Findings, finding{at.Start, at.Shape, err.Error()})
				}
				progress.DoneBytes += int64(len(b))
				progress.DoneUnits++
				if o.Progress != nil {
					o.Progress(progress)
				}
				mu.Unlock()
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	slices.SortFunc(r.Findings, func(a, b finding) int { return slices.Compare(a.Start, b.Start) })
	r.Findings = r.Findings[:min(len(r.Findings), mostFindings)]
	if p.Operation == "checksum" {
		h := sha256.New()
		for i := range sums {
			h.Write(sums[i][:]) // a hash.Hash returns no errors
		}
		r.SHA256 = hex.EncodeToString(h.Sum(nil))
	}
	return nil
}

// read reads a region, or only its first element if all elements are known to be equal.
func read(ctx context.Context, a *ndarray.Array, dst []byte, at ndarray.Region, same bool) error {
	if same {
		at = ndarray.Region{Start: at.Start, Shape: slices.Repeat([]int64{1}, len(at.Start))}
		dst = dst[:a.DType().Size]
	}
	return a.ReadRegion(ctx, dst, at, 1)
}

// mostKnown is the maximum number of digests of chunks of equal elements that are kept.
const mostKnown = 1 << 10

// digestOf returns the SHA-256 of the elements b of a chunk. If they are the same, only the first
// one is set, and the digest is computed once for each value and number of elements.
func digestOf(b []byte, same bool, size int, known map[string][sha256.Size]byte) [sha256.Size]byte {
	if !same {
		return sha256.Sum256(b)
	}
	key := fmt.Sprintf("%d %x", len(b), b[:size])
	sum, ok := known[key]
	if !ok {
		boxes.Repeat(b, b[:size])
		sum = sha256.Sum256(b)
		if len(known) < mostKnown {
			known[key] = sum
		}
	}
	return sum
}

// corrupt reports whether err is an error of the file's content, and not of the system.
func corrupt(err error) bool {
	return errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, ndarray.ErrFormat)
}

// outcome is the document of verify, stats and checksum. Fields of other operations are null.
type outcome struct {
	Schema    string    `json:"schema"`
	Plan      string    `json:"plan"`
	Operation string    `json:"operation"`
	Source    string    `json:"source"`
	Shape     []int64   `json:"shape"`
	DType     string    `json:"dtype"`
	Chunks    *int64    `json:"chunks"`
	Corrupt   *int64    `json:"corrupt"`
	Findings  []finding `json:"findings"`

	ChunkShape []int64 `json:"chunk_shape"` // of checksum, whose digest depends on both
	ShardShape []int64 `json:"shard_shape"`
	SHA256     *string `json:"sha256"`

	Count *int64          `json:"count"`
	NaNs  *int64          `json:"nans"`
	Min   json.RawMessage `json:"min"`
	Max   json.RawMessage `json:"max"`
	Sum   json.RawMessage `json:"sum"`
	Mean  json.RawMessage `json:"mean"`
	Std   json.RawMessage `json:"std"`
}

// conclude merges the results of all shards, in their order, and writes the document.
func (p *Plan) conclude(ctx context.Context, dtype ndarray.DType, receipts map[int64]*receipt) (err error) {
	last := p.Stages[len(p.Stages)-1]
	doc := outcome{
		Schema: "hyperslab.plan.result/1", Plan: p.ID, Operation: p.Operation, Source: p.Source.Location,
		Shape: p.Source.Shape, DType: p.Source.DType,
	}
	var summary ndarray.Summary
	var chunks, broken int64
	h := sha256.New()
	for shard := range last.Shards {
		var r result
		if err := strict(receipts[shard].Result, &r); err != nil {
			return fmt.Errorf("%w: result of shard %d: %w", ErrReceipt, shard, err)
		}
		chunks, broken = chunks+r.Chunks, broken+r.Corrupt
		doc.Findings = append(doc.Findings, r.Findings...)
		sum, err := hex.DecodeString(r.SHA256)
		if err != nil {
			return fmt.Errorf("%w: digest of shard %d: %w", ErrReceipt, shard, err)
		}
		h.Write(sum) // a hash.Hash returns no errors
		if p.Operation != "stats" {
			continue
		}
		part := ndarray.Summary{DType: dtype}
		if err := part.UnmarshalBinary(r.Summary); err != nil {
			return fmt.Errorf("%w: summary of shard %d: %w", ErrReceipt, shard, err)
		}
		if shard == 0 {
			summary = part
		} else if err := summary.Merge(part); err != nil {
			return fmt.Errorf("%w: summary of shard %d: %w", ErrReceipt, shard, err)
		}
	}
	switch p.Operation {
	case "verify":
		doc.Chunks, doc.Corrupt = &chunks, &broken
	case "checksum":
		digest := hex.EncodeToString(h.Sum(nil))
		doc.Chunks, doc.SHA256, doc.ChunkShape, doc.ShardShape = &chunks, &digest, last.Chunks, last.Shard
	case "stats":
		doc.summarize(&summary)
	}
	b, err := encode(doc)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, b, "", "  "); err != nil {
		return err
	}
	text.WriteByte('\n')
	return p.writeOutcome(ctx, text.Bytes())
}

// writeOutcome publishes the document, unless an earlier Commit that was stopped has published it.
func (p *Plan) writeOutcome(ctx context.Context, content []byte) (err error) {
	url := p.Target.Location
	if urlfile.IsURL(url) {
		err = exclusive(ctx, url, urlfile.Upload{Content: content})
	} else {
		err = createFile(ctx, url, content)
	}
	if errors.Is(err, fs.ErrExist) {
		return p.concluded(ctx)
	}
	return err
}

// concluded returns ndarray.ErrExists unless the existing document is the result of the plan.
func (p *Plan) concluded(ctx context.Context) error {
	var b []byte
	var err error
	if url := p.Target.Location; urlfile.IsURL(url) {
		b, err = urlfile.Get().Read(ctx, url, mostBytes)
	} else {
		b, err = os.ReadFile(url)
	}
	var doc outcome
	if err == nil {
		err = strict(b, &doc)
	}
	if err != nil {
		return fmt.Errorf("%w, and it is not the result of the plan: %w", ndarray.ErrExists, err)
	}
	if doc.Plan != p.ID {
		return fmt.Errorf("%w: result of plan %.12s, want %.12s", ndarray.ErrExists, doc.Plan, p.ID)
	}
	return nil
}

// summarize sets the fields of stats. Infinities and NaN are strings, because JSON has no such
// numbers.
func (d *outcome) summarize(s *ndarray.Summary) {
	number := func(exact *big.Int, v float64) json.RawMessage {
		if exact != nil {
			return json.RawMessage(exact.String())
		}
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if _, err := strconv.ParseInt(text[len(text)-1:], 10, 64); err != nil { // NaN, +Inf and -Inf
			text = strconv.Quote(text)
		}
		return json.RawMessage(text)
	}
	d.Count, d.NaNs = &s.Count, &s.NaNs
	d.Sum = number(s.ExactSum, s.Sum)
	if s.Count > 0 {
		d.Min, d.Max = number(s.MinInt, s.Min), number(s.MaxInt, s.Max)
		d.Mean, d.Std = number(nil, s.Mean), number(nil, s.Std)
	}
}
