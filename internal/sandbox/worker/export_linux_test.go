package worker

import "time"

// StartLimit returns the maximum time of a start.
func StartLimit() time.Duration { return startLimit }

// SpareIdle sets how long the idle worker waits and resets the time of the last start. It returns a
// function that restores both.
func SpareIdle(d time.Duration) (back func()) {
	closeSpare()
	spare.mu.Lock()
	defer spare.mu.Unlock()
	was := spareIdle
	spareIdle, spare.last = d, time.Time{}
	return func() { SpareIdle(was) }
}

// Spare waits for an idle worker that is being started. It returns its process id, or 0 if there is
// none.
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

// ExpireSpare ends the waiting time of the idle worker now.
func ExpireSpare() {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.timer.Reset(0)
}

// StrangeSpare changes the owner of the idle worker to another user.
func StrangeSpare() {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	spare.p.host.user++
}

// LandlockAtMost sets the newest Landlock version that this process, a worker, uses.
func LandlockAtMost(version int) { newestLandlock = version }
