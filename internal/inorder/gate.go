// The gate: numbers are given out in order, and none too far ahead of the first that is
// still worked on.

package inorder

import "sync"

// Gate gives numbers to workers: each takes one, and says when it is done with it. At most
// Ahead numbers lie between the first that is not done and the last that was given out, so
// that one slow piece of work does not make all that follow wait in memory. The worker
// with the first number never waits.
type Gate struct {
	Ahead int64 // 1 or more

	mu   sync.Mutex
	free sync.Cond // the first number has changed
	next int64
	done map[int64]bool // numbers behind first that are done
	at   int64          // the first that is not
}

// Take returns the next number, from 0 on, when its turn has come.
func (g *Gate) Take() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.next
	g.next++
	for n-g.at >= g.Ahead {
		if g.free.L == nil {
			g.free.L = &g.mu
		}
		g.free.Wait()
	}
	return n
}

// Done says that a number is done with, whatever came of it. Every number that was taken
// must be.
func (g *Gate) Done(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n != g.at {
		if g.done == nil {
			g.done = make(map[int64]bool)
		}
		g.done[n] = true
		return
	}
	for g.at++; g.done[g.at]; g.at++ {
		delete(g.done, g.at)
	}
	if g.free.L != nil {
		g.free.Broadcast()
	}
}
