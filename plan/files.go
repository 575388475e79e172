// Plans of many files: each shard is a part of a list of files.

package plan

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// filesFormat is the Format of the source and the target of a plan of many files.
const filesFormat = "files"

// fileOperations are the operations of plans of many files.
var fileOperations = []string{"convert", "repack", "copy", "recover", "index"}

// mostShardFiles is the maximum number of files of a shard, so that its receipt stays small.
const mostShardFiles = 1000

// fileMemory is the projected memory for the metadata of a file, for each worker.
const fileMemory = 16 << 20

// NewFiles plans a command of the program hyperslab for many files, whose targets are in the
// directory dst. list is a file with a line for each of them, a JSON object that the program
// defines; its key "bytes" is the size of the source. NewFiles reads the list twice and keeps none
// of it in memory. command is the command with its flags. Of o only ShardBytes, Memory and Workers
// apply. Work and Commit call WorkOptions.Files and WorkOptions.Publish.
//
// It returns ErrParam for an empty list, another operation and invalid options,
// errors.ErrUnsupported for a URL, and the errors of reading the list.
func NewFiles(ctx context.Context, operation, list, dst string, command []string, o *Options) (*Plan, error) {
	p, err := newFiles(ctx, operation, list, dst, command, o)
	if err != nil {
		return nil, ndarray.Wrap("plan", dst, err)
	}
	return p, nil
}

func newFiles(ctx context.Context, operation, list, dst string, command []string, options *Options) (*Plan, error) {
	var o Options
	if options != nil {
		o = *options
	}
	switch {
	case !slices.Contains(fileOperations, operation):
		return nil, fmt.Errorf("%w: operation of many files: got %q, want one of %q", ndarray.ErrParam, operation, fileOperations)
	case urlfile.IsURL(dst) || urlfile.IsURL(list):
		return nil, fmt.Errorf("%w: a plan of many files with URLs; list and targets must be in a file system", errors.ErrUnsupported)
	case o.ShardBytes < 0 || o.Memory < 0 || o.Workers < 0:
		return nil, fmt.Errorf("%w: %d bytes of a shard, %d bytes of memory, %d workers", ndarray.ErrParam, o.ShardBytes, o.Memory, o.Workers)
	}
	p := &Plan{
		Schema: schema, Operation: operation, Command: command, Target: Target{Location: dst, Format: filesFormat},
		Source:  Source{Location: list, Format: filesFormat, Chunks: []int64{1}},
		Workers: cmp.Or(o.Workers, defaultWorkers), Memory: cmp.Or(o.Memory, defaultMemory),
	}
	h, n := sha256.New(), int64(0)
	err := eachLine(ctx, list, func(_ int64, line []byte) error {
		var file struct {
			Bytes int64 `json:"bytes"`
		}
		if err := json.Unmarshal(line, &file); err != nil {
			return fmt.Errorf("%w: %s: line %d: %w", ndarray.ErrParam, list, n+1, err)
		}
		n, p.Source.Bytes, p.Source.Stored = n+1, p.Source.Bytes+file.Bytes, p.Source.Stored+int64(len(line))
		h.Write(line)
		return nil
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s lists no files", ndarray.ErrParam, list)
	}
	if err != nil {
		return nil, err
	}
	p.Source.Shape, p.Source.Files, p.Source.Digest = []int64{n}, n, hex.EncodeToString(h.Sum(nil))
	mean := max(p.Source.Bytes/n, 1)
	shard := min(max(cmp.Or(o.ShardBytes, defaultShardBytes)/mean, 1), mostShardFiles, n)
	p.Stages = []Stage{stage(p.Source.Shape, []int64{1}, []int64{shard})}
	at := int64(0)
	err = eachLine(ctx, list, func(offset int64, _ []byte) error {
		if at%shard == 0 {
			p.Source.Offsets = append(p.Source.Offsets, offset)
		}
		at++
		return nil
	})
	if err != nil {
		return nil, err
	}
	p.ReadBytes, p.Passes = p.Source.Bytes, 1
	p.ProcessMemory = p.Memory + int64(p.Workers)*fileMemory + programMemory
	if p.ID, err = p.digest(); err != nil {
		return nil, err
	}
	return p, p.check()
}

// eachLine calls f for each line of a file, with its end.
func eachLine(ctx context.Context, file string, f func(offset int64, line []byte) error) (err error) {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	r, offset := bufio.NewReaderSize(in, 1<<16), int64(0)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s: the last line is incomplete", ndarray.ErrParam, file)
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if err := f(offset, line); err != nil {
			return err
		}
		offset += int64(len(line))
	}
}

// ofFiles reports whether the plan is of many files.
func (p *Plan) ofFiles() bool { return p.Source.Format == filesFormat }

