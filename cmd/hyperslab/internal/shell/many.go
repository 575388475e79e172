// Commands that read many sources at the same time, and the documents of commands with many
// sources.

package shell

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hyperslab/hyperslab/remote"
)

// Files is Into without targets: run.Do reads the sources, -j of run.Job divides them, and
// run.Report is called for each in their order, or with Lines as soon as it is finished.
func (a *App) Files(cmd *cobra.Command, args []string, run *Into) (totals Totals, err error) {
	sources, err := run.Flags.sources(cmd.Context(), a, cmd.InOrStdin(), args)
	if err != nil {
		return totals, err
	}
	names := make([]string, len(sources))
	r := &into{Into: run, app: a, cmd: cmd, items: make([]item, len(sources))}
	r.totals.Sources = JSONInt(len(sources))
	for i, s := range sources {
		names[i] = s.Name
		x := &r.items[i]
		x.Source, x.Status = s.Name, StatusDone
		if x.Err = s.Err; x.Err != nil {
			x.Status = StatusFailed
		}
		if info, err := os.Stat(fileOf(s.Name)); err == nil && info.Mode().IsRegular() {
			x.size = info.Size()
		}
	}
	a.Secrets.Of(names) // those of a list
	r.reads, r.alone = true, len(r.items) == 1
	r.divide()
	err = r.all(cmd.Context())
	return r.totals, err
}

// ManyDoc is the document of --into --json of commands without a document of their own for many
// sources.
type ManyDoc struct {
	Schema  string    `json:"schema"`
	Command string    `json:"command"`
	DryRun  bool      `json:"dry_run"`
	Files   []ManyRow `json:"files"`
	Totals  *Totals   `json:"totals"` // null in a line of one source
	Seconds JSONFloat `json:"seconds"`
}

// ManyRow is the result for one source.
type ManyRow struct {
	Source string  `json:"source"`
	Target string  `json:"target"`
	Status Status  `json:"status"`
	Result any     `json:"result"` // the document of the command for one source, or null
	Error  *string `json:"error"`
}

// IntoDoc is Into for a command whose document is a ManyDoc. result returns the document of the
// command for one source, or nil.
func (a *App) IntoDoc(cmd *cobra.Command, args []string, run *Into, result func(o *Outcome) any) error {
	f := cmd.Flags().Lookup("json")
	if f == nil || f.Value.String() != "true" {
		_, err := a.Into(cmd, args, run)
		return err
	}
	start := time.Now()
	doc := ManyDoc{
		Schema: SchemaMany, Command: strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), DryRun: run.DryRun, Files: []ManyRow{},
	}
	write := func() error {
		doc.Seconds = Seconds(time.Since(start))
		return a.WriteJSON(a.Stdout, doc)
	}
	run.Lines = a.Lines
	run.Report = func(o *Outcome) error {
		row := ManyRow{Source: remote.Redact(o.Source), Target: remote.Redact(o.Target), Status: o.Status, Result: result(o)}
		if o.Err != nil {
			row.Error = OrNull(o.Err.Error())
		}
		if a.Lines {
			doc.Files = []ManyRow{row}
			return write()
		}
		doc.Files = append(doc.Files, row)
		return nil
	}
	totals, err := a.Into(cmd, args, run)
	if totals.Sum() > 0 {
		if doc.Totals = &totals; a.Lines {
			doc.Files = []ManyRow{}
		}
		err = errors.Join(err, write())
	}
	return err
}
