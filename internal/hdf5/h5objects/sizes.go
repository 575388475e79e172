package h5objects

import (
	"context"
	"path/filepath"

	"github.com/hyperslab/hyperslab/h5"
)

// Directory returns the real directory that a file is in or will be in.
func Directory(file string) (string, error) {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir, nil // creating the file reports it
	}
	return real, nil
}

// StoredBytes returns the stored bytes of all datasets at and below an object. Objects that cannot
// be read count as 0, because their copy reports the error.
func StoredBytes(ctx context.Context, root *h5.Group, object string) (total int64) {
	if o, err := root.OpenObject(object); err == nil {
		total = storedAt(ctx, o)
		_ = o.Close()
	}
	return total
}

func storedAt(ctx context.Context, o h5.Object) (total int64) {
	switch o := o.(type) {
	case *h5.Dataset:
		total, _, _ = o.Stored() // an error is that of the copy
	case *h5.Group:
		for v, err := range o.Visit() {
			if ctx.Err() != nil {
				break
			}
			if err != nil || v.Kind != h5.DatasetObject {
				continue
			}
			if d, err := o.OpenDataset(v.Path); err == nil {
				total += storedAt(ctx, d)
				_ = d.Close()
			}
		}
	}
	return total
}
