// Commands that write many sources to a directory: the targets keep the tree of directories, a
// later run continues, and several files are written at the same time.

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// Values of --existing.
const (
	existingError   = "error"
	existingSkip    = "skip"
	existingUpdate  = "update"
	existingReplace = "replace"
)

// Status is the result of one source.
type Status string

// The results of sources.
const (
	StatusDone    Status = "done"
	StatusBefore  Status = "done before" // by an earlier run
	StatusSkipped Status = "skipped"     // the target exists
	StatusFailed  Status = "failed"
)

// Work is the work on one source.
type Work struct {
	*App    // writes the messages about the source
	Source  string
	Target  string // address, under which the target may be written first
	Name    string // address of the target
	Workers int
	Memory  int64 // bytes of buffers
	Replace bool  // an existing target is replaced
}

// Outcome is the result of one source.
type Outcome struct {
	Source string
	Target string // "" if it could not be determined
	Status Status
	Err    error
	Value  any // from Into.Do; nil unless it was called
}

// Totals counts sources by their results.
type Totals struct {
	Sources JSONInt `json:"sources"`
	Done    JSONInt `json:"done"`
	Before  JSONInt `json:"done_before"`
	Skipped JSONInt `json:"skipped"`
	Failed  JSONInt `json:"failed"`
}

// Sum returns the number of sources that were reported.
func (t *Totals) Sum() int64 { return int64(t.Done + t.Before + t.Skipped + t.Failed) }

// Into is a run over the sources of a command whose targets are in a directory.
type Into struct {
	Flags  *BatchFlags
	Job    *JobFlags
	Force  bool // as --existing replace
	DryRun bool
	Lines  bool // Report is called as soon as a source is finished, and not in the order of the sources

	// Target returns the address of the target of a source, whose file is in the directory.
	Target func(ctx context.Context, s *Source) (string, error)

	// Do writes the target of a source. It is called from several goroutines.
	Do func(ctx context.Context, w *Work) (any, error)

	// Report is called for each source, one after the other, after its messages are written.
	Report func(o *Outcome) error
}

// item is a source of a run.
type item struct {
	Outcome
	record  doneRecord
	file    string // of the target
	size    int64
	exists  bool
	replace bool
	doubt   bool  // the target exists, and is compared with a new one
	code    error // an error that contains only an exit code, and is no failure
}

// into is the state of a run.
type into struct {
	*Into
	app    *App
	cmd    *cobra.Command
	items  []item
	done   *doneFile // nil if the directory is at a URL
	totals Totals

	reads          bool // there are no targets; after a failure that ends the run, no later source is reported
	alone          bool // the only source, whose work writes to the output of the command
	workers, files int  // goroutines for each file, and files at the same time
	progress       *filesProgress
}

// Into writes the targets of many sources. It finds conflicts before it writes anything.
func (a *App) Into(cmd *cobra.Command, args []string, run *Into) (totals Totals, err error) {
	ctx, flags := cmd.Context(), run.Flags
	if run.Force {
		flags.existing = existingReplace
	}
	r := &into{Into: run, app: a, cmd: cmd}
	if a.FilePlan != nil && a.FilePlan.List == nil {
		err = r.part(ctx)
		return r.totals, err
	}
	var sources []Source
	if a.FilePlan == nil {
		if sources, err = flags.sources(ctx, a, cmd.InOrStdin(), args); err != nil {
			return totals, err
		}
	}
	r.items = make([]item, len(sources))
	r.totals.Sources = JSONInt(len(sources))
	if !remote.IsURL(flags.Into) {
		if r.done, err = openDone(ctx, flags.Into, optionsOf(cmd), run.DryRun || a.FilePlan != nil); err != nil {
			return totals, err
		}
		defer func() { err = errors.Join(err, r.done.Close()) }()
	} else if flags.existing == existingSkip || flags.existing == existingUpdate {
		return totals, Usagef("--existing %s: the targets are objects at a URL, of which no record is kept", flags.existing)
	}
	if a.FilePlan != nil {
		err = r.list(ctx, cmd.InOrStdin(), args)
		return r.totals, err
	}
	if err := r.plan(ctx, sources); err != nil {
		return totals, err
	}
	r.divide()
	err = r.all(ctx)
	return r.totals, err
}

