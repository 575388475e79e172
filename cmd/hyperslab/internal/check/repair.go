// hyperslab recover --repair: show the smallest change that makes an HDF5 file readable, and write
// copies with the change or without it.

package check

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/ndarray"
)

// RepairDoc is the document of recover --repair --json, and the file of --plan.
type RepairDoc struct {
	Schema  string          `json:"schema"`
	Source  string          `json:"source"`
	Target  *string         `json:"target"`
	Size    shell.JSONInt   `json:"size"`
	Digest  string          `json:"sha256"`
	Result  string          `json:"repaired_sha256"`
	Changes []ChangeDoc     `json:"changes"`
	Seconds shell.JSONFloat `json:"seconds"`
}

// ChangeDoc is one change.
type ChangeDoc struct {
	Offset    shell.JSONInt `json:"offset"`
	Length    shell.JSONInt `json:"length"`
	Old       string        `json:"old"`
	New       string        `json:"new"`
	Structure string        `json:"structure"`
	Object    *string       `json:"object"`
	Certain   bool          `json:"certain"`
	Reason    string        `json:"reason"`
}

// repairFlags are the flags of recover --repair.
type repairFlags struct {
	on      bool
	plan    string
	reverse bool
}

// check returns an error for flags that have no effect.
func (r *repairFlags) check(args int, o *recoverJob) error {
	switch {
	case !r.on && (r.plan != "" || r.reverse):
		return shell.Usagef("--plan and --reverse require --repair")
	case !r.on && args < 2:
		return shell.Usagef("1 argument missing: hyperslab recover SOURCE TARGET")
	case !r.on:
		return nil
	case r.reverse && r.plan == "":
		return shell.Usagef("--reverse requires --plan PLAN")
	case r.plan != "" && args < 2:
		return shell.Usagef("--plan requires a TARGET")
	case o.format != "" && string(o.format) != string(hyperslab.HDF5):
		return shell.Usagef("--repair: got --format %s, want hdf5", o.format)
	case o.dryRun:
		return shell.Usagef("--repair without TARGET writes no file; --dry-run has no effect")
	}
	return nil
}

// repair plans a repair or reads a plan, shows it, and applies it if there is a target.
func (j *recoverJob) repair(ctx context.Context, source, target string) error {
	start := time.Now()
	if err := shell.WholeFile("recover", source); err != nil {
		return err
	}
	p, err := j.repairPlan(ctx, source)
	if err != nil {
		return err
	}
	if target != "" && j.fix.plan != "" && shell.SameFile(target, j.fix.plan) {
		return shell.Usagef("--plan %s: got the same file as TARGET, which would replace the plan", j.fix.plan)
	}
	if target != "" {
		if err := p.Apply(ctx, target, source, &hyperslab.ApplyOptions{Overwrite: j.force}); err != nil {
			return err
		}
	}
	if j.json {
		d := newRepairDoc(p, source, time.Since(start))
		if target != "" {
			d.Target = &target
		}
		err = j.WriteJSON(j.Stdout, d)
	} else {
		err = j.tellRepair(p, source, target)
	}
	for _, c := range p.Changes {
		if !c.Certain && j.fix.plan == "" {
			return &shell.ExitError{Code: shell.ExitPartly, Err: err}
		}
	}
	return err
}

// repairPlan returns the plan of --plan, or a new one.
func (j *recoverJob) repairPlan(ctx context.Context, source string) (*hyperslab.RepairPlan, error) {
	if j.fix.plan == "" {
		return hyperslab.PlanRepair(ctx, source, &hyperslab.RepairOptions{Isolated: j.Sandboxed()})
	}
	p, err := readRepairPlan(j.fix.plan)
	if err == nil && j.fix.reverse {
		p = p.Reverse()
	}
	return p, err
}

// maxPlan is the maximum size of a stored plan in bytes.
const maxPlan = 64 << 20

