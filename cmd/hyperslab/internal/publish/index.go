// hyperslab index: the metadata of a file in another file, for reads over a network.

package publish

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5prefetch"
	"github.com/hyperslab/hyperslab/internal/hdf5/kerchunk"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// indexJob is one run of index.
type indexJob struct {
	*shell.App

	out, url, kerchunk string
	force              bool
	batch              shell.BatchFlags

	combine string
	pick    shell.PickFlags
	leftOut *[]shell.LeftOutDoc // of all sources; nil without --skip-unreadable
}

func newIndex(a *shell.App) *cobra.Command {
	j := &indexJob{App: a}
	cmd := &cobra.Command{
		Use:   "index FILE -o INDEX",
		Short: "Write an index of a file for reads over a network",
		Long: `index writes the metadata of a file, with the locations of all chunks, to a small file.
Reading commands with --url-index INDEX open the file at a URL without a request for
metadata, for example: hyperslab stats https://host/x.h5:/a --url-index x.index

FILE is a URL, or the local copy of an object, for which --url names the object. An
index of a URL contains its ETag, so that a later change of the object is an error. For
a local directory INDEX contains the indexes of all its files, and --url is the location
of the directory, for example https://host/data/.

--kerchunk writes the chunk locations of an HDF5 file as kerchunk references. xarray and
fsspec open them as a Zarr store over the original file. With json INDEX is a file
(version 1). With parquet it is a directory, of which readers read only the parts that
they need; use it for more than about 100,000 chunks. The references contain --url, or
FILE, which must not have a query. The elements of strings of variable length and of
small arrays are in the references. Arrays that Zarr cannot represent, for example with
the filter szip, are an error, unless --exclude or --skip-unreadable leaves them out.

--combine DIM joins several files along a dimension, in the order of the arguments, and
--url is then the location of the directory of all files. Arrays without the dimension
must be equal in all files.

--into writes the index of each of many files to a directory, and --url is then the
location of that directory's files, for example https://host/data/.` + shell.IntoHelp,
		Example: `  hyperslab index etopo.h5 -o etopo.index --url https://host/etopo.h5
  hyperslab index runs/ -o runs.index --url https://host/runs/
  hyperslab index etopo.h5 -o etopo.json --kerchunk json
  hyperslab index 1999.nc 2000.nc -o years.json --kerchunk json --combine time`,
		Args: func(cmd *cobra.Command, args []string) error {
			if j.combine != "" && j.batch.Into == "" {
				return shell.Arity(1, -1)(cmd, args)
			}
			return j.batch.ArityOr(1, 1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(j.batch.CheckOne(cmd), j.check()); err != nil {
				return err
			}
			switch {
			case j.batch.Into != "":
				return j.into(cmd, args)
			case j.kerchunk == "" && shell.HoldsFiles(args[0]):
				return j.directory(cmd, args[0])
			}
			return j.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	shell.OutputFlag(cmd, &j.out, "`INDEX` to write")
	f.StringVar(&j.url, "url", "", "`URL` of the object, if FILE is a local copy")
	f.StringVar(&j.kerchunk, "kerchunk", "", "write kerchunk references in `FORMAT`: "+string(kerchunk.JSON)+" or "+
		string(kerchunk.Parquet))
	shell.CompleteWords(cmd, "kerchunk", string(kerchunk.JSON), string(kerchunk.Parquet))
	f.StringVar(&j.combine, "combine", "", "with --kerchunk: join all files along the dimension `DIM`")
	shell.ForceFlag(cmd, &j.force, "replace the index if it exists")
	j.pick.Add(cmd)
	j.batch.Add(cmd)
	a.DoneWith(cmd, func(d *shell.DoneDoc) {
		if j.leftOut != nil {
			d.LeftOut = *j.leftOut
		}
	})
	return cmd
}

// into writes the index of each source to a directory.
func (j *indexJob) into(cmd *cobra.Command, args []string) error {
	switch {
	case j.out != "":
		return shell.Usagef("-o and --into: the indexes have the names of their files")
	case remote.IsURL(j.batch.Into):
		return shell.Usagef("--into %s: want a directory of this machine", remote.Redact(j.batch.Into))
	}
	if err := checkDirectory(j.url); err != nil {
		return err
	}
	ext := ".index"
	if j.kerchunk != "" {
		ext = "." + j.kerchunk
	}
	return j.IntoDoc(cmd, args, &shell.Into{
		Flags: &j.batch, Job: &shell.JobFlags{Jobs: 1, Progress: term.ProgressNone}, Force: j.force, // the client of URLs is shared
		Target: func(_ context.Context, s *shell.Source) (string, error) {
			return shell.JoinTarget(j.batch.Into, s.Rel) + ext, nil
		},
		Do: func(ctx context.Context, w *shell.Work) (any, error) {
			one := *j
			one.App, one.force, one.out = w.App, w.Replace, w.Target
			if one.url != "" {
				rel, err := filepath.Rel(j.batch.Into, strings.TrimSuffix(w.Name, ext))
				if err != nil {
					return nil, err
				}
				one.url = urlfile.Join(one.url, filepath.ToSlash(rel))
			}
			return nil, one.run(ctx, []string{w.Source})
		},
		Report: func(o *shell.Outcome) error {
			if o.Status == shell.StatusDone {
				j.Note("%s: %s", term.Safe(o.Target), "index of "+term.Safe(remote.Redact(o.Source)))
			}
			return nil
		},
	}, func(*shell.Outcome) any { return nil })
}

// checkDirectory checks --url of many files. It is written to the output, and paths follow it.
func checkDirectory(at string) error {
	if at == "" {
		return nil
	}
	u, err := url.Parse(at)
	if err != nil || !remote.IsURL(at) || u.Host == "" || u.User != nil || strings.ContainsAny(at, "?#") || !strings.HasSuffix(at, "/") {
		return shell.Usagef("--url %s: want the http, https or s3 URL of the directory of all files, with a slash at the end and "+
			"without a user, query or fragment", remote.Redact(at))
	}
	return nil
}

// check checks the combination of flags.
func (j *indexJob) check() error {
	switch {
	case j.kerchunk == "" && (j.combine != "" || j.pick.Given()):
		return shell.Usagef("--combine, --exclude and --skip-unreadable require --kerchunk FORMAT")
	case j.batch.Into != "" && j.combine != "":
		return shell.Usagef("--combine writes one output; --into writes many")
	}
	if j.pick.Skip {
		j.leftOut = &[]shell.LeftOutDoc{}
	}
	return j.pick.Check()
}

func (j *indexJob) run(ctx context.Context, files []string) error {
	file := files[0]
	if err := j.checkOutput(file); err != nil {
		return err
	}
	for _, file := range files {
		if err := shell.WholeFile("index", file); err != nil {
			return err
		}
		if err := oneObject(file); err != nil {
			return err
		}
	}
	if j.url != "" && !remote.IsURL(j.url) {
		return shell.Usagef("--url %s: want an http, https or s3 URL", j.url)
	}
	if j.kerchunk != "" {
		return j.references(ctx, files)
	}
	return j.written(ctx, func(w io.Writer) error { return j.writeIndex(ctx, w, file, j.url) })
}

// checkOutput checks that there is an output for the index of a file or directory.
func (j *indexJob) checkOutput(name string) error {
	if j.out == "" {
		return shell.Usagef("index of %s: no output: -o INDEX is required", remote.Redact(name))
	}
	return nil
}

// oneObject returns an error for a directory, for example a bcolz array.
func oneObject(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%w: an index of the directory %s, because an index describes the object at one URL", errors.ErrUnsupported, name)
	}
	return nil
}

// written writes the output.
func (j *indexJob) written(ctx context.Context, write func(w io.Writer) error) error {
	return shell.Written(ctx, j.out, j.force, func(name string) (err error) {
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w := bufio.NewWriterSize(f, 1<<20)
		return errors.Join(write(w), w.Flush())
	})
}

// directory writes the indexes of all files of a directory.
func (j *indexJob) directory(cmd *cobra.Command, dir string) error {
	if cmd.Flags().Changed("keep-going") {
		return shell.Usagef("--keep-going requires --into DIR: the index of a directory is of all its files")
	}
	if err := errors.Join(j.checkOutput(dir), checkDirectory(j.url)); err != nil {
		return err
	}
	return j.written(cmd.Context(), func(w io.Writer) error { return j.writeArchive(cmd.Context(), w, dir) })
}

// writeArchive writes the indexes of all files of a directory.
func (j *indexJob) writeArchive(ctx context.Context, w io.Writer, dir string) error {
	z := zip.NewWriter(w)
	err := j.FilesIn(ctx, dir, "", func(s shell.Source) error {
		if err := errors.Join(s.Err, oneObject(s.Name)); err != nil {
			return err
		}
		x, err := z.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(s.Rel), Method: zip.Store})
		if err != nil {
			return err
		}
		if err := j.writeIndex(ctx, x, s.Name, ""); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		return nil
	})
	return errors.Join(err, z.SetComment(j.url), z.Close())
}