// plan determines the target of each source and what happens to it. A conflict is a failure of its
// source with --keep-going, and otherwise the error of the run.
func (r *into) plan(ctx context.Context, sources []Source) error {
	targets := make(map[string]int, len(sources))
	for i := range sources {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x := &r.items[i]
		x.Source, x.Status = sources[i].Name, StatusDone
		if err := r.target(ctx, x, &sources[i]); err != nil {
			x.Status, x.Err = StatusFailed, err
			continue
		}
		if before, twice := targets[x.file]; twice {
			x.Status, x.Err = StatusFailed, conflict(x.file, r.items[before].Source, x.Source)
			if x.record.Source == r.items[before].record.Source {
				x.Status, x.Err = StatusSkipped, nil // named twice
			}
			continue
		}
		targets[x.file] = i
	}
	var problems []error
	for i := range r.items {
		x := &r.items[i]
		for dir := filepath.Dir(x.file); x.file != "" && len(dir) > len(r.Flags.Into); dir = filepath.Dir(dir) {
			if above, inside := targets[dir]; inside && above != i {
				x.Status, x.Err = StatusFailed, Usagef("the target %s of %s is inside of that of %s", x.file, x.Source, r.items[above].Source)
			}
		}
		if x.Err == nil && x.Status == StatusDone {
			r.existing(x)
		}
		if x.Err != nil && x.file != "" && (errors.Is(x.Err, fs.ErrExist) || isUsage(x.Err)) {
			problems = append(problems, x.Err)
		}
	}
	if len(problems) > 0 && !r.Flags.keep {
		return listProblems(problems)
	}
	return nil
}

// isUsage reports whether err is a mistake in the command line.
func isUsage(err error) bool {
	_, is := errors.AsType[*usageError](err)
	return is
}

// target sets the target of a source.
func (r *into) target(ctx context.Context, x *item, s *Source) (err error) {
	if s.Err != nil {
		return s.Err
	}
	file := fileOf(s.Name)
	if r.done != nil && !remote.IsURL(file) {
		if x.record.State, err = stateOf(file, r.Flags.checksum); err != nil {
			return ndarray.Wrap("open", file, err)
		}
		x.size = x.record.State.Size
		abs, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		x.record.Source = fileName(abs + s.Name[len(file):])
	} else {
		x.record.Source = fileName(remote.Redact(s.Name))
		if r.done != nil {
			if x.record.State, err = objectState(ctx, file); err != nil {
				return err
			}
			x.size = x.record.State.Size
		}
	}
	if r.Flags.flatten {
		s.Rel = filepath.Base(s.Rel)
	}
	if x.Target, err = r.Target(ctx, s); err != nil {
		return err
	}
	loc, err := locate.Parse(x.Target)
	if err != nil {
		return err
	}
	x.file = loc.File
	if r.done == nil {
		return nil
	}
	abs, err := filepath.Abs(x.file)
	if err == nil && strings.HasPrefix(abs, strings.TrimSuffix(string(x.record.Source), "/")+"/") {
		err = Usagef("the target %s is inside of its source %s", x.file, s.Name)
	}
	x.record.Target, x.record.Options = fileName(relativeTo(r.Flags.Into, x.file)), r.done.options
	return err
}

// existing decides what happens to a source whose target exists.
func (r *into) existing(x *item) {
	if r.done == nil {
		x.replace = r.Flags.existing == existingReplace
		return
	}
	if _, err := os.Lstat(x.file); errors.Is(err, fs.ErrNotExist) {
		return
	}
	was, err := stateOf(x.file, false)
	if err != nil {
		x.Status, x.Err = StatusFailed, err
		return
	}
	x.exists, x.record.Was = true, &was
	v := r.done.judge(&x.record, was)
	switch mode := r.Flags.existing; {
	case mode == existingReplace:
		x.replace = true
	case v.done:
		if x.doubt = v.doubt; !v.doubt || r.DryRun {
			x.Status = StatusBefore
		}
	case mode == existingSkip:
		x.Status = StatusSkipped
	case mode == existingUpdate && (v.stale || x.record.State.Time > was.Time):
		x.replace = true
	case mode == existingUpdate:
		x.Status = StatusSkipped
	default:
		x.Status = StatusFailed
		x.Err = &ndarray.Error{Op: "create", Path: x.file, Err: fmt.Errorf("%w, and %s", ndarray.ErrExists, v.why)}
	}
}

