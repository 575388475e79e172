// Copies of trees to formats whose arrays are Blosc2 frames.

package frames

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/format/b2ndmeta"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/cframe"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// Files receives the frames of a target.
type Files interface {
	// Begin returns the name of a file to create for a key.
	Begin(key, ext string) (string, error)
	// Finish adds the complete file.
	Finish(key, ext string) error
	// Drop removes a file that is not added.
	Drop(key, ext string) error
}

// Target is the common part of targets whose arrays are Blosc2 frames.
type Target struct {
	tree.PlainTarget
	Copy  tree.Copier
	Files Files
}

// Opener is the ability of a tree to hand out its frames.
type Opener interface {
	// OpenFrame opens the frame at a path and returns the extension of its file. The frame is nil
	// if the object is no single frame, or if the tree is untrusted and therefore read by workers
	// only.
	OpenFrame(path string) (*stores.Frame, string, error)
}

// open opens the frame at a path of the source, if it hands out its frames.
func (t *Target) open(path string) (*stores.Frame, string, error) {
	if x, ok := tree.As[Opener](t.Copy.Source().Tree); ok {
		return x.OpenFrame(path)
	}
	return nil, "", nil
}

// Traits implements tree.Target.
func (t *Target) Traits() tree.Traits {
	return tree.Traits{Format: detect.B2ND, Compression: b2nd.DefaultCompression(), Frames: true, GroupAttrs: true}
}

// Check implements tree.Target.
func (t *Target) Check(_ string, spec ndarray.Spec, _ int64) error { return b2nd.Check(spec) }

// Stores reports that a frame stores each attribute.
func (t *Target) Stores(ndarray.Attr) bool { return true }

// Plan plans the copy of a frame that is not a b2nd or Caterva array.
func (t *Target) Plan(item *tree.Item) (planned bool, err error) {
	if item.Entry.Kind != tree.Array {
		return false, nil
	}
	f, ext, err := t.open(item.From)
	if f == nil || err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h, err := cframe.ReadHeader(f, f.Size, cframe.DefaultLimits())
	if err != nil {
		return false, nil // opening the array returns the reason
	}
	for _, name := range []string{b2ndmeta.Name, b2ndmeta.CatervaName} {
		if _, is := h.Metalayer(name); is {
			return false, nil
		}
	}
	if item.Ext = ext; ext != b2store.FrameExt && ext != b2store.BatchExt {
		item.Ext = stores.Extension(h)
	}
	item.Frame = func() (*stores.Frame, error) {
		f, _, err := t.open(item.From)
		return f, err
	}
	item.Bytes = f.Size
	t.Copy.Plan().Counts.Attrs += item.Entry.Attrs
	t.Copy.AddArray(item)
	return true, nil
}

// Own copies a frame byte for byte.
func (t *Target) Own(ctx context.Context, item *tree.Item) (bool, error) {
	if item.Frame == nil {
		return false, nil
	}
	name, err := t.Files.Begin(item.Path, item.Ext)
	if err != nil {
		return false, err
	}
	return true, copyFrame(ctx, item, name)
}

// Create implements tree.ArrayWriter.
func (t *Target) Create(item *tree.Item) (ndarray.Backend, error) {
	name, err := t.Files.Begin(item.Path, b2store.ArrayExt)
	if err != nil {
		return nil, err
	}
	return b2nd.Create(name, *item.Spec, &b2nd.CreateOptions{Name: item.Path})
}

// Finish implements tree.ArrayWriter.
func (t *Target) Finish(_ context.Context, item *tree.Item) error {
	return t.Files.Finish(item.Path, extension(item))
}

// Remove implements tree.ArrayWriter.
func (t *Target) Remove(item *tree.Item) error {
	return t.Files.Drop(item.Path, extension(item))
}

// extension returns the extension of the file of an array in a store.
func extension(item *tree.Item) string {
	if item.Frame != nil {
		return item.Ext
	}
	return b2store.ArrayExt
}

// copyFrame copies the frame of an item to a new file.
func copyFrame(ctx context.Context, item *tree.Item, file string) (err error) {
	f, err := item.Frame()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, urlfile.Reader(ctx, io.NewSectionReader(f, 0, f.Size)))
	return errors.Join(err, out.Close())
}
