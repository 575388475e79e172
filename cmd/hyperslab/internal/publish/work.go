// hyperslab work: do shards of a plan.

package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// workJob is one run of work.
type workJob struct {
	planRun

	cmd     *cobra.Command
	shard   string
	stage   int
	all     bool
	missing bool
}

// planRun is the part of a run of work or commit that both share.
type planRun struct {
	*shell.App

	jobs     int
	progress string
	quiet    bool
}

func (j *planRun) add(cmd *cobra.Command) {
	shell.JobsFlag(cmd, &j.jobs, 0, "number `N` of workers, at most that of the plan; 0 means that of the plan")
	shell.ProgressFlag(cmd, &j.progress)
	shell.QuietFlag(cmd, &j.quiet, "no progress and no summary")
}

// load reads a plan and applies its memory limit to the process.
func (j *planRun) load(file string) (*plan.Plan, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if j.jobs < 0 || j.jobs > p.Workers {
		return nil, shell.Usagef("-j %d: the memory of the plan is for at most %d workers", j.jobs, p.Workers)
	}
	job := shell.JobFlags{Memory: strconv.FormatInt(p.Memory, 10), Progress: j.progress, Quiet: j.quiet}
	_, err = job.Check()
	j.progress = job.Progress
	return p, err
}

func newWork(a *shell.App) *cobra.Command {
	j := &workJob{planRun: planRun{App: a}}
	cmd := &cobra.Command{
		Use:   "work PLAN",
		Short: "Do one shard of a plan, or all of them",
		Long: `work does a shard of a plan that hyperslab plan wrote. It writes the result to a new
file or object in TARGET.parts and then a receipt. A shard with a receipt is skipped.
A shard can therefore be started any number of times, also at the same time, and a
process can be killed at any time: start it again to resume.

Without --shard and --all, the number of the shard is the environment variable
JOB_COMPLETION_INDEX of a Kubernetes Indexed Job or SLURM_ARRAY_TASK_ID of a Slurm
array. An array of Slurm with fewer tasks than shards divides the shards among its
tasks.

--all does all shards without a receipt in this process. Several such processes can run
at the same time. --missing lists the shards without a receipt and does none of them.

The exit code is 3 if a shard of the second stage needs shards of the first stage that
have no receipt.`,
		Example: `  hyperslab work plan.json --shard 0
  hyperslab work rows.json --shard 1/4
  hyperslab work rows.json --missing
  hyperslab work rows.json --all -q`,
		Args: shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			j.cmd = cmd
			return j.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVar(&j.shard, "shard", "", "`I` is the number of a shard, from 0; I/N are the shards I, I+N, I+2N, …")
	f.IntVar(&j.stage, "stage", 0, "stage `S` of a plan with two stages: 1 or 2")
	shell.AllFlag(cmd, &j.all, "do all shards of all stages, or of --stage")
	f.BoolVar(&j.missing, "missing", false, "list the shards without a receipt, as STAGE SHARD")
	j.add(cmd)
	a.Done(cmd)
	return cmd
}

func (j *workJob) run(ctx context.Context, file string) error {
	p, err := j.load(file)
	if err != nil {
		return err
	}
	if j.stage < 0 || j.stage > len(p.Stages) {
		return shell.Usagef("--stage %d: the plan has %s", j.stage, term.Plural(int64(len(p.Stages)), "stage"))
	}
	if (j.all || j.missing) && j.shard != "" || j.all && j.missing {
		return shell.Usagef("--shard, --all and --missing exclude each other")
	}
	first, last := 1, len(p.Stages)
	if j.stage > 0 {
		first, last = j.stage, j.stage
	}
	if j.all || j.missing {
		for stage := first; stage <= last; stage++ {
			shards, err := p.Missing(ctx, stage)
			if err != nil {
				return err
			}
			if err = j.workOn(ctx, p, stage, shards); err != nil {
				return err
			}
		}
		return nil
	}
	if first != last {
		return shell.Usagef("the plan has two stages: choose with --stage")
	}
	begin, step, err := j.share(file)
	if err != nil {
		return err
	}
	n := p.Stages[first-1].Shards
	if step == 0 { // one shard, also if it does not exist
		return j.workOn(ctx, p, first, []int64{begin})
	}
	var shards []int64
	for shard := begin; shard < n; shard += step {
		shards = append(shards, shard)
	}
	return j.workOn(ctx, p, first, shards)
}

// workOn does or lists shards.
func (j *workJob) workOn(ctx context.Context, p *plan.Plan, stage int, shards []int64) error {
	for _, shard := range shards {
		if j.missing {
			if _, err := fmt.Fprintln(j.Stdout, stage, shard); err != nil {
				return err
			}
			continue
		}
		if err := j.workOne(ctx, p, stage, shard); err != nil {
			if errors.Is(err, plan.ErrIncomplete) {
				return &shell.ExitError{Code: shell.ExitPartly, Err: err}
			}
			return err
		}
	}
	return nil
}

func (j *workJob) workOne(ctx context.Context, p *plan.Plan, stage int, shard int64) error {
	total := int64(0)
	if shard >= 0 && shard < p.Stages[stage-1].Shards {
		total = p.Source.Bytes / p.Stages[stage-1].Shards
	}
	m := term.NewMeter(j.progress, j.Stderr, "work", total, time.Now)
	defer m.Finish()
	start := time.Now()
	done, err := p.Work(ctx, stage, shard, &plan.WorkOptions{
		Workers: j.jobs, Progress: func(s ndarray.Progress) { m.Update(s.DoneBytes) }, Files: j.workFiles(p),
	})
	if err != nil {
		return err
	}
	m.Finish()
	if !j.quiet {
		state := "done in " + time.Since(start).Round(time.Millisecond).String()
		if !done {
			state = "has a receipt"
		}
		of := ""
		if len(p.Stages) > 1 {
			of = fmt.Sprintf(" of stage %d", stage)
		}
		j.Note("shard %d%s, 0 to %d: %s", shard, of, p.Stages[stage-1].Shards-1, state)
	}
	return nil
}

// share returns the first shard of this process and the distance to the next one, which is 0 for a
// single shard.
func (j *workJob) share(file string) (begin, step int64, err error) {
	number := func(name, text string) int64 {
		n, perr := strconv.ParseInt(text, 10, 64)
		if perr != nil || n < 0 {
			err = errors.Join(err, shell.Usagef("%s: got %q, want a number of at least 0", name, text))
		}
		return n
	}
	if j.shard != "" {
		i, n, divided := strings.Cut(j.shard, "/")
		begin = number("--shard", i)
		if divided {
			step = number("--shard", n)
		}
		if err == nil && divided && begin >= step {
			err = shell.Usagef("--shard %s: want a share from 0 to %d", j.shard, step-1)
		}
		return begin, step, err
	}
	if i := os.Getenv("JOB_COMPLETION_INDEX"); i != "" {
		return number("JOB_COMPLETION_INDEX", i), 0, err
	}
	i := os.Getenv("SLURM_ARRAY_TASK_ID")
	if i == "" {
		return 0, 0, shell.Usagef("shard of %s: missing; add --shard or --all, or run in an array of Slurm or an Indexed Job of Kubernetes",
			file)
	}
	begin = number("SLURM_ARRAY_TASK_ID", i)
	least, count := os.Getenv("SLURM_ARRAY_TASK_MIN"), os.Getenv("SLURM_ARRAY_TASK_COUNT")
	if least == "" || count == "" || err != nil {
		return begin, 0, err
	}
	by := int64(1)
	if text := os.Getenv("SLURM_ARRAY_TASK_STEP"); text != "" {
		by = max(number("SLURM_ARRAY_TASK_STEP", text), 1)
	}
	begin, step = grid.DivUp(begin-number("SLURM_ARRAY_TASK_MIN", least), by), number("SLURM_ARRAY_TASK_COUNT", count)
	if err == nil && (begin < 0 || begin >= step) {
		err = shell.Usagef("SLURM_ARRAY_TASK_ID %s: want a task of the %d from %s on", i, step, least)
	}
	return begin, step, err
}
