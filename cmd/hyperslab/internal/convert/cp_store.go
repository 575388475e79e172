// Copies of arrays out of and into containers of python-blosc2.

package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree/chunkmap"
	"github.com/hyperslab/hyperslab/ndarray"
)

// targetFormat returns the format of an existing target, or that of the extension of a new one.
func targetFormat(file string) (hyperslab.Format, error) {
	f, err := hyperslab.Sniff(file)
	if errors.Is(err, ndarray.ErrNotFound) {
		f, _ = shell.NamedFormat(file)
		return f, nil
	}
	return f, err
}

// cpStored copies an array out of a container, or into one. It reports whether source and target
// are such a pair.
func (j *cpJob) cpStored(ctx context.Context, from locate.Location, format hyperslab.Format) (bool, error) {
	into := shell.IsStore(j.kind)
	out := shell.IsStore(format) && strings.Trim(from.Object, "/") != ""
	if j.to.Object != "" && !into || j.to.Object == "" && !into && !out {
		return false, nil
	}
	to := j.to
	if to.Object == "" {
		if into && (out || !shell.IsStore(format)) {
			return true, shell.Usagef("%s: a path inside the store is missing, for example %s:/%s", to, to.File, nameOf(from))
		}
		if !out {
			return false, nil
		}
		if f, known := shell.NamedFormat(to.File); known && f != hyperslab.B2ND {
			return true, shell.Usagef("%s is stored as a Blosc2 frame, and the name %s has another format; hyperslab convert "+
				"changes formats", from, to.File)
		}
	}
	if strings.HasSuffix(to.Object, "/") {
		to.Object += nameOf(from)
	}
	tree, err := groupTree(ctx, j.App, from.String())
	switch {
	case err != nil:
		return true, err
	case tree == nil:
		return true, j.cpMember(ctx, from, format, to)
	case into && strings.Trim(to.Object, "/") != "":
		return true, errors.Join(j.cpGroup(ctx, tree, from, to), tree.Close())
	}
	if err := tree.Close(); err != nil {
		return true, err
	}
	return true, shell.Usagef("%s is a group; hyperslab convert copies it to a new file, and cp to FILE:/path in a container", from)
}

// cpMember copies an array of a container to a file, or an array to a path of a container.
func (j *cpJob) cpMember(ctx context.Context, from locate.Location, format hyperslab.Format, to locate.Location) error {
	f, err := chunkmap.FrameOf(from, string(format))
	if err != nil {
		return ndarray.Wrap("copy", from.String(), err)
	}
	if _, missing := os.Stat(to.File); f != nil && shell.IsStore(j.kind) && missing != nil { // the first array
		ext, err := extensionOf(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return ndarray.Wrap("copy", from.String(), err)
		}
		if f = nil; ext != b2store.ArrayExt {
			return shell.Usagef("%s is not an array, and cannot be the first object of %s; copy an array first", from, to.File)
		}
	}
	switch {
	case f != nil:
		return errors.Join(j.cpFrame(ctx, f, from, to), f.Close())
	case to.Object == "":
		return shell.Usagef("%s is a column of a table; hyperslab convert writes it to a file", from)
	}
	return j.cpArray(ctx, from.String(), format, to)
}

// cpGroup copies the group of a tree to a group of a container.
func (j *cpJob) cpGroup(ctx context.Context, tree *hyperslab.Tree, from, to locate.Location) error {
	opts := &hyperslab.TreeOptions{
		DryRun: j.edit.dryRun, Overwrite: j.force,
		Accept: j.attrs.Accept,
	}
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = j.edit.meter(p.TotalBytes)
		}
		m.Update(p.DoneBytes)
	}
	stats, err := hyperslab.CopyTree(ctx, to.String(), tree, opts)
	if m != nil {
		m.Finish()
	}
	if len(stats.Refused) > 0 {
		return fmt.Errorf("%w: %s of %s cannot be stored in %s; the file is unchanged:\n  %s",
			errors.ErrUnsupported, term.Plural(int64(len(stats.Refused)), "thing"), from, to.File, problemLines(stats.Refused))
	}
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(stats.Lost, stats.Changes) {
		j.Note("%s not kept: %s", j.Talk.Notice("hyperslab cp:"), term.Safe(p.String()))
	}
	if j.edit.dryRun {
		j.Note("would copy %s to %s: %s in %s, %s", term.Safe(from.String()), term.Safe(to.String()),
			term.Plural(int64(stats.Arrays), "array"), term.Plural(int64(stats.Groups), "group"), term.FormatBytes(stats.Bytes))
	}
	return nil
}

// nameOf returns the name of the array at a location.
func nameOf(l locate.Location) string {
	if name := path.Base("/" + l.Object); name != "/" {
		return name
	}
	return strings.TrimSuffix(filepath.Base(l.File), filepath.Ext(l.File))
}

// extensionOf returns the extension of the file of a frame in a container.
func extensionOf(f *chunkmap.Frame) (string, error) {
	h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
	if err != nil {
		return "", errs.Mark(err, ndarray.ErrCorrupt)
	}
	return stores.Extension(h), nil
}

// cpFrame copies the bytes of a frame to a file, or to a file of a container.
func (j *cpJob) cpFrame(ctx context.Context, f *chunkmap.Frame, from, to locate.Location) (err error) {
	kind := string(j.kind)
	var out *atomicfile.Output
	if to.Object == "" {
		if _, err := os.Lstat(to.File); err == nil && !j.force {
			return &ndarray.Error{Op: "create", Path: to.File, Err: ndarray.ErrExists}
		}
		if !j.edit.dryRun {
			out, err = shell.NewOutput(ctx, to.File, atomicfile.Options{Overwrite: j.force})
		}
	} else {
		ext, xerr := extensionOf(f)
		if xerr != nil {
			return ndarray.Wrap("copy", from.String(), xerr)
		}
		key := path.Clean("/" + to.Object)
		if j.edit.dryRun {
			err = stores.CheckAdd(to.File, kind, key, ext, j.force)
		} else {
			out, err = stores.Add(ctx, nil, to.File, kind, key, ext, j.force)
		}
	}
	if err != nil {
		return ndarray.Wrap("create", to.String(), err)
	}
	if j.edit.dryRun {
		j.Note("would copy %s to %s: %s", term.Safe(from.String()), term.Safe(to.String()), term.FormatBytes(f.Size))
		return nil
	}
	if err = writeFile(ctx, out.Path(), io.NewSectionReader(f, 0, f.Size)); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	return nil
}

// writeFile writes a new file.
func writeFile(ctx context.Context, file string, r io.Reader) error {
	w, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, urlfile.Reader(ctx, r))
	return errors.Join(err, w.Close())
}
