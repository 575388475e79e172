// Gate, which gives out numbers in order and limits how far they run ahead of the first unfinished
// number.

package ordered

import "sync"

// Gate gives numbers to workers. Each worker calls Take for a number and Done when it has finished
// the work. At most Ahead numbers lie between the first unfinished one and the last one given out.
// Therefore one slow item does not make all later items wait in memory. The worker with the first
// number never waits.
type Gate struct {
	Ahead int64 // 1 or more

	mu   sync.Mutex
	free sync.Cond // signals that the first number has changed
	next int64
	done map[int64]bool // numbers after the first unfinished one that are done
	at   int64          // the first unfinished number
}

// Take returns the next number, counted from 0. It waits until the number is within Ahead.
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

// Done marks a number as finished, successfully or not. Every number that was taken must be marked.
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
