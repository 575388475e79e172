package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/term"
	"github.com/hyperslab/hyperslab/internal/files/regularfile"
)

// intoTest runs Into with a function that writes targets. It returns the outcomes and standard
// error.
func intoTest(t *testing.T, args []string, jobs int, do func(w *Work) error) (all []Outcome, totals Totals, stderr string, err error) {
	t.Helper()
	var b BatchFlags
	cmd := &cobra.Command{Use: "test"}
	b.Add(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	cmd.SetContext(t.Context())
	var errs bytes.Buffer
	a := &App{Stdout: &bytes.Buffer{}, Stderr: &errs, Secrets: new(Secrets)}
	a.Name.Store(new("test"))
	totals, err = a.Into(cmd, cmd.Flags().Args(), &Into{
		Flags: &b, Job: &JobFlags{Jobs: jobs, Progress: "none"},
		Target: func(_ context.Context, s *Source) (string, error) { return JoinTarget(b.Into, s.Rel) + ".out", nil },
		Do:     func(_ context.Context, w *Work) (any, error) { return nil, do(w) },
		Report: func(o *Outcome) error { all = append(all, *o); return nil },
	})
	return all, totals, errs.String(), err
}

// kill runs Into with work that fails, and takes back what is recorded after the work.
func kill(t *testing.T, args []string, do func(w *Work) error) {
	t.Helper()
	var record []byte
	name := filepath.Join(args[1], ".hyperslab-done")
	_, _, _, err := intoTest(t, args, 1, func(w *Work) (err error) {
		record, err = os.ReadFile(name)
		return errors.Join(err, do(w), errors.New("killed"))
	})
	require.ErrorContains(t, err, "killed")
	require.NoError(t, os.WriteFile(name, record, 0o666))
}

func TestApp_Into(t *testing.T) {
	t.Chdir(t.TempDir())
	var args []string
	for i := range 20 {
		args = append(args, fmt.Sprintf("in/%02d", i))
	}
	require.NoError(t, os.Mkdir("in", 0o777))
	for _, name := range args {
		require.NoError(t, os.WriteFile(name, []byte(name), 0o666))
	}
	into := func(dir string, more ...string) []string {
		return append([]string{"--into", dir, "--keep-going"}, append(more, args...)...)
	}
	write := func(w *Work) error { return os.WriteFile(w.Target, []byte(w.Source), 0o666) }

	t.Run("order and division", func(t *testing.T) {
		var now, most atomic.Int32
		var meet sync.WaitGroup
		meet.Add(4)
		all, totals, _, err := intoTest(t, into("out"), 4, func(w *Work) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			if w.Source < "in/04" {
				meet.Done()
				meet.Wait() // four files at the same time
			}
			w.Note("about %s", w.Source)
			defer now.Add(-1)
			require.Equal(t, 1, w.Workers)
			return write(w)
		})
		require.NoError(t, err)
		require.EqualValues(t, 20, totals.Done)
		for i, o := range all {
			require.Equal(t, args[i], o.Source)
		}
		require.EqualValues(t, 4, most.Load())
	})
	t.Run("source that changes while it is read", func(t *testing.T) {
		all, totals, stderr, err := intoTest(t, into("changed"), 2, func(w *Work) error {
			if w.Source == "in/07" {
				require.NoError(t, os.WriteFile(w.Source, []byte("longer than before"), 0o666))
			}
			return write(w)
		})
		require.Error(t, err)
		require.EqualValues(t, 1, totals.Failed)
		require.ErrorIs(t, all[7].Err, regularfile.ErrReplaced)
		require.NoFileExists(t, all[7].Target)
		require.Contains(t, stderr, "in/07")
		require.FileExists(t, all[8].Target)
	})
	t.Run("killed after the target appeared", func(t *testing.T) {
		kill(t, []string{"--into", "kill", "in/01"}, write)
		again := []string{"--into", "kill", "in/01", "--existing", "update"}
		_, _, _, err := intoTest(t, again, 1, func(w *Work) error {
			require.NotEqual(t, "kill/01.out", w.Target, "the existing target is compared with another one")
			require.Equal(t, "kill/01.out", w.Name)
			return os.WriteFile(w.Target, []byte("other"), 0o666)
		})
		require.ErrorIs(t, err, fs.ErrExist)
		_, totals, _, err := intoTest(t, again, 1, write)
		require.NoError(t, err)
		require.EqualValues(t, 1, totals.Before)
		_, totals, _, err = intoTest(t, again, 1, func(*Work) error { panic("not called") })
		require.NoError(t, err)
		require.EqualValues(t, 1, totals.Before)
	})
	t.Run("killed before the target was replaced", func(t *testing.T) {
		run := []string{"--into", "cutoff", "in/02"}
		_, _, _, err := intoTest(t, run, 1, write)
		require.NoError(t, err)
		kill(t, append(run, "--existing", "replace"), func(*Work) error { return errors.New("killed") })
		_, totals, _, err := intoTest(t, run, 1, func(*Work) error { panic("not called") })
		require.NoError(t, err)
		require.EqualValues(t, 1, totals.Before, "the target is still that of its source")
		require.NoError(t, os.WriteFile("in/02", []byte("a longer version"), 0o666))
		kill(t, append(run, "--existing", "update"), func(*Work) error { return errors.New("killed") })
		_, _, _, err = intoTest(t, run, 1, func(*Work) error { panic("not called") })
		require.ErrorContains(t, err, "its source has changed, and a run that was replacing it was interrupted")
		_, totals, _, err = intoTest(t, append(run, "--existing", "update"), 1, write)
		require.NoError(t, err)
		require.EqualValues(t, 1, totals.Done)
		require.NoError(t, os.WriteFile("in/02", []byte("in/02"), 0o666))

		require.NoError(t, os.WriteFile("cutoff/03.out", []byte("foreign"), 0o666))
		kill(t, []string{"--into", "cutoff", "in/03", "--existing", "replace"}, func(*Work) error { return errors.New("killed") })
		_, _, _, err = intoTest(t, []string{"--into", "cutoff", "in/03"}, 1, func(*Work) error { panic("not called") })
		require.ErrorContains(t, err, "it is not the target of an earlier run, and a run that was replacing it was interrupted")
	})
	t.Run("failure after the target was written", func(t *testing.T) {
		failed := errors.New("failed")
		run := []string{"--into", "late", "in/04"}
		_, _, _, err := intoTest(t, run, 1, func(w *Work) error { return errors.Join(write(w), failed) })
		require.ErrorIs(t, err, failed)
		_, _, _, err = intoTest(t, run, 1, func(*Work) error { panic("not called") })
		require.ErrorContains(t, err, "the run that wrote it failed")
		_, totals, _, err := intoTest(t, append(run, "--existing", "update"), 1, write)
		require.NoError(t, err)
		require.EqualValues(t, 1, totals.Done)
	})
	t.Run("work that ends after the first failure", func(t *testing.T) {
		failed := errors.New("failed")
		started := make(chan struct{})
		_, totals, _, err := intoTest(t, []string{"--into", "beside", "in/00", "in/01", "in/02"}, 2, func(w *Work) error {
			switch w.Source {
			case "in/00":
				<-started
				return failed
			case "in/01":
				close(started)
				time.Sleep(50 * time.Millisecond)
			}
			return write(w)
		})
		require.ErrorIs(t, err, failed)
		require.Positive(t, int(totals.Done))
		require.ErrorContains(t, err, fmt.Sprintf("\n  %d of 3 sources done", totals.Done))
	})
	t.Run("cut record", func(t *testing.T) {
		_, _, _, err := intoTest(t, into("cut"), 1, write)
		require.NoError(t, err)
		record := filepath.Join("cut", ".hyperslab-done")
		b, err := os.ReadFile(record)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(record, b[:len(b)-9], 0o666)) // the end of the last line is missing
		_, totals, _, err := intoTest(t, into("cut"), 1, write)
		require.NoError(t, err)
		require.EqualValues(t, 20, totals.Before, "the line before the target was written is enough")
		require.NoError(t, os.WriteFile(record, b[:len(b)-9], 0o666))
		kill(t, []string{"--into", "cut", "in/03", "--existing", "replace"}, func(w *Work) error {
			return os.WriteFile(w.Target, []byte("replaced"), 0o666)
		})
		_, totals, _, err = intoTest(t, into("cut"), 1, func(w *Work) error {
			if w.Source == "in/03" {
				return os.WriteFile(w.Target, []byte("replaced"), 0o666)
			}
			return write(w)
		})
		require.NoError(t, err, "the first line after the cut one counts")
		require.EqualValues(t, 20, totals.Before)
	})
	t.Run("first failure", func(t *testing.T) {
		failed := errors.New("failed")
		all, totals, _, err := intoTest(t, append([]string{"--into", "first"}, args...), 1, func(w *Work) error {
			if w.Source == "in/03" {
				return failed
			}
			return write(w)
		})
		require.ErrorIs(t, err, failed)
		require.Equal(t, ExitPartly, exitCode(err))
		require.GreaterOrEqual(t, int(totals.Done), 3)
		require.ErrorContains(t, err, fmt.Sprintf("\n  %d of 20 sources done", totals.Done))
		require.LessOrEqual(t, len(all), 6, "no source is started after the failure")
		require.EqualValues(t, 1, totals.Failed)
	})
}

