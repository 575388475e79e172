package writers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab"
	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/testkit/leak"
	"github.com/hyperslab/hyperslab/internal/testkit/testenv"
)

// patience is the time in which each change must be made, also while many others wait.
const patience = 60 * time.Second

// TestMain also runs the processes of the tests: the arguments are "writer", the name of a kind,
// the location, the first id and the number of changes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "writer" {
		if err := process(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leak.Main(m, leak.Check{Name: "open HDF5 ids", Left: h5.OpenIDs})
}

// process makes changes and writes the id of each that is acknowledged.
func process(args []string) error {
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == args[0] })]
	first, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(args[3], 10, 64)
	for id := first; err == nil && id < first+n; id++ {
		if err = limited(k.change, args[1], id); err == nil {
			_, err = fmt.Println(id)
		}
	}
	return err
}

func limited(change func(context.Context, string, int64) error, location string, id int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := change(ctx, location, id); err != nil {
		return fmt.Errorf("change %d: %w", id, err)
	}
	return nil
}

// acknowledged contains the ids of the changes of each writer, in their order.
type acknowledged struct {
	sync.Mutex
	by map[int][]int64
}

func (a *acknowledged) add(writer int, id int64) {
	a.Lock()
	defer a.Unlock()
	if a.by == nil {
		a.by = map[int][]int64{}
	}
	a.by[writer] = append(a.by[writer], id)
}

// goroutines makes changes with a number of goroutines.
func goroutines(t *testing.T, k *kind, location string, writers, each int) *acknowledged {
	var all acknowledged
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := int64(1 + w*each + i)
				if errs[w] = limited(k.change, location, id); errs[w] != nil {
					return
				}
				all.add(w, id)
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	return &all
}

// start starts a process that makes changes. wait returns after its end.
func start(t *testing.T, k *kind, location string, first, n int, acknowledge func(id int64)) (cmd *exec.Cmd, wait func() (messages string, err error)) {
	cmd = exec.Command(os.Args[0], "writer", k.name, location, strconv.Itoa(first), strconv.Itoa(n))
	var messages strings.Builder
	cmd.Stderr = &messages
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	done := make(chan error)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if id, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				acknowledge(id)
			}
		}
		_, _ = io.Copy(io.Discard, out)
		done <- cmd.Wait()
	}()
	return cmd, func() (string, error) { err := <-done; return messages.String(), err }
}

// processes makes changes with two processes.
func processes(t *testing.T, k *kind, location string, each int) *acknowledged {
	var all acknowledged
	var waits []func() (string, error)
	for w := range 2 {
		_, wait := start(t, k, location, 1+w*each, each, func(id int64) { all.add(w, id) })
		waits = append(waits, wait)
	}
	for _, wait := range waits {
		messages, err := wait()
		require.NoError(t, err, messages)
	}
	return &all
}

// killed makes changes with two processes that are killed and started again until the given number
// of changes is acknowledged. attempted is larger than all ids.
func killed(t *testing.T, k *kind, location string, changes int) (all *acknowledged, attempted int64) {
	all = &acknowledged{}
	var next sync.Mutex
	id := 1
	const most = 6 // changes of one process
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for n := 0; n < changes/2; {
				next.Lock()
				first := id
				id += most
				next.Unlock()
				cmd, wait := start(t, k, location, first, most, func(id int64) { n++; all.add(w, id) })
				kill := time.AfterFunc(10*time.Millisecond+rand.N(60*time.Millisecond), func() { _ = cmd.Process.Kill() })
				messages, err := wait()
				if kill.Stop() && err != nil { // it was not killed
					panic(messages)
				}
			}
		})
	}
	wg.Wait()
	return all, int64(id)
}

// check checks that all acknowledged changes are in the file, that the file is valid, and that it
// contains no other change than those that were begun.
func check(t *testing.T, k *kind, location string, all *acknowledged, attempted int64) {
	ctx := context.Background()
	ids, err := k.found(ctx, location)
	require.NoError(t, err)
	place := make(map[int64]int, len(ids))
	for i, id := range ids {
		require.NotContains(t, place, id, "a change is in the file twice")
		require.Less(t, id, attempted)
		place[id] = i
	}
	count := 0
	for writer, list := range all.by {
		before := -1
		for _, id := range list {
			require.Contains(t, place, id, "writer %d: an acknowledged change is lost", writer)
			if k.ordered {
				require.Less(t, before, place[id], "the changes of writer %d are in another order", writer)
				before = place[id]
			}
			count++
		}
	}
	t.Logf("%d changes acknowledged, %d in the file", count, len(ids))
	file, _, _ := strings.Cut(location, ":")
	r, err := hyperslab.Verify(ctx, file, nil)
	require.NoError(t, err)
	require.Zero(t, r.NumFindings, "%v", r.Findings)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*lock*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestWriters makes changes of every kind with concurrent writers.
func TestWriters(t *testing.T) {
	all := testenv.All()
	changes := map[bool]int{false: 20, true: 200}[all]
	for i := range kinds {
		k := &kinds[i]
		run := func(name string, fragile bool, f func(t *testing.T, location string) (*acknowledged, int64)) {
			t.Run(k.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				if k.fragile && fragile {
					t.Skip("a killed writer can leave a corrupt file: docs/durability.md")
				}
				location := filepath.Join(t.TempDir(), k.file)
				require.NoError(t, k.create(context.Background(), location))
				got, attempted := f(t, location)
				check(t, k, location, got, attempted)
			})
		}
		run("two handles", false, func(t *testing.T, location string) (*acknowledged, int64) {
			return goroutines(t, k, location, 2, changes/2), int64(changes) + 1
		})
		run("20 goroutines", false, func(t *testing.T, location string) (*acknowledged, int64) {
			return goroutines(t, k, location, 20, changes/20), int64(changes) + 1
		})
		if all || i%4 == 0 {
			run("two processes", false, func(t *testing.T, location string) (*acknowledged, int64) {
				return processes(t, k, location, changes/2), int64(changes) + 1
			})
		}
		if all || i%4 == 1 {
			run("killed processes", true, func(t *testing.T, location string) (*acknowledged, int64) {
				return killed(t, k, location, changes)
			})
		}
	}
}