// divide determines how many files are written at the same time, each by how many goroutines.
func (r *into) divide() {
	todo := 0
	for i := range r.items {
		if r.items[i].Status == StatusDone {
			todo++
		}
	}
	jobs := Goroutines(r.Job.Jobs)
	r.files = max(min(jobs, todo), 1)
	if r.Job.Given { // a chunk needs its share of the memory
		r.files = max(min(r.files, int(r.Job.Limit/leastShare)), 1)
	}
	r.workers = max(jobs/r.files, 1)
}

// leastShare is the memory of each file with --memory, unless it is the only one.
const leastShare = 128 << 20

// all does the work, and reports it in the order of the sources.
func (r *into) all(ctx context.Context) error {
	r.progress = newFilesProgress(r)
	next, stop := make(chan int), make(chan struct{})
	finished := make(chan *finishedItem)
	var group sync.WaitGroup
	for range r.files {
		group.Go(func() {
			for i := range next {
				finished <- r.one(ctx, i)
			}
		})
	}
	go func() {
		defer close(next)
		for i := range r.items {
			select {
			case <-ctx.Done():
				return
			case <-stop:
				return
			case next <- i:
			}
		}
	}()
	go func() { group.Wait(); close(finished) }()
	w := &reporter{into: r, waiting: map[int]*finishedItem{}, stop: sync.OnceFunc(func() { close(stop) })}
	for f := range finished {
		w.add(f)
	}
	w.flush()
	r.progress.finish()
	return w.result(ctx)
}

// finishedItem is an item with its messages and the standard output of its work.
type finishedItem struct {
	*item
	at               int
	messages, output []byte
}

// one does the work on an item.
func (r *into) one(ctx context.Context, at int) *finishedItem {
	x := &r.items[at]
	f := &finishedItem{item: x, at: at}
	if x.Status != StatusDone {
		return f
	}
	out := &fileOutput{progress: r.progress, size: x.size}
	app := r.app
	if !r.alone {
		app = r.app.child(out, x.Source)
	}
	w := &Work{App: app, Source: x.Source, Target: x.Target, Name: x.Target, Workers: r.workers, Replace: x.replace,
		Memory: max(r.Job.Limit/int64(r.files), 1)}
	x.Value, x.Err = r.write(ctx, x, w)
	if onlyCode(x.Err) {
		x.code, x.Err = x.Err, nil
	}
	if x.Err != nil {
		x.Status = StatusFailed
	}
	f.messages, f.output = out.text.Bytes(), out.output.Bytes()
	r.progress.fileDone(out)
	return f
}

// write writes the target of an item, and records it.
func (r *into) write(ctx context.Context, x *item, w *Work) (value any, err error) {
	if r.app.FilePlan != nil {
		return r.writePart(ctx, x, w)
	}
	if r.DryRun || r.done == nil {
		return r.Do(ctx, w)
	}
	if err := os.MkdirAll(filepath.Dir(x.file), 0o777); err != nil {
		return nil, err
	}
	if x.doubt {
		return nil, r.recheck(ctx, x, w)
	}
	if err := r.done.write(&x.record); err != nil {
		return nil, err
	}
	value, err = r.Do(ctx, w)
	if err == nil || onlyCode(err) {
		if changed := r.unchanged(x); changed != nil {
			err = changed
		}
	}
	record := x.record
	made, stateErr := stateOf(x.file, false)
	if err != nil && !onlyCode(err) {
		written := stateErr == nil && !(x.exists && made.same(*x.record.Was)) && !errors.Is(err, fs.ErrExist)
		if written && ctx.Err() != nil {
			return value, err // as after a kill
		}
		record.Failed, stateErr = true, nil
		if written {
			record.Made = &made
		}
	} else if stateErr == nil {
		record.Made = &made
	}
	if stateErr == nil {
		stateErr = r.done.write(&record)
	}
	if stateErr != nil {
		err = errors.Join(err, stateErr)
	}
	return value, err
}

