// The idle worker: one process that has been started without settings and waits for the next
// client.

package worker

import (
	"sync"
	"time"
)

// spareIdle is the time that the idle process waits for a client. It is also the maximum time
// between the starts of two workers for an idle process to be started, so a program that opens one
// file does not start one.
var spareIdle = 5 * time.Second

var spare struct {
	mu    sync.Mutex
	p     *process
	timer *time.Timer   // ends p
	made  chan struct{} // closed when the process that is being started is p, or failed; nil if no process is being started
	last  time.Time     // time of the last start of a worker
}

// takeSpare returns the idle process, or nil if there is none. Each process serves one client, so
// that one file cannot affect the processing of another.
func takeSpare() *process {
	spare.mu.Lock()
	p := spare.p
	if p != nil {
		spare.timer.Stop()
		spare.p = nil
	}
	spare.mu.Unlock()
	if p != nil && p.host != thisHost() { // the ids or the number of processors of the program have changed
		p.kill()
		return nil
	}
	return p
}

// makeSpare is called when a worker has started.
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
		p, err := spawn() // on failure the next worker starts without an idle process and reports the error
		spare.mu.Lock()
		defer spare.mu.Unlock()
		if spare.made = nil; err == nil {
			spare.p = p
			spare.timer = time.AfterFunc(spareIdle, func() { dropSpare(p) })
		}
		close(made)
	}()
}

// dropSpare ends p if it is still the idle process.
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

// closeSpare ends the idle process, if there is one, and waits for its end.
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
