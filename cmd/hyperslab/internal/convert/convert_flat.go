// Conversion to .npy and raw bytes, and from a pipe.

package convert

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/ndarray"
)

// isFlat reports whether a format contains only elements.
func isFlat(f hyperslab.Format) bool { return f == shell.NPYFormat || f == shell.RawFormat }

// formatForName returns the format of a target by its extension.
func formatForName(file string) (hyperslab.Format, bool) {
	if strings.EqualFold(filepath.Ext(file), ".raw") {
		return shell.RawFormat, true
	}
	return shell.NamedFormat(file)
}

// flatSpec checks whether a source can be written as elements only.
func (o *ConvertFlags) flatSpec(m ndarray.Meta, format hyperslab.Format, target string, terminal bool) (ndarray.Spec, error) {
	spec := m.Spec()
	if o.Given() {
		return spec, shell.Usagef("%s has no chunks and no compression: remove the flags for them", format)
	}
	if target == shell.Stdio && terminal && !o.dryRun {
		return spec, shell.Usagef("%s is not for a terminal; send it to a file or a program", format)
	}
	if format == shell.RawFormat && (m.DType.Size == 0 || m.Null) {
		return spec, &ndarray.Error{Op: "convert", Path: m.Path, Err: errors.Join(errors.ErrUnsupported, errors.New("raw bytes are elements of one size"))}
	}
	if _, err := shell.NPYHeader(m); format == shell.NPYFormat && err != nil {
		return spec, err
	}
	spec.DType = m.DType.Native()
	if format == shell.NPYFormat {
		spec.DType = spec.DType.NumPy()
	}
	return spec, nil
}

// writeFlatTarget writes the target: a file completely or not at all, or standard output.
func (a *app) writeFlatTarget(ctx context.Context, target string, src *shell.Part, format string, memory int64, r *convertResult, start time.Time, o *ConvertFlags) error {
	src.SetWorkers(o.Job.Jobs)
	m := term.NewMeter(o.Job.Progress, a.Stderr, "convert", src.NBytes(), time.Now).SetSources(ctx, src.Stored())
	defer m.Finish()
	var err error
	if target == shell.Stdio {
		err = shell.WriteFlat(ctx, a.Stdout, src.Array, format, memory, m.Update)
	} else {
		err = shell.WrittenAs(ctx, target, atomicfile.Options{Overwrite: o.force, Lock: o.lock}, func(file string) (err error) {
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			return shell.WriteFlat(ctx, f, src.Array, format, memory, m.Update)
		})
	}
	if err != nil {
		return err
	}
	took := time.Since(start)
	r.stored, r.copying = shell.FlatBytes(src.Meta(), format), took
	stored, whole, speed, workers := shell.JSONInt(r.stored), shell.Seconds(took), shell.JSONFloat(term.Rate(r.bytes, took)), shell.Goroutines(o.Job.Jobs)
	r.doc.StoredBytes, r.doc.Ratio = &stored, shell.Ratio(r.bytes, &ndarray.Storage{StoredBytes: r.stored})
	r.doc.Seconds, r.doc.CopySeconds, r.doc.MBPerS, r.doc.Workers = &whole, &whole, &speed, &workers
	return nil
}

// copyPipe fills dst with the elements of a pipe, in pieces of whole chunks if they fit into
// memory. The workers of dst need as much memory again as one piece.
func copyPipe(ctx context.Context, dst, src *ndarray.Array, jobs int, memory int64, progress func(bytes int64)) (ndarray.CopyStats, error) {
	dst.SetWorkers(jobs)
	stats := ndarray.CopyStats{Workers: shell.Goroutines(jobs)}
	m := dst.Meta()
	err := shell.Sequential(ctx, src, m.Shape, m.ChunkShape, m.DType.Size, max(memory/2, 1), func(r ndarray.Region, b []byte) error {
		stats.Bytes += int64(len(b))
		progress(stats.Bytes)
		return dst.Write(ctx, b, r)
	})
	return stats, err
}
