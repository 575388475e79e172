// Child processes that run the tasks of this module, controlled by lines on standard input
// (peers/peer.h).

package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"syscall"
	"time"
)

// work is a prepared task: one run, an untimed step before each run, and facts that are known
// before the first run.
type work struct {
	before func() error
	run    func() (found string, err error)
	facts  string
}

// args are the words after the task's name. err is the first error in them.
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

// rest returns the remaining arguments as numbers.
func (a *args) rest() []int64 {
	var v []int64
	for len(a.words) > 0 {
		v = append(v, a.number())
	}
	return v
}

// child performs a run for each line of standard input, or one run if once is set.
func child(name string, words []string, once bool) int {
	if n, ok := os.LookupEnv("BLOSC_NTHREADS"); ok {
		if err := os.Setenv("BLOSC_NTHREADS", n); err != nil { // C sees the variable only if the program sets it
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
	stop, err := startProfile()
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

// processorTime returns the processor time in nanoseconds of all threads of this process and of its
// ended child processes, for example workers for untrusted files.
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

// checksum returns the sum of all 32-bit words.
func checksum(b []byte) string {
	s := uint64(0)
	for ; len(b) >= 4; b = b[4:] {
		s += uint64(binary.LittleEndian.Uint32(b))
	}
	return "sum=" + strconv.FormatUint(s, 10)
}

// random is the random number generator that all implementations use.
type random uint64

func (r *random) draw(below int64) int64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return int64(uint64(*r) >> 33 % uint64(below))
}

// startProfile begins a CPU profile in the file that the environment variable HYPERSLAB_CPUPROFILE
// names. stop ends it. Without the variable both have no effect.
func startProfile() (stop func() error, err error) {
	path := os.Getenv(profileVariable)
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profileVariable, err)
	}
	return func() error { pprof.StopCPUProfile(); return f.Close() }, nil
}
