// Copies of trees to containers of python-blosc2.

package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/hyperslab/hyperslab/internal/blosc/stores"
	"github.com/hyperslab/hyperslab/internal/files/atomicfile"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/ndarray/b2nd"
)

// storeTarget is a TreeStore (.b2z, .b2d) or an EmbedStore (.b2e).
type storeTarget struct {
	frames.Target
	kind string // B2Z, B2D or B2E
}

// newTarget returns the target for a store or for a table in one.
func newTarget(c tree.Copier, kind string, table bool) tree.Target {
	all := frames.Target{Copy: c}
	if table {
		return &tableTarget{Target: all, kind: kind}
	}
	return &storeTarget{Target: all, kind: kind}
}

// storeOf returns the open store that is the source of a copy, or nil.
func storeOf(c tree.Copier) *stores.Store {
	if x, ok := tree.As[Holder](c.Source().Tree); ok {
		return x.Store()
	}
	return nil
}

func (t *storeTarget) Traits() tree.Traits {
	k := t.Target.Traits()
	k.GroupAttrs = t.kind != detect.B2E
	return k
}

func (t *storeTarget) CheckName(at string, _ bool) error {
	if at == "/" {
		return nil
	}
	return b2store.CheckKey(t.Copy.Key(at))
}

// Plan plans the copy of all parts of a CTable, with its deleted rows, unless the target is an
// EmbedStore or one of the columns is left out.
func (t *storeTarget) Plan(item *tree.Item) (bool, error) {
	if item.Entry.Kind != tree.Group {
		return t.Target.Plan(item)
	}
	s, plan := storeOf(t.Copy), t.Copy.Plan()
	if s == nil || t.kind == detect.B2E {
		return false, nil
	}
	table := s.Table(item.From)
	if table == nil {
		return false, nil
	}
	for _, column := range table.Columns {
		if t.Copy.Excluded(path.Join(item.From, column.Path)) {
			return false, nil
		}
	}
	for key, x := range table.Parts() {
		part := &tree.Item{From: path.Join(item.From, key), Path: path.Join(item.Path, key), Ext: path.Ext(x.Member.Name)}
		if part.Ext == "" { // embedded
			part.Ext = b2store.ArrayExt
			if name := path.Base(key); name == b2store.TableMeta || key == b2store.TableAttrs {
				part.Ext = b2store.FrameExt
			}
		}
		part.Frame = func() (*stores.Frame, error) { return s.Frame(x) }
		part.Bytes = max(x.Member.Size, x.Embedded.Length)
		plan.Arrays = append(plan.Arrays, part)
		plan.Counts.Bytes += part.Bytes
	}
	plan.Counts.Groups++
	plan.Counts.Arrays += len(table.Columns)
	plan.Counts.Attrs += item.Entry.Attrs
	plan.Whole = append(plan.Whole, item.From)
	return true, nil
}

// Complete records empty groups, which an EmbedStore cannot represent.
func (t *storeTarget) Complete(context.Context) error {
	if t.kind != detect.B2E {
		return nil
	}
	implied := t.impliedGroups()
	for _, item := range t.Copy.Plan().Groups {
		if !implied[item.Path] {
			t.Copy.Lose(item.From, string(tree.Group), fmt.Errorf("%w: an EmbedStore has no empty groups", errors.ErrUnsupported))
		}
	}
	return nil
}

// impliedGroups returns the groups with an array below them.
func (t *storeTarget) impliedGroups() map[string]bool {
	implied := map[string]bool{"/": !t.Copy.InDirectory() || len(t.Copy.Plan().Arrays) > 0}
	for _, item := range t.Copy.Plan().Arrays {
		for at := path.Dir(item.Path); !implied[at] && !t.Copy.LeftOut(item.From); at = path.Dir(at) {
			implied[at] = true
		}
	}
	return implied
}

func (t *storeTarget) Write(ctx context.Context, file string) error {
	if t.kind == detect.B2E {
		return t.writeEmbedded(ctx, file)
	}
	return writeStore(ctx, file, t.kind, func(files frames.Files) error {
		t.Files = files
		return t.writeTree(ctx)
	})
}

// writeTree writes a TreeStore.
func (t *storeTarget) writeTree(ctx context.Context) error {
	if err := t.Copy.CopyArrays(ctx, t); err != nil {
		return err
	}
	implied := t.impliedGroups()
	for _, item := range t.Copy.Plan().Groups {
		if len(item.Attrs) == 0 && implied[item.Path] {
			continue
		}
		if err := writeFrame(t.Files, path.Join(item.Path, b2store.GroupAttrs), b2store.FrameExt, 0, item.Attrs); err != nil {
			return err
		}
	}
	if t.Copy.InDirectory() {
		return nil // the container has the frame with the embedded objects
	}
	return writeEmbed(t.Files)
}

// writeEmbedded writes an EmbedStore, which contains all frames one after the other. They are first
// written to a temporary file, because their offsets precede them in the new file.
func (t *storeTarget) writeEmbedded(ctx context.Context, file string) (err error) {
	stage, err := atomicfile.Create(ctx, file+".member", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Abort()) }()
	values, err := atomicfile.Create(ctx, file+".values", atomicfile.Options{Volatile: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, values.Abort()) }()
	all, err := os.OpenFile(values.Path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	e := &embedFiles{stage: stage.Path(), values: all}
	t.Files = e
	if err := t.Copy.CopyArrays(ctx, t); err != nil {
		return err
	}
	if _, err := all.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return b2nd.CreateFrame(file, embedChunk, urlfile.Reader(ctx, all), embedAttrs("b2embed", e.ranges, e.offset))
}
