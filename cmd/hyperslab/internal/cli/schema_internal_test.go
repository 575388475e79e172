package cli

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/plan"
)

// documents contains all schemas, and the nested objects that have a table of their own.
var documents = map[string]any{
	schemaInfo:             infoDoc{},
	schemaGroup:            groupDoc{},
	schemaMeta:             metaDoc{},
	"named bytes":          metaBytes{},
	schemaStorage:          storageDoc{},
	"kind":                 storageRow{},
	"attribute":            attrDoc{},
	"unsupported":          unsupportedDoc{},
	"hdf5":                 hdf5Doc{},
	"stored_filter":        filterDoc{},
	"external":             externalDoc{},
	"mapping":              mappingDoc{},
	schemaLs:               lsDoc{},
	"entry":                lsEntry{},
	schemaTree:             treeDoc{},
	"node":                 treeNode{},
	schemaChunks:           chunksDoc{},
	"chunk":                chunkDoc{},
	schemaDump:             dumpDoc{},
	schemaStats:            statsDoc{},
	"histogram":            histogramDoc{},
	schemaExplain:          explainDoc{},
	"field":                fieldDoc{},
	schemaConvert:          convertDoc{},
	schemaConvertTree:      convertTreeDoc{},
	schemaConvertMany:      convertManyDoc{},
	"converted source":     convertRow{},
	schemaDiff:             diffDoc{},
	schemaDiffTree:         diffTreeDoc{},
	"object difference":    objectDiff{},
	"difference":           valueDoc{},
	"attribute difference": attrDiff{},
	schemaAttr:             attrListDoc{},
	schemaBench:            benchDoc{},
	"measurement":          benchRow{},
	schemaRecover:          recoverDoc{},
	"finding":              findingDoc{},
	schemaRepair:           repairDoc{},
	"change":               changeDoc{},
	schemaDone:             doneDoc{},
	schemaVerify:           verifyDoc{},
	"verified file":        verifyFile{},
	"place":                placeDoc{},
	schemaCloud:            cloudDoc{},
	"examined file":        cloudRow{},
	"array layout":         cloudArray{},
	"layout problem":       cloudProblem{},
	schemaScan:             scanDoc{},
	"scanned file":         scanFile{},
	"scan finding":         scanFinding{},
	schemaRepack:           repackDoc{},
	"repacked file":        repackRow{},
	schemaPlan:             plan.Plan{},
	"planned source":       plan.Source{},
	"planned target":       plan.Target{},
	"stage":                plan.Stage{},
	schemaVersion:          versionDoc{},
	"library":              libraryDoc{},
	"filter":               hdf5Ability{},
	"build":                buildDoc{},
	"vulnerability":        knownDoc{},
	term.ProgressSchema:    term.ProgressDoc{},
	schemaEmit:             emitDoc{},
	"area":                 emitArea{},
}

// TestSchemas_Documented checks that docs/json.md and the code have the same schemas, with the
// same keys in the same order.
func TestSchemas_Documented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/json.md")
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
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	name := regexp.MustCompile(`"(hyperslab\.[a-z.]+/[0-9]+)"`)
	found := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(f.Name())
		require.NoError(t, err)
		for _, m := range name.FindAllStringSubmatch(string(b), -1) {
			require.Contains(t, documents, m[1], "%s", f.Name())
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
	root := (&app{}).root()
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
	visit((&app{}).root())
}
