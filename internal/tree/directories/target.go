// Copies of trees to directories of arrays.

package directories

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// target is a directory of arrays.
type target struct{ frames.Target }

func newTarget(c tree.Copier, _ bool) tree.Target { return &target{frames.Target{Copy: c}} }

func (t *target) CheckName(at string, group bool) error {
	if at == "/" {
		return nil
	}
	_, err := fileName(at[strings.LastIndexByte(at, '/')+1:], group)
	return err
}

func (t *target) Write(ctx context.Context, dir string) error {
	for _, item := range t.Copy.Plan().Groups {
		at, err := place(dir, item.Path, true)
		if err != nil {
			return err
		}
		if err := os.Mkdir(at, 0o777); err != nil {
			return err
		}
		b, err := b2nd.Create(filepath.Join(at, groupFile), groupSpec(item.Attrs), nil)
		if err != nil {
			return err
		}
		if err := b.Close(); err != nil {
			return err
		}
	}
	t.Files = arrayFiles(dir)
	return t.Copy.CopyArrays(ctx, t)
}

// arrayFiles are the files of a directory of arrays.
type arrayFiles string

func (d arrayFiles) Begin(key, _ string) (string, error) { return place(string(d), key, false) }
func (d arrayFiles) Finish(string, string) error         { return nil }

func (d arrayFiles) Drop(key, ext string) error {
	name, err := d.Begin(key, ext)
	if err != nil {
		return err
	}
	return os.RemoveAll(name)
}

// place returns the path of an object of a tree in a directory.
func place(dir, path string, group bool) (string, error) {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, name := range parts {
		file, err := fileName(name, group || i < len(parts)-1)
		if err != nil {
			return "", err
		}
		dir = filepath.Join(dir, file)
	}
	return dir, nil
}
