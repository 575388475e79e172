// The parts of a source that a copy cannot contain.

package treecopy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/errs"
	"github.com/hyperslab/hyperslab/internal/tree"
)

// losses are the statistics of a copy, with the parts of the source that the target cannot
// represent.
type losses struct {
	options *Options
	stats   Stats
	refused []Problem // losses that are not accepted
	without []string  // paths of the source that are left out
	closed  []string  // the groups among them that the target cannot represent
}

// loseObject records an object that the target cannot represent. All objects in it and links to it
// are lost too.
func (l *losses) loseObject(path string, kind tree.Kind, err error) {
	l.Lose(path, string(kind), err)
	l.without = append(l.without, path)
	if kind == tree.Group {
		l.closed = append(l.closed, path)
	}
}

// Lose records a part that the target cannot represent.
func (l *losses) Lose(path, what string, err error) {
	p := Problem{Path: path, What: what, Err: tree.WithoutPath(err)}
	if l.options.Accept != nil && l.options.Accept(p) {
		l.stats.Lost = append(l.stats.Lost, p)
	} else {
		l.refused = append(l.refused, p)
	}
}

// Unreadable records an object that cannot be read.
func (l *losses) Unreadable(path, what string, err error) {
	if !l.options.SkipUnreadable {
		l.loseObject(path, tree.Kind(what), err)
		return
	}
	l.UnreadablePart(path, what, err)
	l.without = append(l.without, path)
}

// UnreadablePart records a part of an object that cannot be read. The object itself is copied.
func (l *losses) UnreadablePart(path, what string, err error) {
	l.stats.Unreadable = append(l.stats.Unreadable, Problem{Path: path, What: what, Err: tree.WithoutPath(err)})
}

// Report records a change that needs no acceptance.
func (l *losses) Report(path, what, value, reason string) {
	p := Problem{Path: path, What: fmt.Sprintf("%s (%s)", what, value), Err: errs.Mark(errors.New(reason), errors.ErrUnsupported)}
	l.stats.Changes = append(l.stats.Changes, p)
}

// Skips reports whether the object that caused an error is left out.
func (l *losses) Skips(ctx context.Context, err error) bool {
	return l.options.SkipUnreadable && tree.Unreadable(err) && ctx.Err() == nil
}

// LeftOut reports whether a path, or a group that contains it, is left out.
func (l *losses) LeftOut(path string) bool {
	return slices.ContainsFunc(l.without, func(x string) bool { return path == x || strings.HasPrefix(path, x+"/") })
}

// closedGroup returns the group around a path that the target cannot represent.
func (l *losses) closedGroup(path string) (group string, ok bool) {
	i := slices.IndexFunc(l.closed, func(group string) bool { return strings.HasPrefix(path, group+"/") })
	if i < 0 {
		return "", false
	}
	return l.closed[i], true
}

// Excluded reports whether the caller leaves out the object at a path of the source.
func (l *losses) Excluded(path string) bool {
	return l.options.Exclude != nil && l.options.Exclude(path)
}

// unsupportedIn returns the error for an object or a link that a format cannot store.
func unsupportedIn(format string, e *tree.Entry) error {
	return fmt.Errorf("%w: %s in format %s", errors.ErrUnsupported, form(e), format)
}

// form describes the entry in a refusal. It is not empty.
func form(e *tree.Entry) string {
	text := func(first, rest string) string { return strings.TrimSpace(first + " " + rest) }
	switch {
	case e.Err != nil && e.Err.Error() != "":
		return e.Err.Error()
	case e.Kind == tree.Link && e.Target != "":
		return text(e.LinkKind, "link to "+e.Target)
	case e.Kind == tree.Link:
		return text(e.LinkKind, "link")
	case e.Kind == tree.Type:
		return text("the committed datatype", e.Type)
	case e.Kind == tree.Other:
		return text("a file or an object that is no array", e.Type)
	case e.Type == "":
		return fmt.Sprintf("%v without a datatype", e.Kind)
	}
	return e.Type
}
