// hyperslab plan, work and commit: one operation divided among processes.

package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/grid"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/plan"
)

// planOperations are the operations of plan; those that write an array come first.
var planOperations = []string{"convert", "repack", "rechunk", "copy", "verify", "stats", "checksum"}

type planFlags struct {
	convert convert.ConvertFlags // storage, attributes, memory and workers
	compact bool
	shard   string
	out     string
	json    bool
}

func (a *app) planCommand() *cobra.Command {
	var o planFlags
	cmd := &cobra.Command{
		Use:   "plan OPERATION SOURCE TARGET",
		Short: "Divide a conversion or check of an array into shards for many processes",
		Long: `plan reads the metadata of an array and writes a plan, which divides an operation into
shards. hyperslab work does a shard, in any number of processes and on any number of
machines with a common file system or object store. hyperslab commit joins the results
and publishes the target atomically. The operations:

  convert    write the array in the format of TARGET, with the flags of hyperslab convert
  repack     write it in its own format with other compression or chunks
  rechunk    write it in its own format with the chunks of --chunks
  copy       write it in its own format with the same storage
  verify     decode every chunk; TARGET is a JSON file with the findings
  stats      compute minimum, maximum, mean and more; TARGET is a JSON file
  checksum   compute a SHA-256 of all elements; TARGET is a JSON file

The same source, target and flags give the same plan. A plan contains the size, time and
metadata of the source, and work and commit refuse a source that changed. TARGET must be
a new file, FILE.b2nd or FILE.h5:/path, or a new object, for example
s3://bucket/key.b2nd. Until commit, the files of the plan are in the directory
TARGET.parts; delete this directory to abandon a plan. Relative file names are relative
to the working directory of each command.

With --sparse, the workers write the chunk files of the target and commit only its index.
A sparse target in an object store gets its chunk objects before commit; a plan that is
abandoned leaves them. An HDF5 target is a virtual dataset in FILE.h5 over the parts,
which stay in the directory FILE.h5.shards; keep both together. --compact joins the parts
into one file instead, without recompression. A target in an object store needs it.

The table shows the shards, the bytes that all processes read and write, and the memory
of one process. If the chunks of source and target have very different shapes, the plan
has two stages, and all shards of the first one must be done before the second begins.`,
		Example: `  hyperslab plan convert etopo.h5:/ROSE rose-plan.b2nd --exclude-unsupported -o plan.json
  hyperslab plan rechunk waves.b2nd waves-rows.b2nd --chunks 1,100 --shard-bytes 16KiB -o rows.json
  hyperslab plan convert waves.b2nd waves-all.h5:/waves --compact -o all.json
  hyperslab plan stats waves.b2nd waves.json`,
		Args:              shell.Arity(3, 3),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.plan(cmd.Context(), args[0], args[1], args[2], &o)
		},
	}
	f := cmd.Flags()
	c := &o.convert
	c.Job.Flags = f
	f.IntVarP(&c.Job.Jobs, "jobs", "j", 4, "maximum number `N` of workers of one process")
	f.StringVarP(&c.Job.Memory, "memory", "M", "128MiB", "maximum `BYTES` of the buffers of one process; if the flag is given, a chunk that needs more is an error")
	c.Job.Progress = term.ProgressNone
	c.Attrs.Add(cmd, "leave out")
	f.Lookup("exclude-unsupported").Usage = "leave out everything that the target cannot represent: attributes, fill value, dimension names, maximum shape"
	f.StringVar(&c.Format, "format", "", "`FORMAT` of the target: b2nd, hdf5 or caterva")
	c.StoreFlags.Add(cmd)
	f.BoolVar(&o.compact, "compact", false, "an HDF5 target is one file, and not a virtual dataset over several files")
	f.StringVar(&o.shard, "shard-bytes", "1GiB", "maximum `BYTES` of the elements of a shard, unless one chunk is larger")
	f.StringVarP(&o.out, "output", "o", "", "write the plan to the new `FILE` and a table to standard output; without this flag, write the plan to standard output")
	shell.AddDType(a.App, cmd)
	shell.JSONFlag(cmd, &o.json)
	shell.CompleteWords(cmd, "format", string(hyperslab.B2ND), string(hyperslab.HDF5), string(hyperslab.Caterva))
	return cmd
}

