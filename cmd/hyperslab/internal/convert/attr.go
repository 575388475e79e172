// hyperslab attr: list, show, set and remove attributes of arrays and groups.

package convert

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
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

func newAttr(a *shell.App) *cobra.Command {
	list := newAttrList(a)
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
	cmd.AddCommand(list, newAttrGet(a), newAttrSet(a), newAttrRm(a))
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
	group, err := e.app.IsGroupAt(ctx, address)
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
