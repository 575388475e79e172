// Commands with many inputs: names, patterns and lists, processed one after the other, with a
// summary.

package shell

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// BatchFlags are the flags of commands that take many inputs.
type BatchFlags struct {
	Into      string
	flatten   bool
	existing  string
	checksum  bool
	list      string
	null      bool
	keep      bool
	recursive bool
}

// Add adds the flags of a command that writes targets.
func (b *BatchFlags) Add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&b.Into, "into", "",
		"write targets to the directory `DIR`, in the tree of directories of the sources; all arguments are sources")
	f.BoolVar(&b.flatten, "flatten", false, "with --into: no subdirectories; targets have only the names of their sources")
	f.StringVar(&b.existing, "existing", existingError, "with --into: `ACTION` for a target that exists and that no earlier run wrote from "+
		"the same source: error, skip, update (replace it if the source has changed or is newer), or replace")
	f.BoolVar(&b.checksum, "by-checksum", false, "with --into: detect changes of sources by SHA-256 instead of size and time")
	CompleteWords(cmd, "existing", existingError, existingSkip, existingUpdate, existingReplace)
	RecursiveFlag(cmd, &b.recursive, "a source that is a directory stands for the files in it and in its subdirectories")
	b.AddList(cmd, "also the sources that `FILE` lists, one per line; - is standard input",
		"after a failure go on with the next source; exit code 3 at the end")
}

// Check checks the flags of a command that writes targets.
func (b *BatchFlags) Check(cmd *cobra.Command) error {
	if err := OneOf("--existing", b.existing, existingError, existingSkip, existingUpdate, existingReplace); err != nil {
		return err
	}
	for _, flag := range []string{"flatten", "existing", "by-checksum"} {
		if b.Into == "" && cmd.Flags().Changed(flag) {
			return Usagef("--%s requires --into DIR", flag)
		}
	}
	return nil
}

// CheckOne is Check for a command that takes several sources only with --into.
func (b *BatchFlags) CheckOne(cmd *cobra.Command) error {
	err := b.Check(cmd)
	if err == nil && b.Into == "" && b.Many() {
		err = Usagef("-r and --files-from name many sources: --into DIR is required")
	}
	return err
}

// Many reports whether the flags name sources in addition to the arguments.
func (b *BatchFlags) Many() bool { return b.list != "" || b.recursive }

// AddList adds the flags of a list of sources.
func (b *BatchFlags) AddList(cmd *cobra.Command, list, keep string) {
	f := cmd.Flags()
	f.StringVar(&b.list, "files-from", "", list)
	f.BoolVarP(&b.null, "null", "0", false,
		"the names of --files-from end in a zero byte (find -print0, git ls-files -z) and are not patterns")
	f.BoolVar(&b.keep, "keep-going", false, keep)
}

// Each lets a command that takes one address take several, or a list. Then patterns are expanded.
// It must be called before anything else that wraps cmd.RunE.
func (a *App) Each(cmd *cobra.Command) { a.each(cmd, nil, nil) }

// EachFile is Each for a command that reads several addresses at the same time: do writes the
// output of one to standard output of its Work. -j and --memory of job are divided among them.
func (a *App) EachFile(cmd *cobra.Command, job *JobFlags, do func(ctx context.Context, w *Work) error) {
	a.each(cmd, job, do)
}