func (a *app) plan(ctx context.Context, operation, source, target string, o *planFlags) error {
	if err := shell.OneOf("operation", operation, planOperations...); err != nil {
		return err
	}
	c := &o.convert
	memory, err := c.Check()
	if err != nil {
		return err
	}
	if c.Job.Jobs < 1 {
		return shell.Usagef("-j %d: want 1 or more workers", c.Job.Jobs)
	}
	bytes, err := term.ParseBytes(o.shard)
	if err != nil || bytes < 1 {
		return shell.Usagef("--shard-bytes %s: want at least one byte", o.shard)
	}
	options := &plan.Options{ShardBytes: bytes, Memory: memory, Workers: c.Job.Jobs, Sparse: c.Sparse, Compact: o.compact, DType: a.Access.Dtype}
	a.Access.Typed = true // New checks the source
	if slices.Index(planOperations, operation) < 4 {
		err = a.planArray(ctx, operation, source, target, memory, options, c)
	} else if options.Chunks, err = term.ParseShape(c.Chunks); c.Codec != "" || c.Level >= 0 || c.Filter != "" || c.Blocks != "" || c.Sparse || o.compact || c.Sum || len(c.Grow) > 0 || c.Format != "" {
		err = shell.Usagef("%s writes no array: of the flags of storage, only --chunks applies", operation)
	}
	if err != nil {
		return err
	}
	p, err := plan.New(ctx, operation, source, target, options)
	if err != nil {
		return err
	}
	b, err := p.Encode()
	if err != nil {
		return err
	}
	if o.out != "" {
		err = shell.Written(ctx, o.out, false, func(file string) error { return os.WriteFile(file, append(b, '\n'), 0o666) })
	}
	switch {
	case err != nil:
		return err
	case o.json:
		return a.WriteJSON(a.Stdout, p)
	case o.out == "":
		_, err = fmt.Fprintf(a.Stdout, "%s\n", b)
		return err
	}
	return a.planTable(p)
}

// planArray sets the target array of the options.
func (a *app) planArray(ctx context.Context, operation, source, target string, memory int64, options *plan.Options, c *convert.ConvertFlags) (err error) {
	src, err := a.OpenArray(ctx, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	format, err := c.ResolveTarget(source, target)
	if err != nil {
		return err
	}
	switch m := src.Meta(); {
	case operation != "convert" && string(format) != m.Format:
		return shell.Usagef("%s writes the format of the source, %s, and %s is of format %s; convert writes other formats", operation, m.Format, target, format)
	case operation == "copy" && c.Given():
		return shell.Usagef("copy writes the storage of the source; repack changes it")
	case operation == "rechunk" && c.Chunks == "":
		return shell.Usagef("rechunk needs --chunks")
	case operation == "repack" && !c.Given():
		return shell.Usagef("repack needs a flag of storage, for example --codec; copy keeps the storage")
	case format != hyperslab.B2ND && format != hyperslab.Caterva && format != hyperslab.HDF5:
		return shell.Usagef("--format %s: a plan writes b2nd, caterva or hdf5", format)
	}
	spec, err := c.Spec(src.Meta(), format)
	if err != nil {
		return err
	}
	if c.Blocks == "" && spec.BlockShape == nil && slices.Equal(spec.ChunkShape, src.Meta().ChunkShape) && shell.IsFrame(format) {
		spec.BlockShape = src.Meta().BlockShape // of chunks with an unchanged shape
	}
	whole := &shell.Part{Array: src}
	if _, _, err := convert.LeaveOut(ctx, a.App, "plan", source, target, whole, format, &spec, c); err != nil {
		return err
	}
	options.Spec, options.Format = &spec, format
	return cmp.Or(c.Job.Fit(memory, source, src.Meta()), c.Job.Fit(memory, target, shell.SpecMeta(spec)))
}

func (a *app) planTable(p *plan.Plan) error {
	t := term.Table{Keys: true}
	t.Add("id", p.ID)
	t.Add("source", term.Safe(p.Source.Location)+", "+p.Source.Format)
	kind := ""
	switch {
	case p.Target.Sparse:
		kind = ", sparse"
	case p.Target.Format == string(hyperslab.HDF5) && !p.Target.Compact:
		kind = ", virtual dataset"
	}
	t.Add("target", term.Safe(p.Target.Location)+", "+p.Target.Format+kind)
	for i, s := range p.Stages {
		key := "shards"
		if len(p.Stages) > 1 {
			key = fmt.Sprintf("shards of stage %d", i+1)
		}
		t.Add(key, fmt.Sprintf("%d of %s in chunks of %s", s.Shards, term.FormatShape(s.Shard), term.FormatShape(s.Chunks)))
	}
	t.Add("read", term.FormatBytes(p.ReadBytes))
	t.Add("written", term.FormatBytes(p.WriteBytes)+" before compression")
	t.Add("memory", fmt.Sprintf("%s of one process with -j %d", term.FormatBytes(p.ProcessMemory), p.Workers))
	return t.Write(a.Stdout, a.Data)
}

type workFlags struct {
	shard   string
	stage   int
	all     bool
	missing bool
	run     runFlags
}

// runFlags are the flags of work and commit.
type runFlags struct {
	jobs     int
	progress string
	quiet    bool
}

func (o *runFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&o.jobs, "jobs", "j", 0, "number `N` of workers, at most that of the plan; 0 means that of the plan")
	shell.ProgressFlag(cmd, &o.progress)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no summary")
}

