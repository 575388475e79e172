// Plans of many files, whose shards and commit the program hyperslab does.

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/hyperslab/hyperslab/plan"
)

// program does a shard of a plan of many files, or commits it. The conversion of a file is part of
// the command hyperslab, not of package plan.
type program struct {
	Path string // of hyperslab
	Plan []byte
}

// run runs a command of the program with the plan as its first argument.
func (p *program) run(ctx context.Context, command string, more ...string) (err error) {
	dir, err := os.MkdirTemp("", "hyperslab-beam")
	if err != nil {
		return err
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = removed
		}
	}()
	file := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(file, p.Plan, 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, p.Path, append([]string{command, file, "--progress", "none"}, more...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", p.Path, command, err, out)
	}
	return nil
}

// work does one shard.
func (p *program) work(ctx context.Context, shard int64) error {
	return p.run(ctx, "work", "--shard", strconv.FormatInt(shard, 10))
}

// commit publishes the targets.
func (p *program) commit(ctx context.Context) error { return p.run(ctx, "commit") }

// ofFiles reports whether a plan is of many files.
func ofFiles(p *plan.Plan) bool { return len(p.Command) > 0 }