func (a *App) each(cmd *cobra.Command, job *JobFlags, do func(ctx context.Context, w *Work) error) {
	var b BatchFlags
	b.AddList(cmd, "also the addresses that `FILE` lists, one per line; - is standard input",
		"after a failure go on with the next address; exit code 3 at the end")
	if cmd.Flags().Lookup("recursive") == nil && cmd.Name() != "tree" { // whose users mean the levels of a file
		RecursiveFlag(cmd, &b.recursive, "an address that is a directory stands for the files in it and in its subdirectories")
	}
	run := cmd.RunE
	cmd.Args = b.Arity
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if b.list == "" && !b.recursive && !several(args) {
			switch {
			case b.keep:
				return Usagef("--keep-going needs several addresses or --files-from")
			case b.null:
				return Usagef("-0 (--null) requires --files-from")
			}
			return run(cmd, args)
		}
		data := slices.ContainsFunc([]string{"json", "ndjson", "csv", "npy", "ddl", "meta"}, cmd.Flags().Changed)
		begin := func(to *App, source string) error {
			if data {
				return nil
			}
			_, err := fmt.Fprintf(to.Stdout, "%s\n", to.Data.Heading("==> "+term.Safe(source)+" <=="))
			return err
		}
		if do == nil {
			return a.Batch(cmd, args, &b, false, func(source string) error {
				if err := begin(a, source); err != nil {
					return err
				}
				return run(cmd, []string{source})
			})
		}
		if _, err := job.Check(); err != nil {
			return err
		}
		files := *job
		files.Quiet = false
		_, err := a.Files(cmd, args, &Into{
			Flags: &b, Job: &files, Lines: a.Lines, Report: func(*Outcome) error { return nil },
			Do: func(ctx context.Context, w *Work) (any, error) {
				if err := begin(w.App, w.Source); err != nil {
					return nil, err
				}
				return nil, do(ctx, w)
			},
		})
		return err
	}
}

// several reports whether args are several addresses, or a pattern of them. Two arguments are one
// address, FILE and /path, unless the second is the address of a file that exists.
func several(args []string) bool {
	if len(args) != 2 {
		return len(args) > 2 || len(args) == 1 && expandable(args[0])
	}
	if remote.IsURL(args[1]) {
		return true
	}
	loc, err := locate.Parse(args[1])
	if err != nil {
		return false
	}
	_, err = os.Lstat(loc.File)
	return err == nil
}

// BatchHelp ends the long help of commands with these flags.
const BatchHelp = `

Sources may be patterns (*, ?, [ ], and ** for any directories) that the shell did not
expand, also with a path and a selection, for example 'in/**/*.h5:/t[0]'. The first
failure ends the run, unless --keep-going; what was finished stays.`

// IntoHelp ends the long help of commands that write many targets.
const IntoHelp = `

--into DIR keeps the tree of directories of the sources: below a directory (-r), below the
part of a pattern before the first wildcard, or below the common directory of the named
files. Conflicts of names are found before anything is written. DIR/.hyperslab-done lists
the finished sources: a later run with the same flags does the rest, and those that have
changed with --existing update. -j also divides files.` + BatchHelp

// Arity requires a source, unless there is a list.
func (b *BatchFlags) Arity(cmd *cobra.Command, args []string) error {
	if b.list != "" {
		return nil
	}
	return Arity(1, -1)(cmd, args)
}

// ArityOr is Arity with --into. Otherwise it requires from least to most arguments.
func (b *BatchFlags) ArityOr(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if b.Into != "" {
			return b.Arity(cmd, args)
		}
		return Arity(least, most)(cmd, args)
	}
}

