// hyperslab tree: show the objects of a file as a tree.

package inspect

import (
	"bufio"
	"cmp"
	"context"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/location/locate"
)

// TreeDoc is the document of tree --json.
type TreeDoc struct {
	Schema  string   `json:"schema"`
	Address string   `json:"address"`
	Root    TreeNode `json:"root"`
}

// TreeNode is one object and its members. Missing properties are null.
type TreeNode struct {
	Name       string          `json:"name"`
	Kind       string          `json:"kind"`
	Shape      []shell.JSONInt `json:"shape"`
	DType      *string         `json:"dtype"`
	Type       *string         `json:"type"`
	Attributes *int            `json:"attributes"`
	LinkKind   *string         `json:"link_kind"`
	Target     *string         `json:"target"`
	Error      *string         `json:"error"`
	Pruned     bool            `json:"pruned"`
	Children   []*TreeNode     `json:"children"`

	label string // text after the name
}

// treeJob is one run of tree.
type treeJob struct {
	*shell.App

	depth      int
	attributes bool
	json       bool
}

func newTree(a *shell.App) *cobra.Command {
	j := &treeJob{App: a}
	cmd := &cobra.Command{
		Use:   "tree FILE[:/path]...",
		Short: "Show the objects of a file as a tree",
		Long: `tree shows the groups, arrays and links of a file, or of a group in it, as a tree:
arrays with element type and shape, links with their target, and named types with their
definition.` + shell.AddressHelp + shell.TwoArguments,
		Example: `  hyperslab tree etopo.h5
  hyperslab tree -L 2 tree.h5
  hyperslab tree tree.h5:/run1 --attributes`,
		Args:              shell.Arity(1, 2),
		ValidArgsFunction: shell.CompleteAddress,
		RunE: func(cmd *cobra.Command, args []string) error {
			return j.run(cmd.Context(), shell.Address(args))
		},
	}
	f := cmd.Flags()
	shell.DepthFlag(cmd, &j.depth)
	f.BoolVarP(&j.attributes, "attributes", "a", false, "also the number of attributes")
	shell.JSONFlag(cmd, &j.json)
	a.Each(cmd)
	(&shell.UntrustedFlags{}).Add(a, cmd)
	a.Paged(cmd)
	return cmd
}

func (j *treeJob) run(ctx context.Context, address string) error {
	if j.depth < 0 {
		return shell.Usagef("-L %d: want 0 or more levels", j.depth)
	}
	loc, err := locate.Parse(address)
	if err != nil {
		return err
	}
	base := "/" + strings.Trim(loc.Object, "/")
	skip := func(e hyperslab.Entry) bool { return j.depth > 0 && levelBelow(base, e.Path) >= j.depth }
	root := &TreeNode{Name: address, Kind: string(hyperslab.Group), Children: []*TreeNode{}}
	nodes := map[string]*TreeNode{base: root}
	failed := false
	for e, err := range j.Walk(ctx, address, hyperslab.WalkOptions{NoSizes: true, Prune: skip}) {
		if err != nil {
			return err
		}
		n := &TreeNode{}
		if j.json {
			n = newTreeNode(e)
		} else {
			n.label = treeLabel(e, j.attributes)
		}
		if e.Kind == hyperslab.Group {
			n.Pruned = skip(e)
		}
		if e.Err != nil && !described(e) && !Unsupported(e) {
			failed = true
			j.Note("%s %s: %s", j.Talk.Failure("hyperslab tree:"), term.Safe(loc.File+":"+e.Path), term.SafeLines(e.Err.Error()))
		}
		if e.Path == base {
			n.Name = address
			*root = *n
			continue
		}
		n.Name = path.Base(e.Path)
		parent := nodes[path.Dir(e.Path)]
		if parent == nil { // a column of a table with a slash in its name
			parent = root
		}
		parent.Children = append(parent.Children, n)
		if e.Kind == hyperslab.Group {
			nodes[e.Path] = n
		}
	}
	if j.json {
		err = j.WriteJSON(j.Stdout, TreeDoc{Schema: shell.SchemaTree, Address: address, Root: *root})
	} else {
		w := bufio.NewWriter(j.Stdout)
		root.write(w, "", "")
		err = w.Flush()
	}
	if err == nil && failed {
		return unlisted(j.App, loc.File)
	}
	return err
}

// levelBelow returns how many levels p is below base. 0 is base itself.
func levelBelow(base, p string) int {
	rest := strings.Trim(strings.TrimPrefix(p, base), "/")
	if rest == "" {
		return 0
	}
	return strings.Count(rest, "/") + 1
}

// newTreeNode returns the node of an object for a document.
func newTreeNode(e hyperslab.Entry) *TreeNode {
	l := newLsEntry(e)
	return &TreeNode{
		Kind: l.Kind, Shape: l.Shape, DType: l.DType, Type: l.Type, Attributes: l.Attributes,
		LinkKind: l.LinkKind, Target: l.Target, Error: l.Error, Children: []*TreeNode{},
	}
}

// treeLabel returns the text after the name of an object.
func treeLabel(e hyperslab.Entry, attributes bool) (label string) {
	switch e.Kind {
	case hyperslab.Group:
		label = "/"
	case hyperslab.Link:
		label = " -> " + term.Safe(cmp.Or(e.Target, "?"))
	case hyperslab.Type:
		label = "  (type " + shell.Shorten(term.Safe(e.Type), shell.Wide) + ")"
	case hyperslab.Array:
		label = "  [" + ArrayLabel(e) + "]"
	default:
		label = "  (" + string(e.Kind) + ")"
	}
	if attributes && e.Attrs > 0 && (e.Kind == hyperslab.Group || e.Kind == hyperslab.Array) {
		label += "  " + term.Plural(int64(e.Attrs), "attribute")
	}
	return label
}

// ArrayLabel returns, for example, "<f4: 90x180".
func ArrayLabel(e hyperslab.Entry) string {
	if !described(e) {
		return "cannot be read"
	}
	dtype, shape := shell.Shorten(term.Safe(e.Type), shell.Narrow), "null"
	if e.Err == nil {
		dtype = e.Meta.DType.String()
	}
	if !e.Meta.Null {
		shape = term.FormatShape(e.Meta.Shape)
	}
	return dtype + ": " + shape
}

// write draws the node after lead, and its members after indent.
func (n *TreeNode) write(w *bufio.Writer, lead, indent string) {
	label := n.label
	if lead == "" { // the root is a file, or its name has a slash
		label = strings.TrimPrefix(label, "/")
	}
	_, _ = w.WriteString(lead + term.Safe(n.Name) + label + "\n") // the writer keeps its first error
	for i, c := range n.Children {
		if i < len(n.Children)-1 {
			c.write(w, indent+"├── ", indent+"│   ")
		} else {
			c.write(w, indent+"└── ", indent+"    ")
		}
	}
	if n.Pruned {
		_, _ = w.WriteString(indent + "└── …\n")
	}
}
