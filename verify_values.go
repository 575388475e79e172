// Verification of values whose structure verify.File does not know: tables and Python objects.

package hyperslab

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hyperslab/hyperslab/internal/format/detect"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/internal/tree/frames"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// textsAtOnce is the number of strings that are read in one step.
const textsAtOnce = 1024

// checkValues opens every array of a container of python-blosc2, which compares the parts of each
// table, and decodes all strings and Python objects. It omits arrays in which r already lists an
// error, and adds its findings to r.
func checkValues(ctx context.Context, path string, r *verify.Report, o *VerifyOptions) error {
	f := Format(r.Format)
	if !detect.IsStore(string(f)) && (f != B2ND || !frames.IsObjects(path)) {
		return nil
	}
	var u *Untrusted
	if o.Untrusted || o.Isolated {
		u = &Untrusted{InProcess: !o.Isolated, MaxChunk: o.MaxChunk, MaxMetadata: o.MaxMetadata}
	}
	t, err := OpenTree(ctx, path, &OpenOptions{Untrusted: u})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if r.NumDamages > 0 || r.NumUnchecked > 0 {
			return nil // verify.File has reported the error
		}
		if !isContent(err) {
			return err
		}
		return r.Add(verify.Finding{What: "values", Offset: -1, Chunk: -1, Err: tree.WithoutPath(err)}, cmp.Or(o.MaxFindings, 1000))
	}
	known := func(at string) bool {
		return slices.ContainsFunc(r.Damages, func(p verify.Finding) bool {
			return p.Object == "" || strings.HasPrefix("/"+p.Object+"/", at+"/")
		})
	}
	err = checkTree(ctx, t, func(at, what string, err error) error {
		at = strings.TrimRight(at, "/")
		if known(at) {
			return nil
		}
		return r.Add(verify.Finding{Object: strings.TrimPrefix(at, "/"), What: what, Offset: -1, Chunk: -1, Err: tree.WithoutPath(err)}, cmp.Or(o.MaxFindings, 1000))
	})
	return errors.Join(err, t.Close())
}

// isContent reports whether an error is caused by the content of a file.
func isContent(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, ndarray.ErrCorrupt) || errors.Is(err, ndarray.ErrType)
}

// checkTree calls note for each array that cannot be opened or whose strings cannot be read.
func checkTree(ctx context.Context, t *Tree, note func(at, what string, err error) error) error {
	for e, err := range t.Walk(ctx, nil) {
		if err != nil {
			if isContent(err) {
				return note("/", "values", err)
			}
			return err
		}
		what := "array"
		if err = e.Err; err == nil && e.Kind == Array && e.Meta.DType.Kind == ndarray.String {
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
func checkTexts(ctx context.Context, t *Tree, e Entry) (err error) {
	a, err := t.Open(ctx, e.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	strs := make([]string, textsAtOnce)
	for at, n := int64(0), a.NumElems(); at < n && len(a.Shape()) == 1; at += textsAtOnce {
		part := strs[:min(n-at, textsAtOnce)]
		if err := a.ReadStrings(ctx, part, rowRegion(at, int64(len(part)))); err != nil {
			return err
		}
	}
	return nil
}