// writeIndex writes an index of everything that reading commands read of the metadata.
func (j *indexJob) writeIndex(ctx context.Context, w io.Writer, file, url string) error {
	if _, err := hyperslab.Sniff(file); err != nil {
		return err
	}
	return remote.WriteIndex(ctx, w, file, url, &remote.Options{AllowPrivate: j.Remote.AllowPrivate, OnUnverified: j.Unverified},
		func(c *remote.Client, at string) error {
			before := remote.DefaultClient
			remote.DefaultClient = c
			defer func() { remote.DefaultClient = before }()
			format, err := hyperslab.Sniff(at)
			if err != nil {
				return err
			}
			if format == hyperslab.HDF5 {
				return j.readTree(ctx, at)
			}
			for e, err := range hyperslab.Walk(ctx, at, nil) {
				if err != nil {
					return err
				}
				if e.Kind != hyperslab.Array || e.Err != nil {
					continue
				}
				location := at
				if e.Path != "/" {
					location += ":" + e.Path
				}
				arr, err := hyperslab.Open(ctx, location, nil)
				if err != nil {
					return err
				}
				if err := readMetadata(ctx, arr); err != nil {
					return err
				}
			}
			return nil
		})
}

// readTree reads the metadata of an HDF5 file.
func (j *indexJob) readTree(ctx context.Context, file string) (err error) {
	t, err := hyperslab.OpenTree(ctx, file, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	f, err := j.OpenHDF5(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for e, err := range t.Walk(ctx, nil) {
		switch {
		case err != nil:
			return err
		case e.Kind == hyperslab.Group:
			if _, err := t.GroupAttrs(ctx, e.Path); err != nil {
				return err
			}
		case e.Kind == hyperslab.Array && e.Err == nil:
			arr, err := t.Open(ctx, e.Path)
			if err != nil {
				return err
			}
			_, err = arr.Attrs(ctx)
			if err = errors.Join(err, arr.Close(), readChunkIndex(f, e.Path)); err != nil {
				return fmt.Errorf("%s: %w", e.Path, err)
			}
		}
	}
	return nil
}

// readChunkIndex reads the chunk index of a dataset, and keeps none of it in memory.
func readChunkIndex(f *h5.File, name string) (err error) {
	d, err := f.Root().OpenDataset(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info, err := d.Info()
	if err != nil || info.Layout != h5.Chunked {
		return err
	}
	h5prefetch.Index(d)
	_, err = d.NumChunks()
	return err
}

// readMetadata reads the attributes and the chunk index of an array, and closes it.
func readMetadata(ctx context.Context, arr *ndarray.Array) (err error) {
	defer func() { err = errors.Join(err, arr.Close()) }()
	if _, err := arr.Attrs(ctx); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	_, err = arr.Uniform(ctx) // reads the chunk index
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
