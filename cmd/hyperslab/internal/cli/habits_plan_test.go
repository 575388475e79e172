package cli_test

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/cli"
)

// planned are the commands of plans. Each needs files that another of them wrote. Tests with one
// command line for each command omit them where the tests of this file cover them.
var planned = []string{"commit", "plan", "work"}

// unplanned returns names without the commands of plans.
func unplanned(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(planned, name) })
}

// TestPlan_jobs checks that the target of a plan does not depend on the number of workers and is
// the same as that of convert.
func TestPlan_jobs(t *testing.T) {
	t.Chdir(field(t))
	storage := []string{"--chunks", "10,30", "--codec", "lz4", "--exclude-unsupported"}
	_, stderr, code := run(append([]string{"convert", "etopo.h5:/ROSE", "one.b2nd", "-q"}, storage...)...)
	require.Zero(t, code, stderr)
	want, err := os.ReadFile("one.b2nd")
	require.NoError(t, err)
	for _, jobs := range []string{"1", "2", "4"} {
		t.Run(jobs, func(t *testing.T) {
			target, file := "rose"+jobs+".b2nd", "plan"+jobs+".json"
			for _, args := range [][]string{
				append([]string{"plan", "convert", "etopo.h5:/ROSE", target, "--shard-bytes", "8KiB", "-j", "4", "-o", file}, storage...),
				{"work", file, "--all", "-q", "-j", jobs},
				{"commit", file, "-q", "-j", jobs},
			} {
				_, stderr, code := run(args...)
				require.Zero(t, code, "%v: %s", args, stderr)
			}
			got, err := os.ReadFile(target)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
	_, stderr, code = run("plan", "copy", "waves.b2nd", "new.b2nd", "-j", "2", "-o", "new.json")
	require.Zero(t, code, stderr)
	_, stderr, code = run("work", "new.json", "--all", "-j", "3")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "at most 2 workers")
}

// TestPlan_progress checks the progress of work and commit.
func TestPlan_progress(t *testing.T) {
	t.Chdir(field(t))
	cli.ShowAtOnce(t, 0)
	for kind, want := range map[string]string{
		"none":  `^$`,
		"plain": `(?m)^(work|commit): [0-9]+%  [0-9.]+( [KM]?i?B)? / [0-9]`,
		"json":  `(?m)^{"schema":"hyperslab.progress/1","t":`,
	} {
		t.Run(kind, func(t *testing.T) {
			file := kind + ".json"
			_, stderr, code := run("plan", "copy", "waves.b2nd", kind+".b2nd", "-o", file)
			require.Zero(t, code, stderr)
			for _, command := range [][]string{{"work", file, "--all"}, {"commit", file}} {
				if kind == "none" {
					command = append(command, "-q")
				}
				_, stderr, code := run(append(command, "--progress", kind)...)
				require.Zero(t, code, stderr)
				require.Regexp(t, want, stderr, command)
			}
		})
	}
	for _, name := range []string{"work", "commit"} {
		_, stderr, code := run(name, "plain.json", "--progress", "loud")
		require.Equal(t, 2, code)
		require.Contains(t, stderr, "--progress loud: want auto, none, plain or json")
	}
}
