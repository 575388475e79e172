package worker

import "time"

// SpareIdle sets how long the spare waits, forgets when a worker last began, and returns
// what undoes it.
func SpareIdle(d time.Duration) (back func()) {
	closeSpare()
	spare.mu.Lock()
	defer spare.mu.Unlock()
	was := spareIdle
	spareIdle, spare.last = d, time.Time{}
	return func() { SpareIdle(was) }
}

// Spare waits for the spare that is being started and returns its process id, 0 if there
// is none.
func Spare() int {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	if made := spare.made; made != nil {
		spare.mu.Unlock()
		<-made
		spare.mu.Lock()
	}
	if spare.p == nil {
		return 0
	}
	return spare.p.cmd.Process.Pid
}

// ExpireSpare is the end of its patience.
func ExpireSpare() {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.timer.Reset(0)
}

// StrangeSpare is a spare that was started by somebody else.
func StrangeSpare() {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.p.host.user++
}

// LandlockAtMost makes this process, a worker, use at most this version of Landlock.
func LandlockAtMost(version int) { newestLandlock = version }
