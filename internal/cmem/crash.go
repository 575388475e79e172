// Crashes of C libraries.

package cmem

/*
#include "crash.h"
*/
import "C"

import (
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"unsafe"
)

// hdf5 is the use of libhdf5, in memory of C, because a signal handler reads it.
var hdf5 = (*atomic.Int32)(unsafe.Pointer(&C.hyperslab_hdf5))

// EnterHDF5 records that a thread begins to use libhdf5, and LeaveHDF5 that it ends. The caller
// holds the lock of libhdf5.
func EnterHDF5() { hdf5.Store(C.HYPERSLAB_INSIDE) }

// LeaveHDF5 is the counterpart of EnterHDF5.
func LeaveHDF5() { hdf5.Store(C.HYPERSLAB_IDLE) }

// CrashText sets the message for a crash: begin, the name of the library and the signal, and end.
// The message is truncated after 1,280 bytes.
func CrashText(begin, end string) {
	b, err := String(strings.ReplaceAll(begin, "\x00", ""))
	if err != nil {
		return
	}
	defer Free(b)
	e, err := String(strings.ReplaceAll(end, "\x00", ""))
	if err != nil {
		return
	}
	defer Free(e)
	C.hyperslab_crash_text((*C.char)(b), (*C.char)(e))
}

// CatchCrashes ends the process with an exit code and the message of CrashText if C code causes
// SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT. Without it the runtime of Go ends the process with
// exit code 2 and the stacks of all goroutines. Faults of Go code are panics as before. Temporary
// files are not removed. It has no effect on Windows.
func CatchCrashes(code int) {
	first, last := goCode()
	C.hyperslab_catch_crashes(C.uintptr_t(first), C.uintptr_t(last), C.int(code))
}

// goCode returns the range of addresses with Go code. It is one range, which contains no C code.
func goCode() (first, last uintptr) {
	here := reflect.ValueOf(goCode).Pointer()
	// The functions of Go are one range, so that its ends can be found by halving.
	end := func(step int) uintptr {
		distance := 1
		for inGo(here, step*distance) {
			distance *= 2
		}
		low, high := distance/2, distance
		for high-low > 1 {
			if middle := low + (high-low)/2; inGo(here, step*middle) {
				low = middle
			} else {
				high = middle
			}
		}
		return here + uintptr(step*low)
	}
	return end(-1), end(1) + 1
}

func inGo(at uintptr, distance int) bool {
	return (distance >= 0 || uintptr(-distance) < at) && runtime.FuncForPC(at+uintptr(distance)) != nil
}
