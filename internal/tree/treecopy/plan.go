// The plan of a copy: the objects to create, and the losses and changes.

package treecopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/format/b2store"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/location/urlfile"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/internal/tree/textview"
	"github.com/hyperslab/hyperslab/ndarray"
)

// copier plans and makes one copy.
type copier struct {
	losses
	source copySource
	*destination
	target tree.Target

	plan      tree.Plan
	unordered []string // groups whose creation order of links the target does not have
	progress  ndarray.Progress
}

var _ tree.Copier = (*copier)(nil)

// Source implements tree.Copier.
func (c *copier) Source() *tree.CopySource { return &c.source.as }

// Plan implements tree.Copier.
func (c *copier) Plan() *tree.Plan { return &c.plan }

// strings returns the mode of replacing strings.
func (c *copier) strings() textview.Mode {
	return cmp.Or(textview.Mode(c.options.Strings), textview.Auto)
}

// copy plans and makes the copy.
func (c *copier) copy(ctx context.Context) error {
	if mode := c.strings(); !slices.Contains([]textview.Mode{textview.Auto, textview.Fixed, textview.Error}, mode) {
		return fmt.Errorf("%w: strings: got %q, want auto, fixed or error", ndarray.ErrParam, mode)
	}
	var err error
	if c.target, err = newTarget(c); err != nil {
		return err
	}
	if err := c.makePlan(ctx); err != nil {
		return err
	}
	c.progress = ndarray.Progress{TotalBytes: c.plan.Counts.Bytes, TotalUnits: int64(len(c.plan.Arrays))}
	if len(c.refused) > 0 {
		c.stats.Refused = c.refused
		return fmt.Errorf("%w: %s does not hold %d parts of the source, for example %s", errors.ErrUnsupported, c.format, len(c.refused), c.refused[0])
	}
	if c.options.DryRun {
		return nil
	}
	out, err := c.output(ctx, c.options.Overwrite)
	if err != nil {
		return err
	}
	if err = c.target.Write(ctx, out.Path()); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	if !c.InDirectory() {
		return nil
	}
	return c.register(ctx, c.tables())
}

// makePlan walks the source and determines the objects to create.
func (c *copier) makePlan(ctx context.Context) error {
	root := c.source.as.Root
	for e, err := range c.source.All(ctx, opened.WalkOptions{}) {
		if err != nil {
			return err
		}
		if e.Path != root && c.Excluded(e.Path) {
			c.without = append(c.without, e.Path)
			continue
		}
		if group, ok := c.closedGroup(e.Path); ok {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: group %s is left out", errors.ErrUnsupported, group))
			continue
		}
		if c.LeftOut(e.Path) || c.inWhole(e.Path) {
			continue
		}
		if e.Path == root && e.Kind != tree.Group && !(c.options.Table && e.Kind == tree.Array) {
			return fmt.Errorf("%w: %s: got one %s, want a group", ndarray.ErrParam, urlfile.Redact(c.source.Location.String()), e.Kind)
		}
		item := &tree.Item{From: e.Path, Path: below(c.at, strings.TrimPrefix(e.Path, c.source.as.Prefix())), Entry: &e}
		if err := c.planEntry(ctx, item); err != nil {
			return err
		}
	}
	c.planLinks()
	for item, err := range c.others() {
		if err != nil {
			return err
		}
		c.plan.Arrays = append(c.plan.Arrays, item)
		c.plan.Counts.Bytes += item.Bytes
	}
	if !c.target.Traits().Nulls {
		c.planNulls()
	}
	if err := c.target.Complete(ctx); err != nil {
		return err
	}
	c.reportOrder(root)
	size, err := c.source.userBlock()
	if err == nil && size > 0 {
		c.Report(root, "user block", fmt.Sprintf("%d bytes", size), "only repack and cp of the whole file keep it")
	}
	return err
}

// planLinks removes links to objects that are left out.
func (c *copier) planLinks() {
	c.plan.Links = slices.DeleteFunc(c.plan.Links, func(item *tree.Item) bool {
		e := item.Entry
		if e.LinkKind != h5.HardLink.String() || !c.LeftOut(e.Target) {
			return false
		}
		c.Lose(e.Path, "link", fmt.Errorf("%w: hard link to %s, which is left out", errors.ErrUnsupported, e.Target))
		c.plan.Counts.Links--
		return true
	})
}