// recheck writes a target again under another name and compares it with the existing one, which a
// run that was interrupted or another program has written. Targets do not depend on their names.
func (r *into) recheck(ctx context.Context, x *item, w *Work) (err error) {
	dir, base := filepath.Split(x.file)
	ext := filepath.Ext(base)
	again := *w
	name := filepath.Join(dir, "."+strings.TrimSuffix(base, ext)+".tmp-check"+ext)
	again.Target = name + w.Target[len(x.file):]
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(name)) }()
	_, err = r.Do(ctx, &again)
	if err != nil && !onlyCode(err) {
		return err
	}
	if changed := r.unchanged(x); changed != nil {
		return changed
	}
	same, sameErr := sameTree(name, x.file)
	if sameErr != nil {
		return sameErr
	}
	if !same {
		return &ndarray.Error{Op: "create", Path: x.file,
			Err: fmt.Errorf("%w, and it is not the target of the run that was interrupted", ndarray.ErrExists)}
	}
	x.Status = StatusBefore
	made, stateErr := stateOf(x.file, false)
	if stateErr != nil {
		return stateErr
	}
	record := x.record
	record.Was, record.Made = nil, &made
	return errors.Join(err, r.done.write(&record))
}

// sameTree reports whether two files, or all files of two directories, have the same bytes.
func sameTree(a, b string) (bool, error) {
	x, err := stateOf(a, true)
	if err != nil {
		return false, err
	}
	y, err := stateOf(b, true)
	return err == nil && x.Size == y.Size && x.Digest == y.Digest, err
}

// unchanged returns an error if a source changed while it was read.
func (r *into) unchanged(x *item) error {
	source := fileOf(x.Source)
	if remote.IsURL(source) || SameFile(source, x.file) { // the target may be the source
		return nil
	}
	now, err := stateOf(source, false)
	if was := (fileState{Size: x.record.State.Size, Time: x.record.State.Time}); err == nil && now.same(was) {
		return nil
	}
	return errors.Join(fmt.Errorf("%w while it was read: %s", regularfile.ErrReplaced, x.Source), r.discard(x))
}

// discard removes a new target whose source changed while it was read. One that replaced an older
// target stays.
func (r *into) discard(x *item) error {
	if x.exists {
		return fmt.Errorf("the target %s has parts of both versions; write it again", x.file)
	}
	return os.RemoveAll(x.file)
}

// reporter reports items in order.
type reporter struct {
	*into
	waiting map[int]*finishedItem
	next    int
	stop    func()
	failed  []error
	end     error // the failure that ends the run
	codes   error // the first exit code without an error
}

func (w *reporter) add(f *finishedItem) {
	if f.Err != nil && !w.Flags.keep {
		w.stop()
	}
	if w.Lines {
		w.report(f)
		return
	}
	w.waiting[f.at] = f
	for w.waiting[w.next] != nil && !(w.reads && w.end != nil) {
		w.report(w.waiting[w.next])
		delete(w.waiting, w.next)
		w.next++
	}
}

// flush reports the items after one that was not started.
func (w *reporter) flush() {
	if w.reads && w.end != nil {
		return
	}
	rest := make([]int, 0, len(w.waiting))
	for at := range w.waiting {
		rest = append(rest, at)
	}
	slices.Sort(rest)
	for _, at := range rest {
		w.report(w.waiting[at])
	}
}

func (w *reporter) report(f *finishedItem) {
	w.progress.pause(func() {
		if len(f.messages) > 0 {
			_, _ = w.app.Stderr.Write(f.messages)
		}
		if err := w.write(f); err != nil && f.Err == nil {
			f.Err, f.Status = err, StatusFailed
		}
		alone := len(w.items) == 1
		if f.Err != nil && w.Flags.keep && !alone && !errors.Is(f.Err, context.Canceled) {
			w.app.complain(w.cmd, f.Err)
		}
	})
	w.totals.count(f.Status)
	if f.Status == StatusFailed {
		w.failed = append(w.failed, f.Err)
		if w.end == nil && !w.Flags.keep {
			w.end = f.Err
		}
	}
	if w.codes == nil {
		w.codes = f.code
	}
}

