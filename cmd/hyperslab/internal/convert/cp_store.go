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
func (a *app) cpStored(ctx context.Context, from locate.Location, format hyperslab.Format, to locate.Location, kind hyperslab.Format, o *cpFlags) (bool, error) {
	into := shell.IsStore(kind)
	out := shell.IsStore(format) && strings.Trim(from.Object, "/") != ""
	if to.Object == "" {
		if into && (out || !shell.IsStore(format)) {
			return true, shell.Usagef("%s: a path inside the store is missing, for example %s:/%s", to, to.File, nameOf(from))
		}
		if !out {
			return false, nil
		}
		if f, known := shell.NamedFormat(to.File); known && f != hyperslab.B2ND {
			return true, shell.Usagef("%s is stored as a Blosc2 frame, and the name %s has another format; hyperslab convert changes formats", from, to.File)
		}
	} else if !into {
		return false, nil
	}
	if strings.HasSuffix(to.Object, "/") {
		to.Object += nameOf(from)
	}
	if tree, err := a.groupTree(ctx, from.String()); err != nil {
		return true, err
	} else if tree != nil && into && strings.Trim(to.Object, "/") != "" {
		return true, errors.Join(a.cpGroup(ctx, tree, from, to, o), tree.Close())
	} else if tree != nil {
		if err := tree.Close(); err != nil {
			return true, err
		}
		return true, shell.Usagef("%s is a group; hyperslab convert copies it to a new file, and cp to FILE:/path in a container", from)
	}
	f, err := shell.FrameOf(from, format)
	if err != nil {
		return true, ndarray.Wrap("copy", from.String(), err)
	}
	if _, missing := os.Stat(to.File); f != nil && into && missing != nil { // the first array
		ext, err := extensionOf(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return true, ndarray.Wrap("copy", from.String(), err)
		}
		if f = nil; ext != b2store.ArrayExt {
			return true, shell.Usagef("%s is not an array, and cannot be the first object of %s; copy an array first", from, to.File)
		}
	}
	if f == nil && to.Object == "" {
		return true, shell.Usagef("%s is a column of a table; hyperslab convert writes it to a file", from)
	}
	if f == nil {
		return true, a.cpArray(ctx, from.String(), format, to, kind, o)
	}
	err = a.cpFrame(ctx, f, from, to, string(kind), o)
	return true, errors.Join(err, f.Close())
}

// cpGroup copies the group of a tree to a group of a container.
func (a *app) cpGroup(ctx context.Context, tree *hyperslab.Tree, from, to locate.Location, o *cpFlags) error {
	opts := &hyperslab.TreeOptions{
		DryRun: o.edit.dryRun, Overwrite: o.force,
		Accept: func(p hyperslab.Problem) bool {
			name, isAttr := strings.CutPrefix(p.What, "attribute ")
			return o.attrs.Unsupported || isAttr && slices.Contains(o.attrs.Names, name)
		},
	}
	var m *term.Meter
	opts.Progress = func(p ndarray.Progress) {
		if m == nil {
			m = o.edit.meter(p.TotalBytes)
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
		a.Note("%s not kept: %s", a.Talk.Notice("hyperslab cp:"), term.Safe(p.String()))
	}
	if o.edit.dryRun {
		a.Note("would copy %s to %s: %s in %s, %s", term.Safe(from.String()), term.Safe(to.String()),
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
func extensionOf(f *shell.StoredFrame) (string, error) {
	h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
	if err != nil {
		return "", errs.Mark(err, ndarray.ErrCorrupt)
	}
	return stores.Extension(h), nil
}

// cpFrame copies the bytes of a frame to a file, or to a file of a container.
func (a *app) cpFrame(ctx context.Context, f *shell.StoredFrame, from, to locate.Location, kind string, o *cpFlags) (err error) {
	var out *atomicfile.Output
	if to.Object == "" {
		if _, err := os.Lstat(to.File); err == nil && !o.force {
			return &ndarray.Error{Op: "create", Path: to.File, Err: ndarray.ErrExists}
		}
		if !o.edit.dryRun {
			out, err = shell.NewOutput(ctx, to.File, atomicfile.Options{Overwrite: o.force})
		}
	} else {
		ext, xerr := extensionOf(f)
		if xerr != nil {
			return ndarray.Wrap("copy", from.String(), xerr)
		}
		key := path.Clean("/" + to.Object)
		if o.edit.dryRun {
			err = stores.CheckAdd(to.File, kind, key, ext, o.force)
		} else {
			out, err = stores.Add(ctx, nil, to.File, kind, key, ext, o.force)
		}
	}
	if err != nil {
		return ndarray.Wrap("create", to.String(), err)
	}
	if o.edit.dryRun {
		a.Note("would copy %s to %s: %s", term.Safe(from.String()), term.Safe(to.String()), term.FormatBytes(f.Size))
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
