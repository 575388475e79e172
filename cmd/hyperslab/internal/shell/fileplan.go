// Plans of many files: the list of sources that plan writes, the work on a part of it, and the
// publication of the targets.

package shell

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
	"github.com/hyperslab/hyperslab/remote"
)

// FilePlan lets Into list its sources, or process a part of such a list.
type FilePlan struct {
	List   *os.File // gets a line for each source to process; nil: process Lines
	Totals Totals   // of the list; Done are the sources to process

	Lines  []byte
	Result []FileResult // of Lines
}

// plannedFile is a line of a list. The record is without Made; its target is relative to the
// directory, as the address.
type plannedFile struct {
	Bytes   int64    `json:"bytes"`
	Name    fileName `json:"name"` // of the source, as given
	Address fileName `json:"address"`
	doneRecord
}

// FileResult is the result of a line.
type FileResult struct {
	Target fileName   `json:"target"`
	Made   *fileState `json:"made"`             // nil: the source failed
	Partly bool       `json:"partly,omitempty"` // objects of the source were left out
	Error  string     `json:"error,omitempty"`
}

// claims contains the targets of sources, as hashes, because there can be millions.
type claims struct {
	seed maphash.Seed
	seen map[uint64]int64 // offsets of lines of the list
}

func newClaims() *claims { return &claims{maphash.MakeSeed(), make(map[uint64]int64)} }

// claim records a target and the offset of its line, unless a target with the same hash is
// recorded.
func (c *claims) claim(target string, offset int64) {
	h := maphash.String(c.seed, target)
	if _, ok := c.seen[h]; !ok {
		c.seen[h] = offset
	}
}

// owner returns the offset of the line of a target that has the same hash.
func (c *claims) owner(target string) (offset int64, ok bool) {
	offset, ok = c.seen[maphash.String(c.seed, target)]
	return offset, ok
}

// errStop ends the reading of a list.
var errStop = errors.New("stop")