// Batch calls do for each source. For several sources it ends with a line that counts the
// successful ones.
func (a *App) Batch(cmd *cobra.Command, args []string, b *BatchFlags, quiet bool, do func(source string) error) error {
	list, err := b.sources(cmd.Context(), a, cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	sources := make([]string, len(list))
	for i := range list {
		sources[i] = list[i].Name
	}
	a.Secrets.Of(sources) // those of a list
	done := 0
	var failed []error
	for i, source := range sources {
		err := cmp.Or(cmd.Context().Err(), list[i].Err)
		if err == nil {
			err = do(source)
		}
		if err == nil {
			done++
			continue
		}
		if ctxErr := cmd.Context().Err(); !b.keep || ctxErr != nil || errors.Is(err, context.Canceled) || len(sources) == 1 {
			before := fmt.Sprintf("%d of %s done before", done, term.Plural(int64(len(sources)), "source"))
			switch {
			case done == 0:
				return err
			case onlyCode(err):
				return &ExitError{Code: ExitPartly, Err: SummaryError(before)}
			}
			return &ExitError{Code: ExitPartly, Err: fmt.Errorf("%w\n  %s", err, before)}
		}
		if !onlyCode(err) {
			a.complain(cmd, err)
		}
		failed = append(failed, err)
	}
	switch {
	case len(failed) > 0:
		code := ExitPartly
		if done == 0 {
			code = exitCode(failed[0])
		}
		return &ExitError{Code: code, Err: SummaryError(fmt.Sprintf("%d of %s failed", len(failed),
			term.Plural(int64(len(sources)), "source")))}
	case len(sources) > 1 && !quiet:
		a.Note("%s done", term.Plural(int64(done), "source"))
	}
	return nil
}

// mostSources is the maximum number of names in a list, so that an endless list does not fill the
// memory.
const mostSources = 16 << 20

// sources returns all sources in the arguments and the list, with expanded patterns and, with
// --recursive, the files in directories.
func (b *BatchFlags) sources(ctx context.Context, a *App, stdin io.Reader, args []string) (out []Source, err error) {
	err = b.each(ctx, a, stdin, args, func(s Source) error {
		out = append(out, s)
		return nil
	})
	return out, err
}

// each calls visit for the sources, as sources returns them. The files in directories are not kept
// in memory.
func (b *BatchFlags) each(ctx context.Context, a *App, stdin io.Reader, args []string, visit func(s Source) error) error {
	if b.null && b.list == "" {
		return Usagef("-0 (--null) requires --files-from")
	}
	names := slices.Clone(args)
	if b.list != "" {
		more, err := b.readList(ctx, stdin, len(names))
		if err != nil {
			return err
		}
		names = append(names, more...)
	}
	isDir := func(name string) bool { return b.recursive && !remote.IsURL(name) && HoldsFiles(name) }
	isPattern := func(i int) bool { return !(b.null && i >= len(args)) && expandable(names[i]) }
	named, at := []Source{}, make([]int, len(names)) // sources that are named one by one, and their indexes
	for i, name := range names {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if at[i] = -1; !isDir(name) && !isPattern(i) {
			at[i], named = len(named), append(named, Source{Name: name})
		}
	}
	if err := placeNamed(named); err != nil {
		return err
	}
	count := 0
	one := func(s Source) error { count++; return visit(s) }
	for i, name := range names {
		var err error
		switch {
		case at[i] >= 0:
			err = one(named[at[i]])
		case isDir(name):
			err = a.FilesIn(ctx, name, b.Into, one)
		default:
			err = expand(ctx, name, one)
		}
		if err != nil {
			return err
		}
	}
	if count == 0 {
		return Usagef("no sources are named")
	}
	return nil
}

// HoldsFiles reports whether a name is that of a directory that is neither an array nor a
// container.
func HoldsFiles(name string) bool {
	if info, err := os.Stat(name); err != nil || !info.IsDir() {
		return false
	}
	is, err := detect.Content(name)
	return is == detect.Directory || errors.Is(err, ndarray.ErrFormat)
}

// readList reads the names of --files-from. before is the number of names so far.
func (b *BatchFlags) readList(ctx context.Context, stdin io.Reader, before int) (names []string, err error) {
	r := stdin
	if b.list != "-" {
		f, err := openInput(ctx, b.list)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	lines := bufio.NewScanner(Stoppable(ctx, r))
	if b.null {
		lines.Split(zeroEnded)
	}
	for count := 0; lines.Scan(); count++ {
		if count%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if before+len(names) > mostSources {
			return nil, Usagef("--files-from %s: more than %d names", b.list, mostSources)
		}
		name := lines.Text()
		if !b.null {
			name = strings.TrimSuffix(name, "\r")
		}
		if name != "" {
			names = append(names, name)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, Usagef("--files-from %s: a name of more than %d bytes; -0 is for lists whose names end in a zero byte", b.list,
			bufio.MaxScanTokenSize)
	} else if err != nil {
		return nil, err
	}
	return names, nil
}

// zeroEnded is a split function like bufio.ScanLines for names that end with a zero byte.
func zeroEnded(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return at + 1, data[:at], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
