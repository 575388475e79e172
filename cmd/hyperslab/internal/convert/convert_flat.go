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
func (j *ConvertJob) flatSpec(m ndarray.Meta, format hyperslab.Format) (ndarray.Spec, error) {
	spec := m.Spec()
	if j.Given() {
		return spec, shell.Usagef("%s has no chunks and no compression: remove the flags for them", format)
	}
	if j.Target == shell.Stdio && !j.dryRun && term.IsTerminal(j.Stdout) {
		return spec, shell.Usagef("%s is not for a terminal; send it to a file or a program", format)
	}
	if format == shell.RawFormat && (m.DType.Size == 0 || m.Null) {
		return spec, &ndarray.Error{Op: "convert", Path: m.Path,
			Err: errors.Join(errors.ErrUnsupported, errors.New("raw bytes are elements of one size"))}
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
func (j *ConvertJob) writeFlatTarget(ctx context.Context, src *shell.Part, format string, r *convertResult) error {
	src.SetWorkers(j.Job.Jobs)
	m := term.NewMeter(j.Job.Progress, j.Stderr, "convert", src.NBytes(), time.Now).SetSources(ctx, src.Stored())
	defer m.Finish()
	var err error
	flat := shell.FlatOutput{Format: format, Memory: j.Job.Limit, Progress: m.Update}
	if j.Target == shell.Stdio {
		err = flat.Write(ctx, j.Stdout, src.Array)
	} else {
		err = shell.WrittenAs(ctx, j.Target, atomicfile.Options{Overwrite: j.force, Lock: j.lock}, func(file string) (err error) {
			f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			return flat.Write(ctx, f, src.Array)
		})
	}
	if err != nil {
		return err
	}
	took := time.Since(r.start)
	r.stored, r.copying = shell.FlatBytes(src.Meta(), format), took
	stored, whole, speed, workers := shell.JSONInt(r.stored), shell.Seconds(took), shell.JSONFloat(term.Rate(r.bytes,
		took)), shell.Goroutines(j.Job.Jobs)
	r.doc.StoredBytes, r.doc.Ratio = &stored, shell.Ratio(r.bytes, &ndarray.Storage{StoredBytes: r.stored})
	r.doc.Seconds, r.doc.CopySeconds, r.doc.MBPerS, r.doc.Workers = &whole, &whole, &speed, &workers
	return nil
}

// copyPipe fills dst with the elements of a pipe, in pieces of whole chunks if they fit into
// memory. The workers of dst need as much memory again as one piece.
func (j *ConvertJob) copyPipe(ctx context.Context, dst, src *ndarray.Array, progress func(bytes int64)) (ndarray.CopyStats, error) {
	dst.SetWorkers(j.Job.Jobs)
	stats := ndarray.CopyStats{Workers: shell.Goroutines(j.Job.Jobs)}
	m := dst.Meta()
	err := shell.Pieces{Shape: m.Shape, Chunk: m.ChunkShape, Size: m.DType.Size, Memory: max(j.Job.Limit/2, 1)}.Copy(ctx, src,
		func(r ndarray.Region, b []byte) error {
			stats.Bytes += int64(len(b))
			progress(stats.Bytes)
			return dst.Write(ctx, b, r)
		})
	return stats, err
}
