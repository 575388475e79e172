package cli

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/check"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/convert"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/inspect"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/publish"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/plan"
)

// documents contains all schemas, and the nested objects that have a table of their own.
var documents = map[string]any{
	shell.SchemaInfo:        inspect.InfoDoc{},
	shell.SchemaGroup:       inspect.GroupDoc{},
	shell.SchemaMeta:        inspect.MetaDoc{},
	"named bytes":           inspect.MetaBytes{},
	shell.SchemaStorage:     inspect.StorageDoc{},
	"kind":                  inspect.StorageRow{},
	"attribute":             shell.AttrDoc{},
	"unsupported":           shell.UnsupportedDoc{},
	"hdf5":                  inspect.HDF5Doc{},
	"stored_filter":         inspect.FilterDoc{},
	"external":              inspect.ExternalDoc{},
	"mapping":               inspect.MappingDoc{},
	shell.SchemaLs:          inspect.LsDoc{},
	"entry":                 inspect.LsEntry{},
	shell.SchemaTree:        inspect.TreeDoc{},
	"node":                  inspect.TreeNode{},
	shell.SchemaChunks:      inspect.ChunksDoc{},
	"chunk":                 inspect.ChunkDoc{},
	shell.SchemaDump:        inspect.DumpDoc{},
	shell.SchemaStats:       inspect.StatsDoc{},
	"histogram":             inspect.HistogramDoc{},
	shell.SchemaExplain:     inspect.ExplainDoc{},
	"field":                 inspect.FieldDoc{},
	shell.SchemaConvert:     convert.ConvertDoc{},
	shell.SchemaConvertTree: convert.ConvertTreeDoc{},
	shell.SchemaConvertMany: convert.ConvertManyDoc{},
	"converted source":      convert.ConvertRow{},
	"source totals":         shell.Totals{},
	shell.SchemaMany:        shell.ManyDoc{},
	"source row":            shell.ManyRow{},
	shell.SchemaDiff:        check.DiffDoc{},
	shell.SchemaDiffTree:    check.DiffTreeDoc{},
	"object difference":     check.ObjectDiff{},
	"difference":            check.ValueDoc{},
	"attribute difference":  check.AttrDiff{},
	shell.SchemaAttr:        convert.AttrListDoc{},
	shell.SchemaBench:       check.BenchDoc{},
	"measurement":           convert.BenchRow{},
	shell.SchemaRecover:     check.RecoverDoc{},
	"finding":               check.FindingDoc{},
	shell.SchemaRepair:      check.RepairDoc{},
	"change":                check.ChangeDoc{},
	shell.SchemaDone:        shell.DoneDoc{},
	shell.SchemaVerify:      check.VerifyDoc{},
	"verified file":         check.VerifyFile{},
	"place":                 check.PlaceDoc{},
	shell.SchemaCloud:       check.CloudDoc{},
	"examined file":         check.CloudRow{},
	"estimates for xarray":  check.CloudXArray{},
	"estimate":              check.CloudCost{},
	"array layout":          check.CloudArray{},
	"layout problem":        check.CloudProblem{},
	"left out array":        shell.LeftOutDoc{},
	shell.SchemaScan:        inspect.ScanDoc{},
	"scanned file":          inspect.ScanFile{},
	"scan finding":          inspect.ScanFinding{},
	shell.SchemaRepack:      convert.RepackDoc{},
	"repacked file":         convert.RepackRow{},
	shell.SchemaPlan:        plan.Plan{},
	"planned source":        plan.Source{},
	"planned target":        plan.Target{},
	"stage":                 plan.Stage{},
	shell.SchemaVersion:     inspect.VersionDoc{},
	"library":               inspect.LibraryDoc{},
	"filter":                inspect.HDF5Ability{},
	"build":                 inspect.BuildDoc{},
	"vulnerability":         inspect.KnownDoc{},
	term.ProgressSchema:     term.ProgressDoc{},
	shell.SchemaEmit:        publish.EmitDoc{},
	"area":                  publish.EmitArea{},
}

// TestSchemas_Documented checks that schemas.md and the code have the same schemas, with the
// same keys in the same order.
func TestSchemas_Documented(t *testing.T) {
	text, err := os.ReadFile("schemas.md")
	require.NoError(t, err)
	documented := make(map[string][]string)
	section := ""
	key := regexp.MustCompile("`([a-z0-9_]+)`")
	for _, line := range strings.Split(string(text), "\n") {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			section = strings.TrimLeft(title, "# ")
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range key.FindAllStringSubmatch(cells[1], -1) {
			documented[section] = append(documented[section], m[1])
		}
	}
	inCode := make(map[string][]string)
	for name, doc := range documents {
		typ := reflect.TypeOf(doc)
		for i := range typ.NumField() {
			if tag, ok := typ.Field(i).Tag.Lookup("json"); ok {
				inCode[name] = append(inCode[name], strings.TrimSuffix(tag, ",omitempty"))
			}
		}
		if strings.Contains(name, "/") {
			require.Equal(t, "schema", inCode[name][0], "%s: the schema is the first key", name)
		}
	}
	require.Equal(t, inCode, documented)
}

// TestSchemas_tested checks that every schema in the code is in the table above.
func TestSchemas_tested(t *testing.T) {
	files, err := filepath.Glob("../*/*.go")
	require.NoError(t, err)
	name := regexp.MustCompile(`"(hyperslab\.[a-z.]+/[0-9]+)"`)
	found := 0
	for _, f := range files {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		for _, m := range name.FindAllStringSubmatch(string(b), -1) {
			require.Contains(t, documents, m[1], "%s", f)
			found++
		}
	}
	require.GreaterOrEqual(t, found, 6)
}

// TestSchemas_commands checks that every command has --json, except those that write text for a
// shell or a reader, serve, which runs until it receives a signal, and view, which needs a
// terminal.
func TestSchemas_commands(t *testing.T) {
	strs := []string{"serve", "view", "help", "man", "completion", "bash", "zsh", "fish", "powershell"}
	seen := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.HasSubCommands() || slices.Contains(strs, c.Name()) {
			return
		}
		require.NotNil(t, c.Flags().Lookup("json"), c.CommandPath())
		require.NotEmpty(t, c.Example, "%s has no examples", c.CommandPath())
		seen++
	}
	root := newRoot(new(shell.App))
	visit(root)
	require.GreaterOrEqual(t, seen, 24)
}

// TestHelp_width checks that the descriptions of all commands fit a terminal of 90 columns.
func TestHelp_width(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.SplitSeq(c.Long, "\n") {
			if !strings.HasPrefix(line, "  ") { // tables may be wider
				require.LessOrEqual(t, len(line), 90, "%s: %s", c.CommandPath(), line)
			}
		}
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(new(shell.App)))
}