// checkFiles checks the values of a plan of many files.
func (p *Plan) checkFiles() error {
	n := int64(0)
	if len(p.Source.Shape) == 1 {
		n = p.Source.Shape[0]
	}
	switch {
	case !slices.Contains(fileOperations, p.Operation):
		return fmt.Errorf("%w: operation of many files: got %q, want one of %q", ErrPlan, p.Operation, fileOperations)
	case n < 1, len(p.Stages) != 1, len(p.Command) == 0, p.Target.Format != filesFormat:
		return fmt.Errorf("%w: got %d files, %d stages, the command %q and a target of format %q, want at least one file, one stage, a command and %q",
			ErrPlan, n, len(p.Stages), p.Command, p.Target.Format, filesFormat)
	case p.Workers < 1 || p.Memory < 1:
		return fmt.Errorf("%w: limits: got %d workers and %d bytes, want at least 1", ErrPlan, p.Workers, p.Memory)
	}
	s := p.Stages[0]
	if len(s.Shard) != 1 || s.Shard[0] < 1 {
		return fmt.Errorf("%w: files of a shard: got %v, want one number of at least 1", ErrPlan, s.Shard)
	}
	if want := (n-1)/s.Shard[0] + 1; s.Shards != want || int64(len(p.Source.Offsets)) != want {
		return fmt.Errorf("%w: %d files in shards of %d: got %d shards and %d offsets, want %d of each", ErrPlan, n, s.Shard[0], s.Shards,
			len(p.Source.Offsets), want)
	}
	if p.Source.Offsets[0] != 0 || !slices.IsSorted(p.Source.Offsets) || p.Source.Offsets[s.Shards-1] > p.Source.Stored {
		return fmt.Errorf("%w: offsets of shards are not in ascending order within %d bytes", ErrPlan, p.Source.Stored)
	}
	return nil
}

// openList opens the list of files. It returns ErrSource if the list is not the one of the plan.
func (p *Plan) openList(ctx context.Context) (list *os.File, err error) {
	f, err := os.Open(p.Source.Location)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	h, buf := sha256.New(), make([]byte, 1<<18)
	for {
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != p.Source.Digest {
		return nil, fmt.Errorf("%w: SHA-256 of %s: got %s, want %s", ErrSource, p.Source.Location, got, p.Source.Digest)
	}
	return f, nil
}

// lines returns the lines of a shard in the list that openList opened.
func (p *Plan) lines(list *os.File, shard int64) ([]byte, error) {
	first, end := p.Source.Offsets[shard], p.Source.Stored
	if shard+1 < int64(len(p.Source.Offsets)) {
		end = p.Source.Offsets[shard+1]
	}
	lines, err := io.ReadAll(io.NewSectionReader(list, first, end-first))
	if err != nil {
		return nil, err
	}
	want := p.Stages[0].region(p.Source.Shape, shard).Shape[0]
	if n := int64(bytes.Count(lines, []byte{'\n'})); n != want {
		return nil, fmt.Errorf("%w: lines of shard %d: got %d, want %d", ErrPlan, shard, n, want)
	}
	return lines, nil
}

// workFiles does a shard of a plan of many files. After an error there is no part.
func (p *Plan) workFiles(ctx context.Context, s store, r *receipt, o *WorkOptions) (err error) {
	if o.Files == nil {
		return fmt.Errorf("%w: a plan of many files in a program without WorkOptions.Files; hyperslab work does it", errors.ErrUnsupported)
	}
	list, err := p.openList(ctx)
	if err != nil {
		return err
	}
	lines, err := p.lines(list, r.Shard)
	if err := errors.Join(err, list.Close()); err != nil {
		return err
	}
	name := partName(r.Stage, r.Shard) + attempt()
	path := s.location(name)
	if err := os.Mkdir(path, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(context.WithoutCancel(ctx), name))
		}
	}()
	r.Part = name
	r.Result, err = o.Files(ctx, lines, path)
	return err
}

// commitFiles publishes the files of all shards, one shard after the other.
func (p *Plan) commitFiles(ctx context.Context, s store, o *WorkOptions) (err error) {
	if o.Publish == nil {
		return fmt.Errorf("%w: a plan of many files in a program without WorkOptions.Publish; hyperslab commit does it", errors.ErrUnsupported)
	}
	if err := p.complete(ctx, s); err != nil {
		return err
	}
	list, err := p.openList(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, list.Close()) }()
	for shard := range p.Stages[0].Shards {
		r, err := p.receipt(ctx, s, 1, shard)
		if err != nil {
			return err
		}
		lines, err := p.lines(list, shard)
		if err != nil {
			return err
		}
		if err := o.Publish(ctx, lines, s.location(r.Part), r.Result); err != nil {
			return err
		}
	}
	return s.removeAll(ctx)
}
