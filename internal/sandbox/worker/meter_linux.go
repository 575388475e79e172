// Limits of processor time and threads. The host enforces them, because code in the worker can
// ignore the signal of a soft limit, and a hard limit cannot be raised for the next call. The
// kernel has no limit of the threads of one process.

package worker

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A meter kills its process when the process has used its processor time or started too many
// threads, also between calls.
type meter struct {
	mu    sync.Mutex
	p     *process
	limit time.Duration // of one call
	end   time.Duration // reading of the processor clock at which the process is killed
	over  string        // the limit because of which the process was killed, or ""
	timer *time.Timer
}

// pause and longest are the shortest and the longest time between two readings.
const (
	pause   = 5 * time.Millisecond
	longest = 250 * time.Millisecond
)

// maxThreads returns the maximum number of threads of a worker, which the Go runtime and the C
// libraries do not reach.
func maxThreads() int { return 256 + 16*runtime.GOMAXPROCS(0) }

func (m *meter) start(p *process, limit time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := clock(p.cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("read the processor time of the worker: %w", err)
	}
	m.p, m.limit, m.end = p, limit, now+limit
	m.timer = time.AfterFunc(m.wait(now), m.look)
	return nil
}

// wait returns the time until the next reading. It is at most the least time after which the
// process can have used up its processor time.
func (m *meter) wait(now time.Duration) time.Duration {
	return min(max((m.end-now)/time.Duration(runtime.NumCPU()), pause), longest)
}

func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer == nil {
		return
	}
	now, err := clock(m.p.cmd.Process.Pid)
	n := threads(m.p.cmd.Process.Pid)
	switch {
	case err != nil:
	case now >= m.end:
		m.over = fmt.Sprintf("processor time of %v", m.limit)
	case n > maxThreads():
		m.over = fmt.Sprintf("%d threads, at most %d", n, maxThreads())
	default:
		m.timer.Reset(m.wait(now))
		return
	}
	m.p.cmd.Process.Kill() // it may have ended already
}

// renew gives the process the processor time of one call, starting now.
func (m *meter) renew() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer == nil {
		return
	}
	if now, err := clock(m.p.cmd.Process.Pid); err == nil {
		m.end = now + m.limit
	}
}

// stop must be called before waiting for the process, because afterwards its id may belong to
// another process.
func (m *meter) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}

// exceeded returns the limit because of which the process was killed, or "".
func (m *meter) exceeded() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.over
}

// clock reads the processor time of all threads of a process (clock_getcpuclockid).
func clock(pid int) (time.Duration, error) {
	const scheduled = 2 // CPUCLOCK_SCHED
	var t unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|scheduled), &t)
	return time.Duration(t.Nano()), err
}

// threads returns the number of threads of a process, or 0 if it has ended.
func threads(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// Field 2 is the name of the program in parentheses, and field 20 the number of threads.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 18 {
		return 0
	}
	n, err := strconv.Atoi(string(fields[17]))
	if err != nil {
		return 0
	}
	return n
}