// readRepairPlan reads the document of recover --repair --json.
func readRepairPlan(path string) (*hyperslab.RepairPlan, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, ndarray.Wrap("plan", path, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxPlan {
		return nil, shell.Usagef("--plan %s: got %d bytes, want a regular file of at most %d", path, info.Size(), maxPlan)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, ndarray.Wrap("plan", path, err)
	}
	var d struct {
		RepairDoc
		Isolation string `json:"isolation"` // with --untrusted
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	err = dec.Decode(&d)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil, shell.Usagef("--plan %s: offset %d: got a JSON %s, want a document of recover --repair --json", path, wrong.Offset,
			wrong.Value)
	}
	if err == nil && dec.More() {
		err = fmt.Errorf("got more bytes after the document, at offset %d, want its end", dec.InputOffset())
	}
	if err != nil {
		return nil, shell.Usagef("--plan %s: no document of recover --repair --json: %w", path, err)
	}
	if d.Schema != shell.SchemaRepair {
		return nil, shell.Usagef("--plan %s: schema: got %q, want %q", path, d.Schema, shell.SchemaRepair)
	}
	p := &hyperslab.RepairPlan{Size: int64(d.Size), Digest: d.Digest, Result: d.Result}
	for i, c := range d.Changes {
		x := hyperslab.RepairChange{Offset: int64(c.Offset), Structure: c.Structure, Reason: c.Reason, Certain: c.Certain}
		if c.Object != nil {
			x.Object = *c.Object
		}
		var olderr, newerr error
		x.Old, olderr = hex.DecodeString(c.Old)
		x.New, newerr = hex.DecodeString(c.New)
		if olderr != nil || newerr != nil || len(x.New) != int(c.Length) {
			return nil, shell.Usagef("--plan %s: change %d: got %q and %q, want %d bytes in hexadecimal", path, i, c.Old, c.New, c.Length)
		}
		p.Changes = append(p.Changes, x)
	}
	return p, nil
}

func newRepairDoc(p *hyperslab.RepairPlan, source string, took time.Duration) *RepairDoc {
	d := &RepairDoc{Schema: shell.SchemaRepair, Source: source, Size: shell.JSONInt(p.Size), Digest: p.Digest, Result: p.Result,
		Changes: []ChangeDoc{}, Seconds: shell.Seconds(took)}
	for _, c := range p.Changes {
		d.Changes = append(d.Changes, ChangeDoc{
			Offset: shell.JSONInt(c.Offset), Length: shell.JSONInt(len(c.New)), Old: hex.EncodeToString(c.Old),
			New:       hex.EncodeToString(c.New),
			Structure: c.Structure, Object: shell.OrNull(c.Object), Certain: c.Certain, Reason: c.Reason,
		})
	}
	return d
}

// tellRepair writes the changes and the result.
func (j *recoverJob) tellRepair(p *hyperslab.RepairPlan, source, target string) error {
	for i, c := range p.Changes {
		if j.quiet || j.most > 0 && i == j.most {
			break
		}
		certainty := "certain"
		if !c.Certain {
			certainty = "guessed"
		}
		line := fmt.Sprintf("%s: offset %d: %x becomes %x", certainty, c.Offset, c.Old, c.New)
		if c.Object != "" {
			line += ": " + c.Object
		}
		if _, err := fmt.Fprintln(j.Stdout, term.SafeLines(line+": "+c.Structure+": "+c.Reason)); err != nil {
			return err
		}
	}
	if more := len(p.Changes) - j.most; j.most > 0 && more > 0 && !j.quiet {
		j.Note("and %d more; -n 0 lists all", more)
	}
	n := term.Plural(int64(len(p.Changes)), "change")
	switch {
	case target != "":
		j.Note("%s: %s, with %s", term.Safe(target), term.FormatBytes(p.Size), n)
	case len(p.Changes) == 0:
		j.Note("%s: needs no repair", term.Safe(source))
	default:
		j.Note("%s: readable with %s; a TARGET writes a copy with them", term.Safe(source), n)
	}
	return nil
}
