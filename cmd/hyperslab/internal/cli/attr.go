// hyperslab attr: list, show, set and remove attributes of arrays and groups.

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// attrListDoc is the document of attr list --json and attr get --json.
type attrListDoc struct {
	Schema           string           `json:"schema"`
	Address          string           `json:"address"`
	Attributes       []attrDoc        `json:"attributes"`
	UnsupportedAttrs []unsupportedDoc `json:"unsupported_attributes"`
}

func (a *app) attrCommand() *cobra.Command {
	list := a.attrListCommand()
	cmd := &cobra.Command{
		Use:   "attr [FILE[:/path]]",
		Short: "List, show, set and remove attributes",
		Long: `attr works on the attributes of an array or of a group, in every format. "attr FILE" is
"attr list FILE".` + addressHelp,
		Example:           `  hyperslab attr waves.b2nd`,
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			loc, err := locate.Parse(args[0])
			if err != nil {
				return err
			}
			if _, err := os.Lstat(loc.File); err != nil && !remote.IsURL(args[0]) {
				return usagef("there is no file and no command %q%s", "attr "+args[0], near(cmd, args[0]))
			}
			if err := list.Args(cmd, args); err != nil {
				return err
			}
			return list.RunE(cmd, args)
		},
	}
	cmd.Flags().AddFlagSet(list.Flags())
	cmd.AddCommand(list, a.attrGetCommand(), a.attrSetCommand(), a.attrRmCommand())
	return cmd
}

func (a *app) attrListCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "list FILE[:/path]...",
		Short: "List the attributes with their types and values",
		Example: `  hyperslab attr list waves.b2nd
  hyperslab attr list etopo.h5:/ROSE --json`,
		Args:              arity(1, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			where := address(args)
			attrs, broken := a.attrsAt(cmd.Context(), where)
			if broken != nil && len(attrs.List)+len(attrs.Unsupported) == 0 {
				return broken
			}
			if asJSON {
				return errors.Join(broken, a.writeJSON(a.stdout, newAttrListDoc(where, attrs)))
			}
			t := term.Table{Head: []string{"NAME", "DTYPE", "SHAPE", "VALUE"}}
			for _, attr := range attrs.List {
				v := attr.Value
				shape := term.FormatShape(v.Shape)
				if v.Null {
					shape = "null"
				}
				t.Add(term.Safe(attr.Name), v.DType.String(), shape, shorten(term.Safe(v.String()), wide))
			}
			for _, u := range attrs.Unsupported {
				text := "(" + u.Reason + ")"
				if j := newUnsupportedDoc(u).Value; j != nil {
					text = string(j)
				}
				t.Add(term.Safe(u.Name), shorten(term.Safe(u.Type), narrow), "", shorten(term.Safe(text), wide))
			}
			return errors.Join(broken, t.Write(a.stdout, a.data))
		},
	}
	jsonFlag(cmd, &asJSON)
	a.each(cmd)
	(&untrustedFlags{}).add(a, cmd)
	a.paged(cmd)
	return cmd
}