// list writes a line for each source that is to be processed. It keeps none of them in memory.
func (r *into) list(ctx context.Context, stdin io.Reader, args []string) error {
	p, taken, offset := r.app.FilePlan, newClaims(), int64(0)
	out := bufio.NewWriterSize(p.List, 1<<16)
	var problems []error
	err := r.Flags.each(ctx, r.app, stdin, args, func(s Source) error {
		r.totals.Sources++
		x := &item{Outcome: Outcome{Source: s.Name, Status: StatusDone}}
		if x.Err = r.target(ctx, x, &s); x.Err == nil {
			if before, ok := taken.owner(x.file); ok {
				if err := r.taken(out, x, before); err != nil {
					return err
				}
			}
			if x.Err == nil && x.Status == StatusDone {
				r.existing(x)
			}
		}
		switch {
		case x.Err != nil:
			x.Status = StatusFailed
			if r.Flags.keep {
				r.app.complain(r.cmd, x.Err)
			} else if problems = append(problems, x.Err); len(problems) == mostProblems {
				return errStop
			}
		case x.Status == StatusDone:
			taken.claim(x.file, offset)
			n, err := r.writeLine(out, x)
			if err != nil {
				return err
			}
			offset += int64(n)
		}
		r.totals.count(x.Status)
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(problems) > 0 {
		return listProblems(problems)
	}
	p.Totals = r.totals
	return r.listNested(ctx, taken)
}

// mostProblems is the number of conflicts after which no more sources are listed.
const mostProblems = 1000

// writeLine writes the line of a source. It returns the number of bytes.
func (r *into) writeLine(out io.Writer, x *item) (int, error) {
	rel := relativeTo(r.Flags.Into, x.file)
	line, err := json.Marshal(plannedFile{
		Bytes: x.size, Name: fileName(x.Source), Address: fileName(rel + x.Target[len(x.file):]), doneRecord: x.record,
	})
	if err != nil {
		return 0, err
	}
	return out.Write(append(line, '\n'))
}

// taken sets the error of an item whose target another source of the list has. before is the offset
// of the line of that source.
func (r *into) taken(out *bufio.Writer, x *item, before int64) error {
	if err := out.Flush(); err != nil {
		return err
	}
	list := io.NewSectionReader(r.app.FilePlan.List, before, math.MaxInt64-before)
	err := eachLine(bufio.NewReader(list), func(f *plannedFile) error {
		switch {
		case f.Target != x.record.Target: // equal hashes
		case f.Source == x.record.Source:
			x.Status = StatusSkipped // named twice
		default:
			x.Err = conflict(x.file, string(f.Name), x.Source)
		}
		return errStop
	})
	if errors.Is(err, errStop) {
		return nil
	}
	return err
}

// listNested returns an error for targets inside of other ones.
func (r *into) listNested(ctx context.Context, taken *claims) error {
	var problems []error
	err := eachPlanned(r.app.FilePlan.List.Name(), func(f *plannedFile) error {
		for dir := filepath.Dir(string(f.Target)); dir != "."; dir = filepath.Dir(dir) {
			if _, inside := taken.owner(filepath.Join(r.Flags.Into, dir)); inside {
				problems = append(problems, Usagef("the target %s of %s is inside of another target", filepath.Join(r.Flags.Into, string(f.Target)), f.Name))
			}
		}
		if len(problems) >= mostProblems {
			return errStop
		}
		return context.Cause(ctx)
	})
	if len(problems) > 0 {
		return listProblems(problems)
	}
	return err
}

// eachPlanned calls f for each complete line of the list in a file.
func eachPlanned(list string, f func(p *plannedFile) error) error {
	in, err := os.Open(list)
	if err != nil {
		return err
	}
	err = eachLine(bufio.NewReaderSize(in, 1<<16), f)
	return errors.Join(err, in.Close())
}

// eachLine calls f for the lines of a list.
func eachLine(in *bufio.Reader, f func(p *plannedFile) error) error {
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		p := new(plannedFile)
		if err == nil {
			err = json.Unmarshal(line, p)
		}
		if err == nil {
			err = f(p)
		}
		if err != nil {
			return err
		}
	}
}

// part processes the lines of a part of a list. The targets are in the directory of --into.
func (r *into) part(ctx context.Context) error {
	p := r.app.FilePlan
	err := eachLine(bufio.NewReader(bytes.NewReader(p.Lines)), func(f *plannedFile) error {
		x := item{Outcome: Outcome{Source: string(f.Name), Status: StatusDone}, record: f.doneRecord, size: f.Bytes}
		x.Target, x.file = JoinTarget(r.Flags.Into, string(f.Address)), filepath.Join(r.Flags.Into, string(f.Target))
		r.items = append(r.items, x)
		return nil
	})
	if err != nil {
		return err
	}
	r.totals.Sources = JSONInt(len(r.items))
	r.divide()
	_ = r.all(ctx) // the results contain the failures
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range r.items {
		x := &r.items[i]
		if x.Err != nil && !r.Flags.keep {
			return x.Err
		}
		result := FileResult{Target: x.record.Target, Made: x.record.Made, Partly: x.code != nil}
		if x.Err != nil {
			result.Made, result.Error = nil, x.Err.Error()
		}
		p.Result = append(p.Result, result)
	}
	return nil
}

// writePart writes the target of a line. A source that is not the one of the plan fails.
func (r *into) writePart(ctx context.Context, x *item, w *Work) (value any, err error) {
	source := fileOf(x.Source)
	var now fileState
	if remote.IsURL(source) {
		now, err = objectState(ctx, source)
	} else {
		now, err = stateOf(source, x.record.State.Digest != "")
	}
	if err == nil && !now.same(x.record.State) {
		err = fmt.Errorf("%w: got %v, want %v", plan.ErrSource, now, x.record.State)
	}
	if err != nil {
		return nil, ndarray.Wrap("open", source, err)
	}
	if err := os.MkdirAll(filepath.Dir(x.file), 0o777); err != nil {
		return nil, err
	}
	value, err = r.Do(ctx, w)
	if err == nil || onlyCode(err) {
		if changed := r.unchanged(x); changed != nil {
			return value, changed
		}
		made, stateErr := stateOf(x.file, false)
		x.record.Made = &made
		err = errors.Join(err, stateErr)
	}
	return value, err
}

// count adds a source.
func (t *Totals) count(s Status) {
	switch s {
	case StatusDone:
		t.Done++
	case StatusBefore:
		t.Before++
	case StatusSkipped:
		t.Skipped++
	case StatusFailed:
		t.Failed++
	}
}

// Publisher moves the targets of a plan of many files to their directory, and records them as Into
// does.
type Publisher struct {
	app    *App
	cmd    *cobra.Command
	dir    string
	done   *doneFile
	Totals Totals
	Partly int64 // done sources of which objects were left out
}

// NewPublisher returns a publisher of targets to a directory. Another run waits from the first
// Publish to Close.
func (a *App) NewPublisher(cmd *cobra.Command, dir string) *Publisher {
	return &Publisher{app: a, cmd: cmd, dir: dir}
}

// Close releases the directory.
func (p *Publisher) Close() error {
	if p.done == nil {
		return nil
	}
	return p.done.Close()
}

// Complete reports whether the record of the directory has a target of each line of a list, and no
// target and no source has changed since. An earlier commit has then published all of them.
func (p *Publisher) Complete(ctx context.Context, list string) (bool, error) {
	done, err := openDone(ctx, p.dir, "", true)
	if err != nil {
		return false, err
	}
	err = eachPlanned(list, func(x *plannedFile) error {
		target, err := stateOf(filepath.Join(p.dir, string(x.Target)), false)
		if err != nil || !done.judge(&x.doneRecord, target).done {
			return errStop
		}
		return ctx.Err()
	})
	if errors.Is(err, errStop) {
		return false, nil
	}
	return err == nil, err
}

// Publish publishes the targets of some lines from a directory. It reports each source that failed,
// and each target that another program has written meanwhile, and goes on.
func (p *Publisher) Publish(ctx context.Context, lines []byte, from string, result json.RawMessage) error {
	var results []FileResult
	if err := json.Unmarshal(result, &results); err != nil {
		return err
	}
	if p.done == nil {
		done, err := openDone(ctx, p.dir, "", false)
		if err != nil {
			return err
		}
		p.done = done
	}
	i, dirs := 0, map[string]bool{p.dir: true}
	err := eachLine(bufio.NewReader(bytes.NewReader(lines)), func(f *plannedFile) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if i >= len(results) {
			return fmt.Errorf("%w: results: got %d, want one for file %d, %q", plan.ErrReceipt, len(results), i, f.Target)
		}
		if results[i].Target != f.Target {
			return fmt.Errorf("%w: target of result %d of %d: got %q, want %q", plan.ErrReceipt, i, len(results), results[i].Target, f.Target)
		}
		x := &results[i]
		i++
		p.Totals.Sources++
		switch err := p.publish(f, x, from, dirs); {
		case x.Made == nil:
			p.Totals.Failed++
			p.app.complain(p.cmd, fmt.Errorf("%s: %s", f.Name, x.Error))
		case errors.Is(err, fs.ErrExist):
			p.Totals.Failed++
			p.app.complain(p.cmd, err)
		case err != nil:
			return err
		default:
			p.Totals.Done++
			if x.Partly {
				p.Partly++
			}
		}
		return nil
	})
	for dir := range dirs {
		if err == nil {
			err = atomicfile.Sync(dir)
		}
	}
	return err
}

