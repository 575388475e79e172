// The spare: one process that has been started and knows nothing yet, for the next client
// that needs one.

package worker

import (
	"sync"
	"time"
)

// spareIdle is how long the spare waits, and how close to each other two workers must
// begin to make one worth having: a program that opens one file pays nothing.
var spareIdle = 5 * time.Second

var spare struct {
	mu    sync.Mutex
	p     *process
	timer *time.Timer   // ends p
	made  chan struct{} // closed when the one that is being started is p, or failed; nil if none is
	last  time.Time     // when a worker last began
}

// takeSpare returns the spare process, nil if there is none. Each serves one client: what
// one file did to a process meets no other.
func takeSpare() *process {
	spare.mu.Lock()
	p := spare.p
	if p != nil {
		spare.timer.Stop()
		spare.p = nil
	}
	spare.mu.Unlock()
	if p != nil && p.host != thisHost() { // the program has become another
		p.kill()
		return nil
	}
	return p
}

// makeSpare is called when a worker has begun.
func makeSpare() {
	spare.mu.Lock()
	defer spare.mu.Unlock()
	now := time.Now()
	often := !spare.last.IsZero() && now.Sub(spare.last) < spareIdle
	spare.last = now
	if !often || spare.p != nil || spare.made != nil {
		return
	}
	made := make(chan struct{})
	spare.made = made
	go func() {
		p, err := spawn() // without one the next worker starts as the first did, and tells of the error
		spare.mu.Lock()
		defer spare.mu.Unlock()
		if spare.made = nil; err == nil {
			spare.p = p
			spare.timer = time.AfterFunc(spareIdle, func() { dropSpare(p) })
		}
		close(made)
	}()
}

// dropSpare ends p if it is still the spare.
func dropSpare(p *process) {
	spare.mu.Lock()
	mine := spare.p == p
	if mine {
		spare.p = nil
	}
	spare.mu.Unlock()
	if mine {
		p.kill()
	}
}

// closeSpare ends the process that waits for the next client, if there is one, and waits
// for its end.
func closeSpare() {
	spare.mu.Lock()
	made := spare.made
	spare.mu.Unlock()
	if made != nil {
		<-made
	}
	if p := takeSpare(); p != nil {
		p.kill()
	}
}