func TestExpand(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a/1.h5", "a/b/2.h5", "a/b/c/3.h5", "a/.hidden/4.h5", "a/x[1].h5"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, nil, 0o666))
	}
	for pattern, want := range map[string]string{
		"a/**/*.h5":          "1.h5 b/2.h5 b/c/3.h5 x[1].h5",
		"**/3.h5":            "a/b/c/3.h5",
		"a/**/b/*.h5":        "b/2.h5",
		"a/**/**/*.h5":       "1.h5 b/2.h5 b/c/3.h5 x[1].h5",
		"a/*/*.h5":           ".hidden/4.h5 b/2.h5",
		"a/**/[23].h5:/t[0]": "b/2.h5 b/c/3.h5",
		"a/*.h5[0]":          "1.h5 x[1].h5",
	} {
		var names []string
		require.NoError(t, expand(t.Context(), pattern, func(s Source) error {
			require.NoError(t, s.Err)
			names = append(names, filepath.ToSlash(s.Rel))
			_, rest := splitPattern(pattern)
			require.True(t, strings.HasSuffix(s.Name, s.Rel+rest), "%s of %s", s.Name, pattern)
			return nil
		}), pattern)
		require.Equal(t, want, strings.Join(names, " "), pattern)
	}
	err := expand(t.Context(), "a/**/*.nc", func(Source) error { return nil })
	require.ErrorContains(t, err, "matches no file")
	require.False(t, expandable("a/x[1].h5"), "the name of a file")
	require.False(t, expandable("a/1.h5[0]"), "a selection")
	require.True(t, expandable("a/*.h5:/t[0]"))
}

// TestApp_Files checks that several files are read at the same time, and that their output is in
// their order.
func TestApp_Files(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(name, []byte(name), 0o666))
	}
	var out strings.Builder
	a := &App{Stdout: &out, Stderr: io.Discard, Secrets: new(Secrets)}
	cmd := &cobra.Command{Use: "x"}
	cmd.SetContext(t.Context())
	started := make(chan struct{})
	totals, err := a.Files(cmd, []string{"a", "b"}, &Into{
		Flags: &BatchFlags{}, Job: &JobFlags{Jobs: 2, Progress: term.ProgressNone}, Report: func(*Outcome) error { return nil },
		Do: func(_ context.Context, w *Work) (any, error) {
			if w.Source == "a" { // ends after b has begun
				<-started
			} else {
				close(started)
			}
			_, err := fmt.Fprintln(w.Stdout, w.Source)
			return nil, err
		},
	})
	require.NoError(t, err)
	require.Equal(t, "a\nb\n", out.String())
	require.Equal(t, Totals{Sources: 2, Done: 2}, totals)
}
