// hyperslab rm: remove objects from HDF5 files.

package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/hdf5/h5objects"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// rmJob is one run of rm.
type rmJob struct {
	*shell.App

	edit      editFlags
	recursive bool
	force     bool
}

func newRm(a *shell.App) *cobra.Command {
	j := &rmJob{App: a}
	cmd := &cobra.Command{
		Use:   "rm FILE:/path...",
		Short: "Remove objects from an HDF5 file",
		Long: `rm removes datasets, links and, with -r, groups with their members. An object with
another hard link remains under that name. rm removes all named objects, or fails
without a change.

The file does not shrink: hyperslab repack frees the space. To remove a whole file use
the rm of the system.` + editHelp,
		Example: `  hyperslab rm tree.h5:/time
  hyperslab rm -r tree.h5:/run1 tree.h5:/run2`,
		Args:              shell.Arity(1, -1),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), args)
		},
	}
	shell.RecursiveFlag(cmd, &j.recursive, "also groups with their members")
	shell.ForceFlag(cmd, &j.force, "ignore paths that do not exist")
	j.edit.add(a, cmd)
	a.Done(cmd)
	return cmd
}

func (j *rmJob) run(ctx context.Context, addresses []string) (err error) {
	open := j.HDF5Files()
	defer func() { err = errors.Join(err, open.Close()) }()
	var files []string
	paths := make(map[string][]string)
	for _, address := range addresses {
		loc, err := locate.Parse(address)
		if err != nil {
			return err
		}
		if remote.IsURL(loc.File) {
			return shell.Usagef("%s: an object at a URL cannot be changed", remote.Redact(address))
		}
		if err := j.edit.hold(ctx, loc.File); err != nil {
			return err
		}
		format, err := open.Format(loc.File)
		if err != nil {
			return err
		}
		path := strings.Trim(loc.Object, "/")
		switch {
		case format != string(hyperslab.HDF5):
			return shell.Usagef("%s is of format %s; rm removes objects inside HDF5 files", loc.File, format)
		case path == "":
			return shell.Usagef("%s names no object; rm does not remove a whole file or its root group", address)
		}
		if paths[loc.File] == nil {
			files = append(files, loc.File)
		}
		paths[loc.File] = append(paths[loc.File], "/"+path)
		if err := open.Limit(); err != nil {
			return err
		}
	}
	for _, file := range files { // before any of them is changed
		if err := removable(ctx, open, file, paths[file], j); err != nil {
			return err
		}
		if err := open.Limit(); err != nil {
			return err
		}
	}
	for _, file := range files {
		if j.edit.dryRun {
			if err := j.planRemoval(ctx, open, file, paths[file]); err != nil {
				return err
			}
			if err := cmp.Or(j.edit.plan(file), open.Limit()); err != nil {
				return err
			}
			continue
		}
		if err := open.Close(); err != nil { // all, because two names can be of one file
			return err
		}
		err := j.edit.edit(ctx, file, func(at string) error { return j.edit.unlink(ctx, at, paths[file]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// removable checks that all paths exist and may be removed.
func removable(ctx context.Context, open *opened.Files, file string, paths []string, o *rmJob) error {
	f, err := open.HDF5(ctx, file)
	if err != nil {
		return err
	}
	for _, path := range paths {
		link, err := f.Root().Link(path)
		if errors.Is(err, h5.ErrNotFound) && o.force {
			continue
		}
		if err != nil {
			return ndarray.Wrap("remove", file+":"+path, err)
		}
		if link.Kind != h5.HardLink || o.recursive {
			continue
		}
		info, err := f.Root().ObjectInfo(path)
		if err != nil {
			return err
		}
		if info.Kind == h5.GroupObject {
			return shell.Usagef("%s:%s is a group; -r removes it with its members", file, path)
		}
	}
	return nil
}

// planRemoval reports for each existing path the size of the elements if the path is their last
// name.
func (j *rmJob) planRemoval(ctx context.Context, open *opened.Files, file string, paths []string) error {
	f, err := open.HDF5(ctx, file)
	if err != nil {
		return err
	}
	for _, path := range paths {
		link, err := f.Root().Link(path)
		if errors.Is(err, h5.ErrNotFound) { // with -f
			continue
		}
		if err != nil {
			return ndarray.Wrap("remove", file+":"+path, err)
		}
		what := "a link"
		if link.Kind == h5.HardLink {
			info, err := f.Root().ObjectInfo(path)
			if err != nil {
				return ndarray.Wrap("remove", file+":"+path, err)
			}
			if what = "one of " + term.Plural(int64(info.Links), "name"); info.Links == 1 {
				what = term.FormatBytes(h5objects.StoredBytes(ctx, f.Root(), path))
			}
		}
		j.Note("would remove %s:%s: %s", term.Safe(file), term.Safe(path), what)
	}
	return nil
}

// unlink removes the links that exist. A path below another one may already have been removed with
// it.
func (e *editFlags) unlink(ctx context.Context, file string, paths []string) (err error) {
	f, done, err := draft.OpenHDF5(ctx, file, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	for _, path := range paths {
		err := f.Root().Unlink(path)
		if err != nil && !errors.Is(err, h5.ErrNotFound) {
			return ndarray.Wrap("remove", fmt.Sprintf("%s:%s", file, path), err)
		}
	}
	return nil
}