// write writes the output of an item and reports it.
func (w *reporter) write(f *finishedItem) error {
	if len(f.output) > 0 {
		if _, err := w.app.Stdout.Write(f.output); err != nil {
			return err
		}
	}
	return w.Report(&f.Outcome)
}

// result writes the totals and returns the error of the run.
func (w *reporter) result(ctx context.Context) error {
	all := term.Plural(int64(len(w.items)), "source")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.end != nil && (w.totals.Done == 0 || len(w.items) == 1):
		return w.end
	case w.end != nil:
		return &ExitError{Code: ExitPartly, Err: fmt.Errorf("%w\n  %d of %s done%s", w.end, w.totals.Done, all, w.totals.Others())}
	case len(w.failed) > 0 && len(w.items) == 1:
		return w.failed[0]
	case len(w.failed) > 0:
		code := ExitPartly
		if w.totals.Done+w.totals.Before+w.totals.Skipped == 0 {
			code = exitCode(w.failed[0])
		}
		return &ExitError{Code: code, Err: SummaryError(fmt.Sprintf("%d of %s failed%s", len(w.failed), all, w.totals.Others()))}
	}
	if !w.Job.Quiet && (len(w.items) > 1 || w.totals.Done == 0) {
		verb := "done"
		if w.DryRun {
			verb = "to do"
		}
		w.app.Note("%s %s%s", term.Plural(int64(w.totals.Done), "source"), verb, w.totals.Others())
	}
	return w.codes
}

// Others describes the sources that needed no work.
func (t *Totals) Others() (text string) {
	if t.Before > 0 {
		text += fmt.Sprintf(", %d done before", t.Before)
	}
	if t.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	return text
}

// child returns an App that writes messages to w, for work beside that of other children.
func (a *App) child(w *fileOutput, about string) *App {
	c := &App{
		Lines: a.Lines, About: about, Stdout: &w.output, Stderr: w, Secrets: a.Secrets, Color: a.Color, width: a.width, Data: a.Data, Talk: a.Talk,
		Isolation: a.Isolation, Access: a.Access, Plugins: a.Plugins, Remote: a.Remote,
	}
	c.Name.Store(a.Name.Load())
	return c
}

// fileOutput collects the messages about a file. The meters of its work report their progress to
// it.
type fileOutput struct {
	progress *filesProgress
	size     int64
	output   bytes.Buffer // to standard output

	mu   sync.Mutex
	text bytes.Buffer
	part int64 // bytes of size that are done
}

// Write implements io.Writer.
func (o *fileOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// Part implements term.Parts.
func (o *fileOutput) Part(done, total int64) {
	o.progress.add(o, int64(term.Share(min(done, total), total)*float64(o.size)))
}

// filesProgress is the progress of all files.
type filesProgress struct {
	meter *term.Meter

	mu    sync.Mutex
	done  int64 // bytes of sources
	files int64
	total int64 // files
}

func newFilesProgress(r *into) *filesProgress {
	p := &filesProgress{}
	bytes := int64(0)
	for i := range r.items {
		if r.items[i].Status == StatusDone {
			bytes += r.items[i].size
			p.total++
		}
	}
	kind := r.Job.Progress
	if r.alone {
		kind = term.ProgressNone // the work shows its own
	}
	if len(r.items) == 1 && kind == term.ProgressAuto {
		p.total = 0 // a bar without the number of files
	}
	p.meter = term.NewMeter(kind, r.app.Stderr, r.cmd.Name(), bytes, time.Now)
	return p
}

// add sets the bytes of a file that are done.
func (p *filesProgress) add(o *fileOutput, part int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if part > o.part {
		p.done += part - o.part
		o.part = part
		p.meter.UpdateFiles(p.done, p.files, p.total)
	}
}

// fileDone counts a file.
func (p *filesProgress) fileDone(o *fileOutput) {
	p.add(o, o.size)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files++
	p.meter.UpdateFiles(p.done, p.files, p.total)
}

// pause calls write, which writes lines above a bar.
func (p *filesProgress) pause(write func()) { p.meter.Above(write) }

func (p *filesProgress) finish() { p.meter.Finish() }
