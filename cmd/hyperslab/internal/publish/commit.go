// hyperslab commit: join the shards of a plan.

package publish

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// commitJob is one run of commit.
type commitJob struct {
	planRun

	typed            bool // --dtype of the plan changes the element type
	rounded, clipped shell.JSONInt
}

func newCommit(a *shell.App) *cobra.Command {
	j := &commitJob{planRun: planRun{App: a}}
	cmd := &cobra.Command{
		Use:   "commit PLAN",
		Short: "Join the shards of a plan and publish the target",
		Long: `commit requires a receipt of every shard of a plan and compares the parts with their
receipts. It then joins the parts without recompression, so that the target has the same
bytes as the output of one process, publishes the target atomically, and deletes
TARGET.parts and incomplete uploads. A commit that was killed can be started again.

The exit code is 3 if shards have no receipt. The target is then not created. The exit
code is also 3 for a plan of files of which sources failed or objects were left out. It
is 0 if an earlier commit has published all files. To do a shard with a corrupt part
again, delete its receipt in TARGET.parts.`,
		Example: `  hyperslab commit rows.json`,
		Args:    shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd, args[0])
		},
	}
	j.add(cmd)
	a.DoneWith(cmd, func(d *shell.DoneDoc) {
		if j.typed {
			d.Rounded, d.Clipped = &j.rounded, &j.clipped
		}
	})
	return cmd
}

func (j *commitJob) run(cmd *cobra.Command, file string) error {
	ctx := cmd.Context()
	p, err := j.load(file)
	if err != nil {
		return err
	}
	if p.Command != nil {
		return j.commitFiles(cmd, p)
	}
	m := term.NewMeter(j.progress, j.Stderr, "commit", p.Source.Bytes, time.Now)
	defer m.Finish()
	err = p.Commit(ctx, &plan.WorkOptions{
		Workers: j.jobs, Progress: func(s ndarray.Progress) { m.Update(s.DoneBytes) },
		Changed: func(rounded, clipped int64) { j.rounded, j.clipped = shell.JSONInt(rounded), shell.JSONInt(clipped) },
	})
	if errors.Is(err, plan.ErrIncomplete) {
		return &shell.ExitError{Code: shell.ExitPartly, Err: err}
	}
	if err != nil {
		return err
	}
	m.Finish()
	j.NoteChanged("commit", p.Source.Location, j.rounded, j.clipped)
	j.typed = p.Target.DType != ""
	if !j.quiet {
		j.Note("%s %s written", term.Safe(p.Target.Location), p.Target.Format)
	}
	return nil
}
