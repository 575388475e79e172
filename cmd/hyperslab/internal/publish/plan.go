// hyperslab plan, work and commit: one operation divided among processes.

package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/plan"
)

// planOperations are the operations of plan; those that write an array come first.
var planOperations = []string{"convert", "repack", "rechunk", "copy", "verify", "stats", "checksum"}

// planJob is one run of plan.
type planJob struct {
	*shell.App

	convert convert.ConvertJob // source, target, storage, attributes, memory and workers
	batch   *shell.BatchFlags
	compact bool
	shard   string
	out     string
	json    bool
}

func newPlan(a *shell.App) *cobra.Command {
	j := &planJob{App: a, convert: convert.ConvertJob{App: a, Command: "plan"}}
	cmd := &cobra.Command{
		Use:   "plan OPERATION SOURCE TARGET",
		Short: "Divide a conversion or check of an array or of many files into shards for many processes",
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
  checksum   compute a SHA-256 of the digests of all chunks, which is comparable between
             plans with the same chunks and shards; TARGET is a JSON file

The same source, target and flags give the same plan. A plan contains the size, time and
metadata of the source, and work and commit refuse a source that changed. TARGET must be
a new file, FILE.b2nd or FILE.h5:/path, or a new object, for example
s3://bucket/key.b2nd. Until commit, the files of the plan are in the directory
TARGET.parts; delete this directory to abandon a plan. Relative file names are relative
to the working directory of each command.

If SOURCE is a directory, or with --into DIR and many sources, the plan is of files, and a
shard is a part of them. The operations are then convert, repack, copy (of whole files,
as hyperslab cp), recover and index, with the flags of the command for --into. The list
of files is stored in PLAN.files. Done sources, conflicts of targets and --existing are
as for --into: work writes the targets to TARGET.parts, and commit moves them to TARGET
and records them there. A source whose size or time has changed fails. With --keep-going
the other files are processed, and commit lists each failure.

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
  hyperslab plan stats waves.b2nd waves.json
  hyperslab plan convert runs/ converted/ --format b2z -o files.json`,
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if j.batch.Into == "" && len(args) == 3 && shell.HoldsFiles(args[1]) {
				j.batch.Into, args = args[2], args[:2]
				return j.planFiles(cmd, args, "--recursive", "--into="+j.batch.Into)
			}
			if err := j.batch.CheckOne(cmd); err != nil {
				return err
			}
			if j.batch.Into != "" {
				return j.planFiles(cmd, args)
			}
			j.convert.Source, j.convert.Target = args[1], args[2]
			return j.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	c := &j.convert
	j.batch = c.AddMany(cmd)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if j.batch.Into != "" {
			return shell.Arity(1, -1)(cmd, args)
		}
		return shell.Arity(3, 3)(cmd, args)
	}
	c.Job.Flags = f
	shell.JobsFlag(cmd, &c.Job.Jobs, 4, "maximum number `N` of workers of one process")
	shell.MemoryFlag(cmd, &c.Job.Memory, "128MiB",
		"maximum `BYTES` of the buffers of one process; if the flag is given, a chunk that needs more is an error")
	c.Job.Progress = term.ProgressNone
	c.Attrs.Add(cmd, "leave out")
	f.Lookup("exclude-unsupported").Usage = "leave out everything that the target cannot represent: attributes, fill value, dimension " +
		"names, maximum shape"
	f.StringVar(&c.Format, "format", "", "`FORMAT` of the target: b2nd, hdf5 or caterva")
	c.StoreFlags.Add(cmd)
	f.BoolVar(&j.compact, "compact", false, "an HDF5 target is one file, and not a virtual dataset over several files")
	f.StringVar(&j.shard, "shard-bytes", "1GiB", "maximum `BYTES` of the elements of a shard, unless one chunk is larger")
	shell.OutputFlag(cmd, &j.out, "write the plan to the new `FILE` and a table to standard output; without this flag, write the plan to "+
		"standard output")
	c.AddTypes(cmd)
	shell.JSONFlag(cmd, &j.json)
	shell.CompleteWords(cmd, "format", string(hyperslab.B2ND), string(hyperslab.HDF5), string(hyperslab.Caterva))
	return cmd
}

func (j *planJob) run(ctx context.Context, operation string) error {
	if err := shell.OneOf("operation", operation, planOperations...); err != nil {
		return err
	}
	c := &j.convert
	if err := c.Check(); err != nil {
		return err
	}
	if c.Job.Jobs < 1 {
		return shell.Usagef("-j %d: want 1 or more workers", c.Job.Jobs)
	}
	bytes, err := j.shardBytes()
	if err != nil {
		return err
	}
	j.Access.Dtype = c.Untyped()
	options := &plan.Options{ShardBytes: bytes, Memory: c.Job.Limit, Workers: c.Job.Jobs, Sparse: c.Sparse, Compact: j.compact,
		DType: j.Access.Dtype}
	if slices.Index(planOperations, operation) < 4 {
		err = j.planArray(ctx, operation, options)
	} else if options.Chunks, err = term.ParseShape(c.Chunks); c.Codec != "" || c.Level >= 0 || c.Filter != "" || c.Blocks != "" ||
		c.Sparse || j.compact || c.Sum || len(c.Grow) > 0 || c.Format != "" {
		err = shell.Usagef("%s writes no array: of the flags of storage, only --chunks applies", operation)
	}
	if err != nil {
		return err
	}
	p, err := plan.New(ctx, operation, c.Source, c.Target, options)
	if err != nil {
		return err
	}
	return j.write(ctx, p)
}

// shardBytes returns the value of --shard-bytes.
func (j *planJob) shardBytes() (int64, error) {
	bytes, err := term.ParseBytes(j.shard)
	if err != nil || bytes < 1 {
		return 0, shell.Usagef("--shard-bytes %s: want at least one byte", j.shard)
	}
	return bytes, nil
}

// write writes a plan to the file of -o or to standard output.
func (j *planJob) write(ctx context.Context, p *plan.Plan) error {
	b, err := p.Encode()
	if err != nil {
		return err
	}
	if j.out != "" {
		err = shell.Written(ctx, j.out, false, func(file string) error { return os.WriteFile(file, append(b, '\n'), 0o666) })
	}
	switch {
	case err != nil:
		return err
	case j.json:
		return j.WriteJSON(j.Stdout, p)
	case j.out == "":
		_, err = fmt.Fprintf(j.Stdout, "%s\n", b)
		return err
	}
	return j.planTable(p)
}

// planArray sets the target array of the options.
func (j *planJob) planArray(ctx context.Context, operation string, options *plan.Options) (err error) {
	c := &j.convert
	src, err := j.OpenArray(ctx, c.Source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	format, err := c.ResolveTarget()
	if err != nil {
		return err
	}
	switch m := src.Meta(); {
	case operation != "convert" && string(format) != m.Format:
		return shell.Usagef("%s writes the format of the source, %s, and %s is of format %s; convert writes other formats", operation,
			m.Format, c.Target, format)
	case operation == "copy" && c.Given():
		return shell.Usagef("copy writes the storage of the source; repack changes it")
	case operation == "rechunk" && c.Chunks == "":
		return shell.Usagef("rechunk needs --chunks")
	case operation == "repack" && !c.Given():
		return shell.Usagef("repack needs a flag of storage, for example --codec; copy keeps the storage")
	case format != hyperslab.B2ND && format != hyperslab.Caterva && format != hyperslab.HDF5:
		return shell.Usagef("--format %s: a plan writes b2nd, caterva or hdf5", format)
	}
	whole := &shell.Part{Array: src}
	change, err := c.ChangeType(whole)
	if err != nil {
		return err
	}
	if change != nil {
		if operation != "convert" {
			return shell.Usagef("%s keeps the element type; convert --dtype changes it", operation)
		}
		options.Round, options.Clip = change.Round, change.Clip
	}
	if !convert.StoresNoType(src.Meta().Format) {
		options.DType = nil
	}
	spec, err := c.Spec(whole.Meta(), format)
	if err != nil {
		return err
	}
	if c.Blocks == "" && spec.BlockShape == nil && slices.Equal(spec.ChunkShape, src.Meta().ChunkShape) && shell.IsFrame(format) {
		spec.BlockShape = src.Meta().BlockShape // of chunks with an unchanged shape
	}
	if _, _, err := c.LeaveOut(ctx, whole, format, &spec); err != nil {
		return err
	}
	options.Spec, options.Format = &spec, format
	return c.Job.FitBoth(c.Source, src.Meta(), c.Target, spec)
}

func (j *planJob) planTable(p *plan.Plan) error {
	t := term.Table{Keys: true}
	t.Add("id", p.ID)
	if p.Command != nil {
		t.Add("source", fmt.Sprintf("%d files in %s, %s", p.Source.Files, term.Safe(p.Source.Location), term.FormatBytes(p.Source.Bytes)))
		t.Add("target", term.Safe(p.Target.Location))
		t.Add("shards", fmt.Sprintf("%d of at most %d files", p.Stages[0].Shards, p.Stages[0].Shard[0]))
		t.Add("memory", fmt.Sprintf("%s of one process with -j %d", term.FormatBytes(p.ProcessMemory), p.Workers))
		return t.Write(j.Stdout, j.Data)
	}
	t.Add("source", term.Safe(p.Source.Location)+", "+p.Source.Format)
	kind := ""
	switch {
	case p.Target.Sparse:
		kind = ", sparse"
	case p.Target.Format == string(hyperslab.HDF5) && !p.Target.Compact:
		kind = ", virtual dataset"
	}
	t.Add("target", term.Safe(p.Target.Location)+", "+p.Target.Format+kind)
	if p.Target.DType != "" {
		t.Add("dtype", p.Target.DType+" from "+p.Source.DType)
	}
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
	return t.Write(j.Stdout, j.Data)
}
