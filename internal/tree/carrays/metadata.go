// Metadata files.

package carrays

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/bcolztree"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// Metadata reads the metadata files of the directory, or of one of its columns. It does not follow
// links out of the directory.
func (d *directory) Metadata(ctx context.Context, at string) (m tree.Metadata, err error) {
	if err := d.s.Ready(ctx); err != nil {
		return m, err
	}
	if !tree.IsRoot(at) {
		if err := d.exists(ctx, at); err != nil {
			return m, err
		}
	}
	if d.s.IsDir() {
		files, err := d.s.FS(ctx)
		if err != nil {
			return m, err
		}
		m.Files, err = d.files(files, at)
		return m, err
	}
	root, err := os.OpenRoot(d.s.Path)
	if err != nil {
		return m, err
	}
	m.Files, err = d.files(root.FS(), at)
	return m, errors.Join(err, root.Close())
}

// exists returns an error unless the directory is a ctable with a column or a group at a path.
func (d *directory) exists(ctx context.Context, at string) error {
	t, err := d.table(ctx, d.options(nil))
	if errors.Is(err, ndarray.ErrFormat) {
		return isCarray(at)
	}
	name := strings.Trim(at, "/")
	if err == nil && !slices.Contains(t.Names, name) && !hasGroup(t, name) {
		err = fmt.Errorf("%w: no column or group %s in %s", ndarray.ErrNotFound, at, d.s.Name)
	}
	return err
}

// files reads the metadata files. It does not list a directory at a URL.
func (d *directory) files(files fs.FS, at string) (out []tree.NamedBytes, err error) {
	at = path.Join(".", strings.Trim(at, "/"))
	names := []string{"__rootdirs__", "__attrs__", bcolztree.SizesFile, "meta/storage"}
	others, err := bcolztree.OtherMeta(files, at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !d.s.Remote {
		return nil, err
	}
	most := int64(-1)
	if d.s.Trust != nil {
		most = d.s.Trust.Limits.Metadata
	}
	for _, name := range append(names, others...) {
		name = path.Join(at, name)
		info, err := fs.Stat(files, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%w: %s is a %v", ndarray.ErrCorrupt, name, info.Mode().Type())
		}
		if most >= 0 {
			if most -= info.Size(); most < 0 {
				return nil, &format.Error{
					Format: "bcolz", What: "files of metadata", Got: fmt.Sprintf("%d bytes more", -most),
					Want: fmt.Sprintf("at most %d", d.s.Trust.Limits.Metadata), Err: format.ErrLimit,
				}
			}
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		out = append(out, tree.NamedBytes{Name: name, Content: b})
	}
	return out, nil
}
