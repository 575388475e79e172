package unlocked

import "sync/atomic"

var report atomic.Pointer[func(path string, err error)]

// Notify makes f receive each file that is opened without a lock because its file system refuses
// locks. A nil f ends that.
func Notify(f func(path string, err error)) {
	if f == nil {
		report.Store(nil)
		return
	}
	report.Store(&f)
}

// Report calls the function of Notify, if there is one.
func Report(path string, err error) {
	if f := report.Load(); f != nil {
		(*f)(path, err)
	}
}
