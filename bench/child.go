// Children: the ways of ours to do the work, each in a process of its own, told what to do by lines (peers/peer.h).

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/hyperslab/hyperslab/internal/profile"
)

// work is what a task prepared: one run, what must happen before each that does not count, and what it knows already.
type work struct {
	before func() error
	run    func() (found string, err error)
	facts  string
}

// args are the words behind the task's name. The first one that is wrong is remembered.
type args struct {
	words []string
	err   error
}

func (a *args) text() string {
	if len(a.words) == 0 {
		a.err = fmt.Errorf("too few arguments")
		return ""
	}
	w := a.words[0]
	a.words = a.words[1:]
	return w
}

func (a *args) number() int64 {
	w := a.text()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil && a.err == nil {
		a.err = err
	}
	return n
}

// rest are numbers up to the end.
func (a *args) rest() []int64 {
	var v []int64
	for len(a.words) > 0 {
		v = append(v, a.number())
	}
	return v
}

// child does the runs that it is told to do, or one.
func child(name string, words []string, once bool) int {
	if n, ok := os.LookupEnv("BLOSC_NTHREADS"); ok {
		if err := os.Setenv("BLOSC_NTHREADS", n); err != nil { // C sees it because the program sets it
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := serve(name, words, once); err != nil {
		fmt.Fprintf(os.Stderr, "bench task %s: %v\n", name, err)
		return 1
	}
	return 0
}

func serve(name string, words []string, once bool) (err error) {
	prepare, ok := tasks[name]
	if !ok {
		return fmt.Errorf("no such task")
	}
	w, err := prepare(&args{words: words})
	if err != nil {
		return err
	}
	stop, err := profile.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if w.facts != "" {
		fmt.Println(w.facts)
	}
	if once {
		found, err := w.run()
		fmt.Println(found)
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if w.before != nil {
			if err := w.before(); err != nil {
				return err
			}
		}
		cpu, begin := processorTime(), time.Now()
		found, err := w.run()
		wall := time.Since(begin)
		if err != nil {
			return err
		}
		fmt.Println(int64(wall), processorTime()-cpu, found)
	}
	return in.Err()
}

// processorTime is what all threads of this process have worked, and its processes that have
// ended, which are workers of untrusted files, in nanoseconds.
func processorTime() (n int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return 0
		}
		n += u.Utime.Nano() + u.Stime.Nano()
	}
	return n
}

// checksum is the sum of all 32-bit words.
func checksum(b []byte) string {
	s := uint64(0)
	for ; len(b) >= 4; b = b[4:] {
		s += uint64(binary.LittleEndian.Uint32(b))
	}
	return "sum=" + strconv.FormatUint(s, 10)
}

// random are the numbers that all sides draw.
type random uint64

func (r *random) draw(below int64) int64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int64(uint64(*r) >> 33 % uint64(below))
}
