// hyperslab convert: an array from one format, or one way of storing it, to
// another.

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/formats"
)

// convertDoc is the document of convert --json. In a dry run what would only be
// known afterwards is null.
type convertDoc struct {
	Schema             string     `json:"schema"`
	Source             string     `json:"source"`
	SourceFormat       string     `json:"source_format"`
	Target             string     `json:"target"`
	TargetFormat       string     `json:"target_format"`
	DryRun             bool       `json:"dry_run"`
	Shape              []jsonInt  `json:"shape"`
	DType              string     `json:"dtype"`
	Chunks             []jsonInt  `json:"chunks"`
	Blocks             []jsonInt  `json:"blocks"`
	Codec              *string    `json:"codec"`
	Level              *int       `json:"level"`
	Filters            []string   `json:"filters"`
	Bytes              jsonInt    `json:"bytes"`
	StoredBytes        *jsonInt   `json:"stored_bytes"`
	Ratio              *jsonFloat `json:"ratio"`
	Seconds            *jsonFloat `json:"seconds"`
	CopySeconds        *jsonFloat `json:"copy_seconds"`
	MBPerS             *jsonFloat `json:"mb_per_s"`
	Workers            *int       `json:"workers"`
	Attributes         int        `json:"attributes"`
	ExcludedAttributes []string   `json:"excluded_attributes"`
}

type convertFlags struct {
	job   jobFlags
	attrs attrFlags
	storeFlags
	force  bool
	format string
	dtype  string
	dryRun bool
	json   bool
}

func (a *app) convertCommand() *cobra.Command {
	var o convertFlags
	cmd := &cobra.Command{
		Use:   "convert SOURCE TARGET",
		Short: "Write an array in another format, or with other compression",
		Long: `convert copies one array with its attributes into a new file: HDF5 to b2nd, b2nd or
Caterva to HDF5, or within a format with other chunks and compression. The format of
the target follows from its name (.b2nd; .h5 .hdf5 .he5 .nc), unless --format names it.

The target appears when it is complete, or not at all; one that exists is only
replaced with -f. Attributes that cannot be carried over are listed before anything is
written, and the conversion is refused until each is excluded.

Values are never changed. Unless flags say otherwise the codec is zstd 5 with byte
shuffle in b2nd, deflate 4 with byte shuffle in HDF5, and within one format that of
the source.` + addressHelp,
		Example: `  hyperslab convert etopo.h5:/ROSE rose.b2nd --exclude-unsupported
  hyperslab convert rose.b2nd back.h5:/ROSE
  hyperslab convert rose.b2nd rose-lz4.b2nd --codec lz4 --level 9 --shuffle bit
  hyperslab convert rose.b2nd rose-dir.b2nd --sparse --chunks 45,90
  hyperslab convert rose.b2nd back.h5:/ROSE --force --dry-run`,
		Args:              arity(2, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.convert(cmd.Context(), args[0], args[1], &o)
		},
	}
	o.job.add(cmd, "no progress and no summary")
	o.attrs.add(cmd, "leave out")
	f := cmd.Flags()
	f.BoolVarP(&o.force, "force", "f", false, "replace the target if it exists, an HDF5 file as a whole")
	f.StringVar(&o.format, "format", "", "`FORMAT` of the target: b2nd, hdf5, bcolz or caterva")
	f.StringVar(&o.dtype, "dtype", "", "`TYPE` of the source's elements, of their size; for Caterva, which stores none")
	o.storeFlags.add(cmd)
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done and write nothing")
	jsonFlag(cmd, &o.json)
	completeWords(cmd, "format", targets...)
	return cmd
}

