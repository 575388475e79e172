// Plans of many files: plan, work and commit run the command of the plan with a list of sources.

package publish

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// fileCommands are the operations on many files, with their commands.
var fileCommands = map[string]string{"convert": "convert", "repack": "repack", "copy": "cp", "recover": "recover", "index": "index"}

// listExt is appended to the name of a plan for the list of its files.
const listExt = ".files"

// ownFlags are the flags of plan that are not flags of the command of the plan.
var ownFlags = []string{"json", "output", "jobs", "compact", "shard-bytes"}

// sourceFlags are the flags that select the sources of a plan. The command of a shard has none of
// them.
var sourceFlags = []string{"into", "recursive", "files-from", "null", "existing", "by-checksum", "flatten"}

// planFiles plans an operation on many files. more are flags of the command in addition to those of
// plan.
func (j *planJob) planFiles(cmd *cobra.Command, args []string, more ...string) (err error) {
	ctx, operation, sources := cmd.Context(), args[0], args[1:]
	command, ok := fileCommands[operation]
	if !ok {
		return shell.Usagef("%s: a plan of many files can be of convert, repack, copy, recover or index", operation)
	}
	if j.out == "" {
		return shell.Usagef("a plan of many files consists of PLAN and PLAN%s: -o PLAN is required", listExt)
	}
	bytes, err := j.shardBytes()
	if err != nil {
		return err
	}
	if _, err := j.convert.Job.Check(); err != nil {
		return err
	}
	flags, err := j.flags(cmd, command)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(j.out); err == nil {
		return &ndarray.Error{Op: "create", Path: j.out, Err: ndarray.ErrExists}
	}
	list := j.out + listExt
	out, err := atomicfile.Create(ctx, list, atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer func() {
		if !out.Committed() {
			err = errors.Join(err, out.Abort())
		}
	}()
	f, err := os.Create(out.Path())
	if err != nil {
		return err
	}
	files := &shell.FilePlan{List: f}
	if err := errors.Join(runFiles(j.App, cmd, slices.Concat([]string{command}, flags, more), sources, files), f.Close()); err != nil {
		return err
	}
	if files.Totals.Done == 0 {
		j.Note("0 sources to process%s", files.Totals.Others())
		return nil
	}
	kept := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		return slices.Contains(sourceFlags, name)
	})
	if err := out.Commit(); err != nil {
		return err
	}
	p, err := plan.NewFiles(ctx, operation, list, filepath.Clean(j.batch.Into), slices.Concat([]string{command}, kept), &plan.Options{
		ShardBytes: bytes, Memory: j.convert.Job.Limit, Workers: j.convert.Job.Jobs,
	})
	if err == nil {
		err = j.write(ctx, p)
	}
	if err != nil {
		return errors.Join(err, os.Remove(list))
	}
	j.Note("%s to process%s", term.Plural(int64(files.Totals.Done), "source"), files.Totals.Others())
	if files.Totals.Failed > 0 {
		return &shell.ExitError{Code: shell.ExitPartly, Err: shell.SummaryError(fmt.Sprintf("%d of %s left out", files.Totals.Failed,
			term.Plural(int64(files.Totals.Sources), "source")))}
	}
	return nil
}

// flags returns the flags of a command that were given to plan.
func (j *planJob) flags(cmd *cobra.Command, command string) (flags []string, err error) {
	sub, _, err := cmd.Root().Find([]string{command})
	if err != nil {
		return nil, err
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case slices.Contains(ownFlags, f.Name), cmd.Root().PersistentFlags().Lookup(f.Name) != nil:
		case sub.Flags().Lookup(f.Name) == nil:
			err = errors.Join(err, shell.Usagef("--%s does not apply to a plan of files for %s", f.Name, command))
		default:
			if list, ok := f.Value.(pflag.SliceValue); ok {
				for _, v := range list.GetSlice() {
					flags = append(flags, "--"+f.Name+"="+v)
				}
				return
			}
			flags = append(flags, "--"+f.Name+"="+f.Value.String())
		}
	})
	return flags, err
}

// runFiles runs a command with its flags for a plan of many files.
func runFiles(a *shell.App, cmd *cobra.Command, command, sources []string, files *shell.FilePlan) error {
	sub, _, err := cmd.Root().Find(command[:1])
	if err != nil {
		return err
	}
	if err := sub.ParseFlags(command[1:]); err != nil {
		return err
	}
	sub.SetContext(cmd.Context())
	a.FilePlan = files
	defer func() { a.FilePlan = nil }()
	return sub.RunE(sub, sources)
}

// workFiles returns the function that processes the files of a shard.
func (j *workJob) workFiles(p *plan.Plan) func(ctx context.Context, lines []byte, dir string) (json.RawMessage, error) {
	return func(_ context.Context, lines []byte, dir string) (json.RawMessage, error) {
		files := &shell.FilePlan{Lines: lines}
		command := append(slices.Clone(p.Command), "--into="+dir)
		sub, _, err := j.cmd.Root().Find(p.Command[:1])
		if err != nil {
			return nil, err
		}
		for name, value := range map[string]string{"quiet": "true", "progress": term.ProgressNone, "jobs": strconv.Itoa(cmp.Or(j.jobs, p.Workers))} {
			if sub.Flags().Lookup(name) != nil {
				command = append(command, "--"+name+"="+value)
			}
		}
		if err := runFiles(j.App, j.cmd, command, nil, files); err != nil {
			return nil, err
		}
		return json.Marshal(files.Result)
	}
}

// commitFiles publishes the targets of many files.
func (j *commitJob) commitFiles(cmd *cobra.Command, p *plan.Plan) (err error) {
	ctx := cmd.Context()
	out := j.NewPublisher(cmd, p.Target.Location)
	defer func() { err = errors.Join(err, out.Close()) }()
	err = p.Commit(ctx, &plan.WorkOptions{Workers: j.jobs, Publish: out.Publish})
	if errors.Is(err, plan.ErrIncomplete) {
		if before, listErr := out.Complete(ctx, p.Source.Location); before && listErr == nil {
			j.Note("%s: all sources were published by an earlier commit", term.Safe(p.Target.Location))
			return nil
		}
		return &shell.ExitError{Code: shell.ExitPartly, Err: err}
	}
	if err != nil {
		return err
	}
	all := term.Plural(int64(out.Totals.Sources), "source")
	if out.Totals.Failed > 0 {
		return &shell.ExitError{Code: shell.ExitPartly, Err: shell.SummaryError(fmt.Sprintf("%d of %s failed", out.Totals.Failed, all))}
	}
	left := ""
	if out.Partly > 0 {
		left, err = fmt.Sprintf(", objects of %d left out", out.Partly), &shell.ExitError{Code: shell.ExitPartly}
	}
	if !j.quiet {
		j.Note("%s written to %s%s", all, term.Safe(p.Target.Location), left)
	}
	return err
}