// publish moves one target.
func (p *Publisher) publish(f *plannedFile, x *FileResult, from string, dirs map[string]bool) error {
	record := f.doneRecord
	if x.Made == nil {
		record.Failed = true
		return p.done.write(&record)
	}
	part, to := filepath.Join(from, string(f.Target)), filepath.Join(p.dir, string(f.Target))
	dir := filepath.Dir(to)
	dirs[dir] = true
	replaced := false
	switch now, err := stateOf(to, false); {
	case err == nil && now.same(*x.Made):
		if _, err := os.Lstat(part); errors.Is(err, fs.ErrNotExist) { // of a commit that was stopped
			record.Made = x.Made
			return p.done.write(&record)
		}
		return &ndarray.Error{Op: "create", Path: to, Err: ndarray.ErrExists}
	case err == nil && (f.Was == nil || !now.same(*f.Was)):
		return &ndarray.Error{Op: "create", Path: to, Err: fmt.Errorf("%w, and it was written after the plan", ndarray.ErrExists)}
	case err == nil:
		replaced = true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := p.done.write(&record); err != nil {
		return err
	}
	if info, err := os.Stat(to); replaced && err == nil && info.IsDir() {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	}
	if err := os.Rename(part, to); err != nil {
		return err
	}
	made, err := stateOf(to, false)
	if err != nil {
		return err
	}
	record.Made = &made
	return p.done.write(&record)
}
