package cli_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/hyperslab/hyperslab/h5"
)

// pseudoTerminal starts a command on a pseudo terminal that an emulator displays.
type pseudoTerminal struct {
	t       *testing.T
	cmd     *exec.Cmd
	control *os.File
	screen  vt.MockTerm
	mu      sync.Mutex
	written strings.Builder
}

func onTerminal(t *testing.T, env []string, args ...string) *pseudoTerminal {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	p := &pseudoTerminal{t: t, control: control, screen: vt.NewMockTerm(vt.MockOptSize{X: 80, Y: 24}, vt.MockOptColors(256))}
	connection, err := control.SyscallConn()
	require.NoError(t, err)
	number, size := 0, unix.Winsize{Row: 24, Col: 80}
	var failed error
	require.NoError(t, connection.Control(func(fd uintptr) {
		if number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); failed == nil {
			if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
				failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &size)
			}
		}
	}))
	require.NoError(t, failed)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	p.cmd = exec.Command("hyperslab", args...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = terminal, terminal, terminal
	p.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR="), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	require.NoError(t, terminal.Close())
	require.NoError(t, p.screen.Start())
	var copies sync.WaitGroup
	copies.Go(func() { _, _ = io.Copy(p, control) }) // ends with EIO after the last process
	copies.Go(func() { _, _ = io.Copy(control, p.screen) })
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		require.NoError(t, control.Close())
		require.NoError(t, p.screen.Drain())
		require.NoError(t, p.screen.Stop())
		copies.Wait()
	})
	return p
}

// Write implements io.Writer for the output of the command.
func (p *pseudoTerminal) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.written.Write(b)
	p.mu.Unlock()
	return p.screen.Write(b)
}

func (p *pseudoTerminal) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

func (p *pseudoTerminal) String() string {
	var out strings.Builder
	for y := range vt.Row(24) {
		line := ""
		for x := range vt.Col(80) {
			line += max(p.screen.GetCell(vt.Coord{X: x, Y: y}).C, " ")
		}
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}

func (p *pseudoTerminal) keys(text string) {
	_, err := p.control.WriteString(text)
	require.NoError(p.t, err)
}

func (p *pseudoTerminal) shows(strs ...string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		screen := p.String()
		for _, text := range strs {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	}, 20*time.Second, 10*time.Millisecond, "%q\n%s", strs, p)
}

// TestView runs the command on a pseudo terminal, with trusted and untrusted files.
func TestView(t *testing.T) {
	dir := field(t)
	f, err := h5.Create(filepath.Join(dir, "evil.h5"), nil)
	require.NoError(t, err)
	d, err := f.Root().CreateDataset("a\x1b]0;owned\a", h5.Int(4, 0), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, f.Close())
	t.Chdir(dir)
	for name, more := range map[string][]string{"trusted": nil, "untrusted": {"--untrusted"}} {
		t.Run(name, func(t *testing.T) {
			p := onTerminal(t, nil, append([]string{"view", "tree.h5"}, more...)...)
			p.shows("hyperslab view tree.h5 (hdf5)", "▸ run1/", "$ hyperslab info 'tree.h5:/dangling'")
			p.keys("/temp\r")
			p.shows("/run1/temperature", "match")
			p.keys("p")
			p.shows("$ hyperslab plot 'tree.h5:/run1/temperature[")
			p.keys("q")
			require.NoError(t, p.cmd.Wait())
		})
	}
	t.Run("values", func(t *testing.T) {
		p := onTerminal(t, nil, "view", "etopo.h5:/ROSE")
		p.shows("ROSE", "<f4: 90x180", "[rows, columns]", "$ hyperslab dump 'etopo.h5:/ROSE[0:")
		want, _, code := run("dump", "etopo.h5:/ROSE[45,100]")
		require.Zero(t, code)
		p.keys("\tg45,100\r")
		p.shows("[45, 100] " + strings.TrimSpace(want))
		p.keys("p")
		p.shows("▀▀▀▀▀▀▀▀▀▀")
		p.keys("i")
		p.shows("attributes", "units")
	})
	t.Run("b2nd without colours", func(t *testing.T) {
		p := onTerminal(t, []string{"NO_COLOR=1"}, "view", "waves.b2nd")
		p.shows("<f4: 20x30", "$ hyperslab dump 'waves.b2nd[0:")
		p.keys("p")
		p.shows("▓▓", "$ hyperslab plot 'waves.b2nd[:, :]'")
		require.NotRegexp(t, `\x1b\[[0-9;]*[34]8[;:]`, p.output())
	})
	t.Run("control characters", func(t *testing.T) {
		p := onTerminal(t, nil, "view", "evil.h5")
		p.shows(`a\x1b]0;owned\a`, `$ hyperslab dump $'evil.h5:/a\x1b]0;owned\a[0:2]'`)
		require.NotContains(t, p.output(), "\x1b]0;owned")
	})
	for name, x := range map[string]struct {
		args []string
		want string
	}{
		"no terminal":    {[]string{"view", "etopo.h5"}, "view needs a terminal"},
		"too many words": {[]string{"view", "a", "b", "c"}, "one argument too many"},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := run(x.args...)
			require.Equal(t, 2, code)
			require.Contains(t, stderr, x.want)
		})
	}
	t.Run("missing file", func(t *testing.T) {
		p := onTerminal(t, nil, "view", "missing.h5")
		p.shows("hyperslab view: open missing.h5: no such file")
		require.Error(t, p.cmd.Wait())
		require.Equal(t, 2, p.cmd.ProcessState.ExitCode())
	})
	t.Run("missing object", func(t *testing.T) {
		p := onTerminal(t, nil, "view", "tree.h5:/missing")
		p.shows("/missing")
		require.Error(t, p.cmd.Wait())
		require.Equal(t, 2, p.cmd.ProcessState.ExitCode())
	})
}