// load reads a plan and applies its memory limit to the process.
func (o *runFlags) load(file string) (*plan.Plan, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p, err := plan.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if o.jobs < 0 || o.jobs > p.Workers {
		return nil, shell.Usagef("-j %d: the memory of the plan is for at most %d workers", o.jobs, p.Workers)
	}
	job := shell.JobFlags{Memory: strconv.FormatInt(p.Memory, 10), Progress: o.progress, Quiet: o.quiet}
	_, err = job.Check()
	o.progress = job.Progress
	return p, err
}

func (a *app) workCommand() *cobra.Command {
	var o workFlags
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
			return a.work(cmd.Context(), args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.shard, "shard", "", "`I` is the number of a shard, from 0; I/N are the shards I, I+N, I+2N, …")
	f.IntVar(&o.stage, "stage", 0, "stage `S` of a plan with two stages: 1 or 2")
	f.BoolVar(&o.all, "all", false, "do all shards of all stages, or of --stage")
	f.BoolVar(&o.missing, "missing", false, "list the shards without a receipt, as STAGE SHARD")
	o.run.add(cmd)
	a.Done(cmd)
	return cmd
}

func (a *app) work(ctx context.Context, file string, o *workFlags) error {
	p, err := o.run.load(file)
	if err != nil {
		return err
	}
	if o.stage < 0 || o.stage > len(p.Stages) {
		return shell.Usagef("--stage %d: the plan has %s", o.stage, term.Plural(int64(len(p.Stages)), "stage"))
	}
	if (o.all || o.missing) && o.shard != "" || o.all && o.missing {
		return shell.Usagef("--shard, --all and --missing exclude each other")
	}
	first, last := 1, len(p.Stages)
	if o.stage > 0 {
		first, last = o.stage, o.stage
	}
	if o.all || o.missing {
		for stage := first; stage <= last; stage++ {
			shards, err := p.Missing(ctx, stage)
			if err != nil {
				return err
			}
			if err = a.workOn(ctx, p, stage, shards, o); err != nil {
				return err
			}
		}
		return nil
	}
	if first != last {
		return shell.Usagef("the plan has two stages: choose with --stage")
	}
	begin, step, err := o.share(file)
	if err != nil {
		return err
	}
	n := p.Stages[first-1].Shards
	if step == 0 { // one shard, also if it does not exist
		return a.workOn(ctx, p, first, []int64{begin}, o)
	}
	var shards []int64
	for shard := begin; shard < n; shard += step {
		shards = append(shards, shard)
	}
	return a.workOn(ctx, p, first, shards, o)
}

