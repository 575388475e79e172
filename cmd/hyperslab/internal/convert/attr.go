// hyperslab attr: list, show, set and remove attributes of arrays and groups.

package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
	"github.com/hyperslab/hyperslab/ndarray"
	"github.com/hyperslab/hyperslab/remote"
)

// AttrListDoc is the document of attr list --json and attr get --json.
type AttrListDoc struct {
	Schema           string                 `json:"schema"`
	Address          string                 `json:"address"`
	Attributes       []shell.AttrDoc        `json:"attributes"`
	UnsupportedAttrs []shell.UnsupportedDoc `json:"unsupported_attributes"`
}

func (a *app) attrCommand() *cobra.Command {
	list := a.attrListCommand()
	cmd := &cobra.Command{
		Use:   "attr [FILE[:/path]]",
		Short: "List, show, set and remove attributes",
		Long: `attr works on the attributes of an array or of a group, in every format. "attr FILE" is
"attr list FILE".` + shell.AddressHelp,
		Example:           `  hyperslab attr waves.b2nd`,
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			loc, err := locate.Parse(args[0])
			if err != nil {
				return err
			}
			if _, err := os.Lstat(loc.File); err != nil && !remote.IsURL(args[0]) {
				return shell.Usagef("there is no file and no command %q%s", "attr "+args[0], shell.Near(cmd, args[0]))
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
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			where := shell.Address(args)
			attrs, broken := a.attrsAt(cmd.Context(), where)
			if broken != nil && len(attrs.List)+len(attrs.Unsupported) == 0 {
				return broken
			}
			if asJSON {
				return errors.Join(broken, a.WriteJSON(a.Stdout, newAttrListDoc(where, attrs)))
			}
			t := term.Table{Head: []string{"NAME", "DTYPE", "SHAPE", "VALUE"}}
			for _, attr := range attrs.List {
				v := attr.Value
				shape := term.FormatShape(v.Shape)
				if v.Null {
					shape = "null"
				}
				t.Add(term.Safe(attr.Name), v.DType.String(), shape, shell.Shorten(term.Safe(v.String()), shell.Wide))
			}
			for _, u := range attrs.Unsupported {
				text := "(" + u.Reason + ")"
				if j := shell.NewUnsupportedDoc(u).Value; j != nil {
					text = string(j)
				}
				t.Add(term.Safe(u.Name), shell.Shorten(term.Safe(u.Type), shell.Narrow), "", shell.Shorten(term.Safe(text), shell.Wide))
			}
			return errors.Join(broken, t.Write(a.Stdout, a.Data))
		},
	}
	shell.JSONFlag(cmd, &asJSON)
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a.App, cmd)
	a.Paged(cmd)
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
		Args:              shell.Arity(2, 2),
		ValidArgsFunction: shell.CompleteAddress,
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
				return a.WriteJSON(a.Stdout, newAttrListDoc(args[0], ndarray.Attrs{List: []ndarray.Attr{attr}}))
			}
			text := attrLine(attr)
			if plain {
				text = plainLine(attr.Value)
			}
			if term.IsTerminal(a.Stdout) {
				text = term.SafeLines(text)
			}
			_, err = fmt.Fprintln(a.Stdout, text)
			return err
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "write the value without its type: a string as it is, other values as JSON")
	shell.JSONFlag(cmd, &asJSON)
	cmd.MarkFlagsMutuallyExclusive("plain", "json")
	(&shell.UntrustedFlags{}).Add(a.App, cmd)
	a.Paged(cmd)
	return cmd
}

// getUnsupported writes an attribute without a Value, if its content is known.
func (a *app) getUnsupported(address, name string, list []ndarray.UnsupportedAttr, asJSON bool) error {
	i := slices.IndexFunc(list, func(u ndarray.UnsupportedAttr) bool { return u.Name == name })
	if i < 0 {
		return &shell.AbsentAttr{Address: address, Name: name}
	}
	u := list[i]
	switch {
	case u.Raw == nil:
		return ndarray.Wrap("read attribute "+u.Name+" of", address, fmt.Errorf("%w: %s", errors.ErrUnsupported, u.Reason))
	case asJSON:
		return a.WriteJSON(a.Stdout, newAttrListDoc(address, ndarray.Attrs{Unsupported: []ndarray.UnsupportedAttr{u}}))
	}
	_, err := fmt.Fprintln(a.Stdout, rawLine(u.Raw))
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
		Args:              shell.Arity(3, 3),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			attr, err := parseAttr(args[2], dtype)
			if err != nil {
				return shell.Usagef("%s: %w", args[1], err)
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
				a.Note("would set %s of %s to %s", term.Safe(attr.Name), term.Safe(args[0]), term.Safe(shown))
				return e.planAt(args[0])
			}
			return e.editAttrs(cmd.Context(), args[0], []ndarray.Attr{attr}, nil)
		},
	}
	cmd.Flags().StringVar(&dtype, "dtype", "", "element `TYPE` of the value")
	e.add(a, cmd)
	a.Done(cmd)
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
		Args:              shell.Arity(2, -1),
		ValidArgsFunction: shell.CompleteAddress,
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
					return &shell.AbsentAttr{Address: args[0], Name: name, Then: "; no attribute was removed"}
				}
			}
			if e.dryRun {
				a.Note("would remove %s of %s", term.Plural(int64(len(args)-1), "attribute"), term.Safe(args[0]))
				return e.planAt(args[0])
			}
			return e.editAttrs(cmd.Context(), args[0], nil, args[1:])
		},
	}
	e.add(a, cmd)
	a.Done(cmd)
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
	if tree, err = a.OpenTree(ctx, address); err != nil {
		return nil, false, err
	}
	if group, err = shell.IsGroup(ctx, tree, address); err != nil {
		return nil, false, errors.Join(err, tree.Close())
	}
	return tree, group, nil
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
	a.Access.Metadata = true
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
	return shell.AttrsOf(ctx, arr)
}

func newAttrListDoc(address string, attrs ndarray.Attrs) AttrListDoc {
	d := AttrListDoc{Schema: shell.SchemaAttr, Address: address, Attributes: []shell.AttrDoc{}, UnsupportedAttrs: []shell.UnsupportedDoc{}}
	for _, attr := range attrs.List {
		d.Attributes = append(d.Attributes, shell.NewAttrDoc(attr))
	}
	for _, u := range attrs.Unsupported {
		d.UnsupportedAttrs = append(d.UnsupportedAttrs, shell.NewUnsupportedDoc(u))
	}
	return d
}
