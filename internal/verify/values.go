// Verification of values that other packages decode: tables and Python objects.

package verify

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/internal/tree/opened"
	"github.com/hyperslab/hyperslab/ndarray"
)

// textsAtOnce is the number of strings that are read in one step.
const textsAtOnce = 1024

// checkValues opens every array of a container of python-blosc2, which compares the parts of each
// table, and decodes all strings and Python objects. It omits arrays in which r already lists an
// error, and adds its findings to r.
func checkValues(ctx context.Context, path string, r *Report, o *Options) error {
	if !detect.IsStore(r.Format) && (r.Format != detect.B2ND || !frames.IsObjects(path)) {
		return nil
	}
	var u *opened.Untrusted
	if o.Untrusted || o.Isolated {
		u = &opened.Untrusted{InProcess: !o.Isolated, Limits: format.Limits{Chunk: o.MaxChunk, Metadata: o.MaxMetadata}}
	}
	t, err := opened.Open(ctx, path, &opened.Options{Untrusted: u})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if r.NumDamages > 0 || r.NumUnchecked > 0 {
			return nil // file has reported the error
		}
		if !tree.Unreadable(err) {
			return err
		}
		return r.Add(Finding{What: "values", Offset: -1, Chunk: -1, Err: tree.WithoutPath(err)}, o.MaxDamages)
	}
	known := func(at string) bool {
		return slices.ContainsFunc(r.Damages, func(p Finding) bool {
			return p.Object == "" || strings.HasPrefix("/"+p.Object+"/", at+"/")
		})
	}
	err = checkTree(ctx, t, func(at, what string, err error) error {
		at = strings.TrimRight(at, "/")
		if known(at) {
			return nil
		}
		return r.Add(Finding{Object: strings.TrimPrefix(at, "/"), What: what, Offset: -1, Chunk: -1, Err: tree.WithoutPath(err)}, o.MaxDamages)
	})
	return errors.Join(err, t.Close())
}

// checkTree calls note for each array that cannot be opened or whose strings cannot be read.
func checkTree(ctx context.Context, t *opened.Tree, note func(at, what string, err error) error) error {
	for e, err := range t.All(ctx, opened.WalkOptions{}) {
		if err != nil {
			if tree.Unreadable(err) {
				return note("/", "values", err)
			}
			return err
		}
		what := "array"
		if err = e.Err; err == nil && e.Kind == tree.Array && e.Meta.DType.Kind == ndarray.String {
			what, err = "values", checkTexts(ctx, t, e)
		}
		if err != nil {
			err = note(e.Path, what, err)
		}
		if err := errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts reads all strings of an array of one dimension.
func checkTexts(ctx context.Context, t *opened.Tree, e tree.Entry) (err error) {
	a, err := t.Array(ctx, e.Path, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	strs := make([]string, textsAtOnce)
	for at, n := int64(0), a.NumElems(); at < n && len(a.Shape()) == 1; at += textsAtOnce {
		part := strs[:min(n-at, textsAtOnce)]
		if err := a.ReadStrings(ctx, part, ndarray.Region{Start: []int64{at}, Shape: []int64{int64(len(part))}}); err != nil {
			return err
		}
	}
	return nil
}
