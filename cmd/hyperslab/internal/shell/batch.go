// Commands with many inputs: names, patterns and lists, processed one after the other, with a
// summary.

package shell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/remote"
)

// BatchFlags are the flags of commands that take many inputs.
type BatchFlags struct {
	Into string
	list string
	null bool
	keep bool
}

// Add adds the flags to a command.
func (b *BatchFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&b.Into, "into", "",
		"write targets to the directory `DIR` under the names of their sources; all arguments are sources")
	b.AddList(cmd, "also the sources that `FILE` lists, one per line; - is standard input",
		"after a failure go on with the next source; exit code 3 at the end")
}

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
func (a *App) Each(cmd *cobra.Command) {
	var b BatchFlags
	b.AddList(cmd, "also the addresses that `FILE` lists, one per line; - is standard input",
		"after a failure go on with the next address; exit code 3 at the end")
	run := cmd.RunE
	cmd.Args = b.Arity
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if b.list == "" && !several(args) {
			switch {
			case b.keep:
				return Usagef("--keep-going needs several addresses or --files-from")
			case b.null:
				return Usagef("-0 (--null) requires --files-from")
			}
			return run(cmd, args)
		}
		data := slices.ContainsFunc([]string{"json", "ndjson", "csv", "npy", "ddl", "meta"}, cmd.Flags().Changed)
		return a.Batch(cmd, args, &b, false, func(source string) error {
			if !data {
				if _, err := fmt.Fprintf(a.Stdout, "%s\n", a.Data.Heading("==> "+term.Safe(source)+" <==")); err != nil {
					return err
				}
			}
			return run(cmd, []string{source})
		})
	}
}

// several reports whether args are several addresses. Two arguments are one address, FILE and
// /path, unless the second is the address of a file that exists.
func several(args []string) bool {
	if len(args) != 2 {
		return len(args) > 2
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

Sources may be patterns (*, ? and [ ]) that the shell did not expand. The first failure
ends the run, unless --keep-going; what was finished stays.`

// Arity requires a source, unless there is a list.
func (b *BatchFlags) Arity(cmd *cobra.Command, args []string) error {
	if b.list != "" {
		return nil
	}
	return Arity(1, -1)(cmd, args)
}

// Batch calls do for each source. For several sources it ends with a line that counts the
// successful ones.
func (a *App) Batch(cmd *cobra.Command, args []string, b *BatchFlags, quiet bool, do func(source string) error) error {
	sources, err := b.sources(cmd.Context(), cmd.InOrStdin(), args)
	if err != nil {
		return err
	}
	a.Secrets.Of(sources) // those of a list
	done := 0
	var failed []error
	for _, source := range sources {
		err := cmd.Context().Err()
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

// sources returns all names in the arguments and the list, with expanded patterns.
func (b *BatchFlags) sources(ctx context.Context, stdin io.Reader, args []string) ([]string, error) {
	if b.null && b.list == "" {
		return nil, Usagef("-0 (--null) requires --files-from")
	}
	names := slices.Clone(args)
	var literal []string // names that are not patterns
	if b.list != "" {
		more, err := b.readList(ctx, stdin, len(names))
		if err != nil {
			return nil, err
		}
		if b.null {
			literal = more
		} else {
			names = append(names, more...)
		}
	}
	var out []string
	for _, name := range names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, err := os.Lstat(name); err == nil || remote.IsURL(name) || !strings.ContainsAny(name, "*?[") {
			out = append(out, name)
			continue
		}
		found, err := expand(name)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if out = append(out, literal...); len(out) == 0 {
		return nil, Usagef("no sources are named")
	}
	return out, nil
}

// expand returns the names that a pattern matches, which a selection may follow.
func expand(name string) ([]string, error) {
	found, err := glob(name)
	location, selection := SplitSelection(name)
	if err == nil && len(found) == 0 && selection != "" { // the brackets are a selection, not a pattern
		if found, err = glob(location); len(found) == 0 && !strings.ContainsAny(location, "*?[") {
			found = []string{location}
		}
		for i := range found {
			found[i] += selection
		}
	}
	if err != nil {
		return nil, Usagef("%s: %w", name, err)
	}
	if len(found) == 0 {
		return nil, Usagef("%s matches no file", name)
	}
	return found, nil
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

// glob expands the pattern of a file, which a path inside the file may follow.
func glob(pattern string) ([]string, error) {
	found, err := filepath.Glob(pattern)
	at := strings.LastIndex(pattern, ":/")
	if len(found) > 0 || err != nil || at < 0 {
		return found, err
	}
	found, err = filepath.Glob(pattern[:at])
	for i := range found {
		found[i] += pattern[at:]
	}
	return found, err
}
