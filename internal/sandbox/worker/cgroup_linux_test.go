// Tests of workers under limits of a control group, as containers and batch systems set them.

package worker_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// groupLimit is the environment variable with the directory of a control group, a file in it and
// its value. A value that begins with + is added to the number of tasks in the group.
const groupLimit = "WORKER_TEST_GROUP"

// grouped moves this process to a control group, sets a limit there and starts a worker.
func grouped() error {
	var dir, file, value string
	if _, err := fmt.Sscan(os.Getenv(groupLimit), &dir, &file, &value); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0); err != nil {
		return err
	}
	if more, ok := strings.CutPrefix(value, "+"); ok {
		b, err := os.ReadFile(filepath.Join(dir, "pids.current"))
		if err != nil {
			return err
		}
		now, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(more)
		if err != nil {
			return err
		}
		value = strconv.Itoa(now + n)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
		return err
	}
	c, err := hostClient()
	if err != nil {
		return err
	}
	got, err := ask(c, "echo held")
	if err != nil {
		return err
	}
	fmt.Println(got, c.Level())
	return nothingLeft(c)
}

// controlGroup creates a control group with a controller. Its parent is the group of this process
// or, in the unified hierarchy, the nearest ancestor that delegates the controller.
func controlGroup(t *testing.T, controller string) string {
	const mount = "/sys/fs/cgroup"
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Skip("NOT TESTED: ", err)
	}
	var parent string
	for line := range strings.Lines(string(b)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		// Version 1 has other names for memory limits.
		if part[1] == controller && controller == "pids" {
			parent = filepath.Join(mount, controller, part[2])
			break
		}
		if part[1] != "" {
			continue
		}
		for at := filepath.Clean("/" + part[2]); ; at = filepath.Dir(at) {
			list, err := os.ReadFile(filepath.Join(mount, at, "cgroup.subtree_control"))
			if err == nil && strings.Contains(" "+strings.TrimSpace(string(list))+" ", " "+controller+" ") {
				parent = filepath.Join(mount, at)
			}
			if parent != "" || at == "/" {
				break
			}
		}
	}
	if parent == "" {
		t.Skipf("NOT TESTED: no control group hands on %q", controller)
	}
	dir, err := os.MkdirTemp(parent, "hyperslab-test-")
	if err != nil {
		t.Skip("NOT TESTED: no control group can be made: ", err)
	}
	t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
	return dir
}

// TestLimits_controlGroups checks that limits of a control group do not weaken the isolation: a
// worker either starts with full isolation or does not start.
func TestLimits_controlGroups(t *testing.T) {
	c, err := hostClient()
	require.NoError(t, err)
	got, err := ask(c, "echo held")
	require.NoError(t, err)
	want := fmt.Sprintln(got, c.Level())
	require.NoError(t, c.Close())
	for _, tc := range []struct {
		name, controller, file, value string
		starts                        string // yes, no or maybe
	}{
		{"no limit of tasks", "pids", "pids.max", "max", "yes"},
		{"enough tasks", "pids", "pids.max", "+64", "yes"},
		{"no task more", "pids", "pids.max", "+0", "no"},
		{"too few tasks", "pids", "pids.max", "+2", "maybe"},
		{"enough memory", "memory", "memory.max", "268435456", "yes"},
		{"too little memory", "memory", "memory.max", "2097152", "maybe"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := controlGroup(t, tc.controller)
			cmd := program(t, "in a control group")
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s %s %s", groupLimit, dir, tc.file, tc.value))
			out, err := cmd.CombinedOutput()
			if tc.starts == "no" || tc.starts == "maybe" && err != nil {
				require.Error(t, err, "%s", out)
				require.NotContains(t, string(out), got)
				return
			}
			require.NoError(t, err, "%s", out)
			require.Equal(t, want, string(out))
		})
	}
}