// planEntry plans one object of the source.
func (c *copier) planEntry(ctx context.Context, item *tree.Item) error {
	e := item.Entry
	if c.target.Begin(item) {
		return nil
	}
	if e.Err != nil {
		c.Unreadable(e.Path, string(e.Kind), e.Err)
		return nil
	}
	if err := c.target.CheckName(item.Path, e.Kind == tree.Group); err != nil {
		c.loseObject(e.Path, e.Kind, err)
		return nil
	}
	if planned, err := c.target.Plan(item); planned || err != nil {
		return err
	}
	switch e.Kind {
	case tree.Group:
		return c.planGroup(ctx, item)
	case tree.Array:
		return c.planArray(ctx, item)
	case tree.Link:
		if !slices.Contains(c.target.Traits().Links, e.LinkKind) {
			c.Lose(e.Path, "link", unsupportedIn(c.format, e))
			return nil
		}
		c.plan.Links = append(c.plan.Links, item)
		c.plan.Counts.Links++
		return nil
	case tree.Type:
		if c.format == detect.HDF5 && c.source.Format == detect.HDF5 {
			c.loseObject(e.Path, e.Kind, fmt.Errorf("%w: %s of an untrusted file", errors.ErrUnsupported, form(e)))
			return nil
		}
	}
	c.loseObject(e.Path, e.Kind, unsupportedIn(c.format, e))
	return nil
}

// planGroup plans a group.
func (c *copier) planGroup(ctx context.Context, item *tree.Item) error {
	e := item.Entry
	attrs, err := c.source.GroupAttrs(ctx, e.Path)
	switch {
	case err == nil:
	case c.options.SkipUnreadable && tree.Unreadable(err):
		c.UnreadablePart(e.Path, "attributes", err)
	default:
		return err
	}
	if !c.target.Traits().GroupAttrs {
		for _, attr := range attrs.List {
			c.Lose(e.Path, "attribute "+attr.Name, fmt.Errorf("%w: an EmbedStore has no attributes of groups", errors.ErrUnsupported))
		}
		attrs.List = nil
	}
	item.Attrs, item.Comment = c.Keep(e.Path, attrs, false), c.comment(e.Path, e.Comment)
	if err := c.arrange(e.Path, item.Attrs); err != nil {
		return err
	}
	c.addGroup(item)
	return nil
}

// shared returns the spec of the array before, if it is equal, because a file may have very many
// arrays, and only their paths differ in most files.
func (c *copier) shared(spec *ndarray.Spec) *ndarray.Spec {
	if len(c.plan.Arrays) > 0 {
		if last := c.plan.Arrays[len(c.plan.Arrays)-1].Spec; reflect.DeepEqual(last, spec) {
			return last
		}
	}
	return spec
}

// addGroup plans a group.
func (c *copier) addGroup(item *tree.Item) {
	item.Entry = nil
	c.plan.Groups = append(c.plan.Groups, item)
	c.plan.Counts.Groups++
}

// AddArray plans an array.
func (c *copier) AddArray(item *tree.Item) {
	item.Entry = nil
	c.plan.Arrays = append(c.plan.Arrays, item)
	c.plan.Counts.Arrays++
	c.plan.Counts.Bytes += item.Bytes
}

// Rows returns the number of rows of the first array, or -1 before it.
func (c *copier) Rows() int64 {
	if len(c.plan.Arrays) == 0 || c.plan.Arrays[0].Spec == nil || len(c.plan.Arrays[0].Spec.Shape) == 0 {
		return -1
	}
	return c.plan.Arrays[0].Spec.Shape[0]
}

// tables returns the paths of the tables that are copied as a whole.
func (c *copier) tables() (paths []string) {
	for _, item := range c.plan.Arrays {
		if dir, ok := strings.CutSuffix(item.Path, "/"+b2store.TableMeta); ok {
			paths = append(paths, cmp.Or(dir, "/"))
		}
	}
	return paths
}

// inWhole reports whether a path is in a group that is copied as a whole.
func (c *copier) inWhole(at string) bool {
	return slices.ContainsFunc(c.plan.Whole, func(group string) bool {
		return at != group && strings.HasPrefix(at, strings.TrimSuffix(group, "/")+"/")
	})
}