// workOn does or lists shards.
func (a *app) workOn(ctx context.Context, p *plan.Plan, stage int, shards []int64, o *workFlags) error {
	for _, shard := range shards {
		if o.missing {
			if _, err := fmt.Fprintln(a.Stdout, stage, shard); err != nil {
				return err
			}
			continue
		}
		if err := a.workOne(ctx, p, stage, shard, &o.run); err != nil {
			if errors.Is(err, plan.ErrIncomplete) {
				return &shell.ExitError{Code: shell.ExitPartly, Err: err}
			}
			return err
		}
	}
	return nil
}

func (a *app) workOne(ctx context.Context, p *plan.Plan, stage int, shard int64, o *runFlags) error {
	total := int64(0)
	if shard >= 0 && shard < p.Stages[stage-1].Shards {
		total = p.Source.Bytes / p.Stages[stage-1].Shards
	}
	m := term.NewMeter(o.progress, a.Stderr, "work", total, time.Now)
	defer m.Finish()
	start := time.Now()
	done, err := p.Work(ctx, stage, shard, &plan.WorkOptions{Workers: o.jobs, Progress: func(s ndarray.Progress) { m.Update(s.DoneBytes) }})
	if err != nil {
		return err
	}
	m.Finish()
	if !o.quiet {
		state := "done in " + time.Since(start).Round(time.Millisecond).String()
		if !done {
			state = "has a receipt"
		}
		of := ""
		if len(p.Stages) > 1 {
			of = fmt.Sprintf(" of stage %d", stage)
		}
		a.Note("shard %d%s, 0 to %d: %s", shard, of, p.Stages[stage-1].Shards-1, state)
	}
	return nil
}

// share returns the first shard of this process and the distance to the next one, which is 0 for a
// single shard.
func (o *workFlags) share(file string) (begin, step int64, err error) {
	number := func(name, text string) int64 {
		n, perr := strconv.ParseInt(text, 10, 64)
		if perr != nil || n < 0 {
			err = errors.Join(err, shell.Usagef("%s: got %q, want a number of at least 0", name, text))
		}
		return n
	}
	if o.shard != "" {
		i, n, divided := strings.Cut(o.shard, "/")
		begin = number("--shard", i)
		if divided {
			step = number("--shard", n)
		}
		if err == nil && divided && begin >= step {
			err = shell.Usagef("--shard %s: want a share from 0 to %d", o.shard, step-1)
		}
		return begin, step, err
	}
	if i := os.Getenv("JOB_COMPLETION_INDEX"); i != "" {
		return number("JOB_COMPLETION_INDEX", i), 0, err
	}
	i := os.Getenv("SLURM_ARRAY_TASK_ID")
	if i == "" {
		return 0, 0, shell.Usagef("shard of %s: missing; add --shard or --all, or run in an array of Slurm or an Indexed Job of Kubernetes", file)
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

func (a *app) commitCommand() *cobra.Command {
	var o runFlags
	cmd := &cobra.Command{
		Use:   "commit PLAN",
		Short: "Join the shards of a plan and publish the target",
		Long: `commit requires a receipt of every shard of a plan and compares the parts with their
receipts. It then joins the parts without recompression, so that the target has the same
bytes as the output of one process, publishes the target atomically, and deletes
TARGET.parts and incomplete uploads. A commit that was killed can be started again.

The exit code is 3 if shards have no receipt. The target is then not created. To do a
shard with a corrupt part again, delete its receipt in TARGET.parts.`,
		Example: `  hyperslab commit rows.json`,
		Args:    shell.Arity(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.commit(cmd.Context(), args[0], &o)
		},
	}
	o.add(cmd)
	a.Done(cmd)
	return cmd
}

func (a *app) commit(ctx context.Context, file string, o *runFlags) error {
	p, err := o.load(file)
	if err != nil {
		return err
	}
	m := term.NewMeter(o.progress, a.Stderr, "commit", p.Source.Bytes, time.Now)
	defer m.Finish()
	err = p.Commit(ctx, &plan.WorkOptions{Workers: o.jobs, Progress: func(s ndarray.Progress) { m.Update(s.DoneBytes) }})
	if errors.Is(err, plan.ErrIncomplete) {
		return &shell.ExitError{Code: shell.ExitPartly, Err: err}
	}
	if err != nil {
		return err
	}
	m.Finish()
	if !o.quiet {
		a.Note("%s %s written", term.Safe(p.Target.Location), p.Target.Format)
	}
	return nil
}