func (a *app) convert(ctx context.Context, source, target string, o *convertFlags) (err error) {
	memory, err := o.check()
	if err != nil {
		return err
	}
	start := time.Now()
	var opts []formats.Option
	if o.dtype != "" {
		d, err := ndarray.ParseDType(o.dtype)
		if err != nil {
			return usagef("--dtype %s: %w", o.dtype, err)
		}
		opts = append(opts, formats.WithDType(d))
	}
	src, err := formats.Open(ctx, source, opts...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	format, err := o.settleTarget(source, target)
	if err != nil {
		return err
	}
	spec, err := o.spec(src.Meta(), format)
	if err != nil {
		return err
	}
	attrs, err := attrsOf(ctx, src)
	if err != nil {
		return err
	}
	left, err := o.attrs.settle(attrs, format, source, target)
	if err != nil {
		return err
	}
	for _, u := range left.unsupported {
		a.note("%s leaving out attribute %s (%s): %s", a.talk.notice("hyperslab convert:"), safe(u.Name), safe(u.Type), safe(u.Reason))
	}
	spec.Attrs = left.keep

	r := convertResult{
		doc: convertDoc{
			Schema: schemaConvert, Source: source, SourceFormat: src.Meta().Format, Target: target, TargetFormat: string(format),
			DryRun: o.dryRun, DType: spec.DType.String(), Bytes: jsonInt(src.NBytes()),
			Attributes: len(left.keep), ExcludedAttributes: left.names,
		},
		bytes: src.NBytes(),
	}
	compression := spec.Compression
	if compression == nil {
		compression = defaultCompression[format]()
	}
	r.describe(src.Meta(), spec.ChunkShape, spec.BlockShape, compression)
	if !o.dryRun {
		stats, copying, err := a.write(ctx, target, spec, src, memory, o)
		if err != nil {
			return err
		}
		if err := r.measure(ctx, time.Since(start), copying, stats.Workers); err != nil {
			return err
		}
	}
	return a.reportConversion(&r, o)
}

// write makes the target: all of it, or nothing. It also returns the time that
// went into reading, compressing and writing, without waiting for the disk.
func (a *app) write(ctx context.Context, target string, spec ndarray.Spec, src *ndarray.Array, memory int64, o *convertFlags) (stats ndarray.CopyStats, copying time.Duration, err error) {
	draft, err := formats.Create(ctx, target, spec, o.createOptions()...)
	if err != nil {
		return stats, 0, err
	}
	defer func() { err = errors.Join(err, draft.Close()) }()
	start := time.Now()
	m := newMeter(o.job.progress, a.stderr, "convert", src.NBytes(), time.Now)
	stats, err = ndarray.Copy(ctx, draft.Array, src, &ndarray.CopyOptions{
		Workers: o.job.jobs, Memory: memory, Progress: func(p ndarray.Progress) { m.update(p.DoneBytes) },
	})
	copying = time.Since(start)
	m.finish()
	if err != nil {
		return stats, copying, err
	}
	return stats, copying, draft.Commit(ctx)
}

// convertResult is what there is to tell about a conversion.
type convertResult struct {
	doc     convertDoc
	bytes   int64
	stored  int64
	copying time.Duration
}

// describe fills in how the target is stored, planned or read back.
func (r *convertResult) describe(m ndarray.Meta, chunks, blocks []int64, c *ndarray.Compression) {
	r.doc.Shape, r.doc.Chunks, r.doc.Blocks = shapeDoc(m), jsonShape(chunks), jsonShape(blocks)
	if c != nil {
		r.doc.Codec, r.doc.Level, r.doc.Filters = &c.Codec, &c.Level, append([]string{}, c.Filters...)
	}
}

// measure reads back what the target has become.
func (r *convertResult) measure(ctx context.Context, took, copying time.Duration, workers int) error {
	f, err := gatherFacts(ctx, r.doc.Target)
	if err != nil {
		return fmt.Errorf("reading back the target: %w", err)
	}
	r.describe(f.meta, f.meta.ChunkShape, f.meta.BlockShape, f.meta.Compression)
	r.copying = copying
	if f.storage != nil {
		stored := jsonInt(f.storage.StoredBytes)
		r.doc.StoredBytes, r.doc.Ratio, r.stored = &stored, ratio(r.bytes, f.storage), f.storage.StoredBytes
	}
	whole, part, speed := seconds(took), seconds(copying), jsonFloat(rate(r.bytes, copying))
	r.doc.Seconds, r.doc.CopySeconds, r.doc.MBPerS, r.doc.Workers = &whole, &part, &speed, &workers
	return nil
}

// reportConversion writes the document, the plan of a dry run, or one line.
func (a *app) reportConversion(r *convertResult, o *convertFlags) error {
	switch d := r.doc; {
	case o.json:
		return writeJSON(a.stdout, d)
	case o.dryRun:
		t := table{keys: true}
		t.add("source", safe(d.Source), d.SourceFormat)
		t.add("target", safe(d.Target), d.TargetFormat)
		t.add("chunks", cmp.Or(shapeCell(d.Chunks), "the target chooses"))
		if d.Blocks != nil {
			t.add("blocks", shapeCell(d.Blocks))
		}
		t.add("codec", (&ndarray.Compression{Codec: *d.Codec, Level: *d.Level, Filters: d.Filters}).String())
		t.add("bytes", iecBytes(r.bytes))
		t.add("attributes", fmt.Sprint(d.Attributes))
		return t.write(a.stdout, a.data)
	case o.job.quiet:
		return nil
	default:
		line := iecBytes(r.bytes) + " -> " + iecBytes(r.stored)
		if d.Ratio != nil {
			line += fmt.Sprintf("  %.2fx", float64(*d.Ratio))
		}
		a.note("%s  %s  -j %d", line, rateText(r.bytes, r.copying), *d.Workers)
		return nil
	}
}