func (a *app) attrGetCommand() *cobra.Command {
	asJSON, plain := false, false
	cmd := &cobra.Command{
		Use:   "get FILE[:/path] NAME",
		Short: "Write the value of an attribute to standard output",
		Long: `get writes one attribute in the form that attr set reads back with the same type and
value: a string of variable length as it is, or in quotes if it is also JSON; true and
false, numbers of 8 bytes and lists of these as JSON; and every other value as
{"dtype": TYPE, "value": VALUE}. The guide lists the forms of all types. --plain writes
the value without its type, for scripts. The exit code is 2 if the attribute does not
exist.`,
		Example: `  hyperslab attr get waves.b2nd units
  hyperslab attr get waves.b2nd range
  hyperslab attr get waves.b2nd range --plain`,
		Args:              arity(2, 2),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			attrs, err := a.attrsAt(cmd.Context(), args[0])
			i := slices.IndexFunc(attrs.List, func(x ndarray.Attr) bool { return x.Name == args[1] })
			if i < 0 && err != nil {
				return err
			}
			if i < 0 {
				return a.getUnsupported(args[0], args[1], attrs.Unsupported, asJSON)
			}
			attr := attrs.List[i]
			if asJSON {
				return a.writeJSON(a.stdout, newAttrListDoc(args[0], ndarray.Attrs{List: []ndarray.Attr{attr}}))
			}
			text := attrLine(attr)
			if plain {
				text = plainLine(attr.Value)
			}
			if term.IsTerminal(a.stdout) {
				text = term.SafeLines(text)
			}
			_, err = fmt.Fprintln(a.stdout, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "write the value without its type: a string as it is, other values as JSON")
	jsonFlag(cmd, &asJSON)
	cmd.MarkFlagsMutuallyExclusive("plain", "json")
	(&untrustedFlags{}).add(a, cmd)
	a.paged(cmd)
	return cmd
}

// getUnsupported writes an attribute without a Value, if its content is known.
func (a *app) getUnsupported(address, name string, list []ndarray.UnsupportedAttr, asJSON bool) error {
	i := slices.IndexFunc(list, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
	if i < 0 {
		return &absentAttr{address, name, ""}
	}
	u := list[i]
	switch {
	case u.Raw == nil:
		return ndarray.Wrap("read attribute "+u.Name+" of", address, fmt.Errorf("%w: %s", errors.ErrUnsupported, u.Reason))
	case asJSON:
		return a.writeJSON(a.stdout, newAttrListDoc(address, ndarray.Attrs{Unsupported: []ndarray.UnsupportedAttr{u}}))
	}
	_, err := fmt.Fprintln(a.stdout, rawLine(u.Raw))
	return err
}

func (a *app) attrSetCommand() *cobra.Command {
	var e editFlags
	var dtype string
	cmd := &cobra.Command{
		Use:   "set FILE[:/path] NAME VALUE",
		Short: "Add an attribute, or replace its value",
		Long: `set writes one attribute. VALUE is parsed as JSON: a number, true or false, a string in
quotes, or nested lists of these. A VALUE that is not JSON is a string. Numbers become
int64, or float64 if one of them has a fraction or an exponent. --dtype selects another
type by its NumPy name, or "string" for a string of any content. A value that does not
fit the type is an error. {"dtype": TYPE, "value": VALUE}, which attr get writes, sets a
value of any type. In a b2nd and a bcolz array any other JSON object is stored as it is.` + editHelp,
		Example: `  hyperslab attr set waves.b2nd units km
  hyperslab attr set waves.b2nd range [-1,1.5] --dtype f4
  hyperslab attr set waves.h5:/waves version 2 --dtype string`,
		Args:              arity(3, 3),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			attr, err := parseAttr(args[2], dtype)
			if err != nil {
				return usagef("%s: %w", args[1], err)
			}
			attr.Name = args[1]
			if err := attr.Validate(); attr.Raw == nil && err != nil {
				return err
			}
			if err := e.holdAt(cmd.Context(), args[0]); err != nil {
				return err
			}
			if e.dryRun {
				if _, err := a.attrsAt(cmd.Context(), args[0]); err != nil {
					return err
				}
				shown := attr.Value.DType.String() + " " + attr.Value.String()
				if attr.Raw != nil {
					shown = rawLine(attr.Raw)
				}
				a.note("would set %s of %s to %s", term.Safe(attr.Name), term.Safe(args[0]), term.Safe(shown))
				return e.planAt(args[0])
			}
			return e.editAttrs(cmd.Context(), args[0], []ndarray.Attr{attr}, nil)
		},
	}
	cmd.Flags().StringVar(&dtype, "dtype", "", "element `TYPE` of the value")
	e.add(a, cmd)
	a.done(cmd)
	return cmd
}

func (a *app) attrRmCommand() *cobra.Command {
	var e editFlags
	cmd := &cobra.Command{
		Use:   "rm FILE[:/path] NAME...",
		Short: "Remove attributes",
		Long:  "rm removes all named attributes, or fails without a change." + editHelp,
		Example: `  hyperslab attr rm waves.b2nd scale
  hyperslab attr rm waves.h5:/waves scale range`,
		Args:              arity(2, -1),
		ValidArgsFunction: completeAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.holdAt(cmd.Context(), args[0]); err != nil {
				return err
			}
			attrs, err := a.attrsAt(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			for _, name := range args[1:] {
				_, ok := attrs.Get(name)
				ok = ok || slices.ContainsFunc(attrs.Unsupported, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
				if !ok {
					return &absentAttr{args[0], name, "; no attribute was removed"}
				}
			}
			if e.dryRun {
				a.note("would remove %s of %s", term.Plural(int64(len(args)-1), "attribute"), term.Safe(args[0]))
				return e.planAt(args[0])
			}
			return e.editAttrs(cmd.Context(), args[0], nil, args[1:])
		},
	}
	e.add(a, cmd)
	a.done(cmd)
	return cmd
}

// planAt calls plan for the file of an address.
func (e *editFlags) planAt(address string) error {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	return e.plan(loc.File)
}

// holdAt calls hold for the file of an address.
func (e *editFlags) holdAt(ctx context.Context, address string) error {
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	return e.hold(ctx, loc.File)
}

// editAttrs changes the attributes of the array or group at an address.
func (e *editFlags) editAttrs(ctx context.Context, address string, set []ndarray.Attr, remove []string) error {
	group, err := e.app.isGroupAt(ctx, address)
	if err != nil {
		return err
	}
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	return e.edit(ctx, loc.File, func(file string) error {
		at := locate.Location{File: file, Object: loc.Object}.String()
		if group {
			return hyperslab.EditGroupAttrs(ctx, at, set, remove)
		}
		return editArrayAttrs(ctx, at, set, remove)
	})
}

func editArrayAttrs(ctx context.Context, address string, set []ndarray.Attr, remove []string) (err error) {
	arr, err := hyperslab.Open(ctx, address, &hyperslab.OpenOptions{Write: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	for _, name := range remove {
		if err := arr.DeleteAttr(ctx, name); err != nil {
			return err
		}
	}
	for _, attr := range set {
		if err := arr.SetAttr(ctx, attr); err != nil {
			return err
		}
	}
	return nil
}

// openGroup opens the tree at an address and reports whether a group is there. Otherwise an array
// is there. An untrusted file is read in a sandbox.
func (a *app) openGroup(ctx context.Context, address string) (tree *hyperslab.Tree, group bool, err error) {
	if tree, err = a.openTree(ctx, address); err != nil {
		return nil, false, err
	}
	if group, err = isGroup(ctx, tree, address); err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	return tree, group, nil
}

// isGroup reports whether a group is at the location of a tree, which was opened with an address.
// Otherwise an array is there.
func isGroup(ctx context.Context, tree *hyperslab.Tree, address string) (bool, error) {
	for e, err := range tree.Walk(ctx, &hyperslab.WalkOptions{NoSizes: true, Prune: func(hyperslab.Entry) bool { return true }}) {
		return e.Kind == hyperslab.Group, err
	}
	return false, fmt.Errorf("%s: %w", address, ndarray.ErrNotFound)
}

// isGroupAt reports whether a group is at an address. Otherwise an array is there.
func (a *app) isGroupAt(ctx context.Context, address string) (bool, error) {
	tree, group, err := a.openGroup(ctx, address)
	if err != nil {
		return false, err
	}
	return group, tree.Close()
}

// attrsAt reads the attributes of the array or group at an address.
func (a *app) attrsAt(ctx context.Context, address string) (attrs ndarray.Attrs, err error) {
	a.access.metadata = true
	loc, err := locate.Parse(address)
	if err != nil {
		return attrs, err
	}
	tree, group, err := a.openGroup(ctx, address)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	if group {
		return tree.GroupAttrs(ctx, loc.Object)
	}
	arr, err := tree.Open(ctx, loc.Object)
	if err != nil {
		return attrs, err
	}
	defer func() { err = errors.Join(err, arr.Close()) }()
	return attrsOf(ctx, arr)
}

func newAttrListDoc(address string, attrs ndarray.Attrs) attrListDoc {
	d := attrListDoc{Schema: schemaAttr, Address: address, Attributes: []attrDoc{}, UnsupportedAttrs: []unsupportedDoc{}}
	for _, attr := range attrs.List {
		d.Attributes = append(d.Attributes, newAttrDoc(attr))
	}
	for _, u := range attrs.Unsupported {
		d.UnsupportedAttrs = append(d.UnsupportedAttrs, newUnsupportedDoc(u))
	}
	return d
}

// absentAttr is the error for a missing attribute. then describes the state of the job.
type absentAttr struct{ address, name, then string }

func (e *absentAttr) Error() string {
	return fmt.Sprintf("%s: attribute %s: %v%s", e.address, e.name, ndarray.ErrNotFound, e.then)
}

func (e *absentAttr) Unwrap() error { return ndarray.ErrNotFound }
