// Limit of processor time. The host enforces it, because code in the worker can ignore the signal
// of a soft limit, and a hard limit cannot be raised for the next call.

package worker

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A meter kills its process when the process has used its processor time, also between calls.
type meter struct {
	mu    sync.Mutex
	p     *process
	limit time.Duration // of one call
	end   time.Duration // reading of the processor clock at which the process is killed
	over  bool          // the process was killed because of the limit
	timer *time.Timer
}

// pause is the shortest time between two readings of the clock.
const pause = 5 * time.Millisecond

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

// wait returns the least time after which the process can have used up its processor time.
func (m *meter) wait(now time.Duration) time.Duration {
	return max((m.end-now)/time.Duration(runtime.NumCPU()), pause)
}

func (m *meter) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer == nil {
		return
	}
	now, err := clock(m.p.cmd.Process.Pid)
	if err != nil || now >= m.end {
		m.over = err == nil
		m.p.cmd.Process.Kill() // it may have ended already
		return
	}
	m.timer.Reset(m.wait(now))
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

func (m *meter) exceeded() bool {
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
