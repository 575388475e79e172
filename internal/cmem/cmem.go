package cmem

/*
#include "cmem.h"
#cgo noescape hyperslab_free
#cgo nocallback hyperslab_alloc
#cgo nocallback hyperslab_free
#cgo noescape hyperslab_live
#cgo nocallback hyperslab_live
#cgo nocallback hyperslab_trim
*/
import "C"

import (
	"fmt"
	"math"
	"strings"
	"unsafe"

	"github.com/hyperslab/hyperslab/internal/errs"
)

// ErrOutOfMemory reports that the C allocator failed.
var ErrOutOfMemory = errs.New("cmem: out of memory")

// ErrNUL reports a Go string that cannot become a C string because it contains a zero byte.
var ErrNUL = errs.New("cmem: string holds a NUL byte")

// Alloc returns n zeroed bytes of C memory, aligned to 64 bytes. The caller must release the block
// with Free. n = 0 is allowed and counts as a block.
func Alloc(n int) (unsafe.Pointer, error) {
	if n < 0 || uint64(n) > math.MaxInt64/4 {
		return nil, fmt.Errorf("%w: %d bytes asked for", ErrOutOfMemory, n)
	}
	p := C.hyperslab_alloc(C.size_t(n))
	if p == nil {
		return nil, fmt.Errorf("%w: %d bytes asked for", ErrOutOfMemory, n)
	}
	return p, nil
}

// Free releases a block of Alloc, String or a shim. nil is allowed.
func Free(p unsafe.Pointer) { C.hyperslab_free(p) }

// Bytes returns n bytes of C memory at p as a slice, which is valid until the block is freed.
func Bytes(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

// String copies s into C memory with a final zero byte. It is used instead of C.CString because the
// counters of this package find a leaked string and the sanitizer does not find a leaked C.CString.
// A zero byte inside s is ErrNUL, never a shorter string.
func String(s string) (unsafe.Pointer, error) {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return nil, fmt.Errorf("%w: %q at byte %d", ErrNUL, s, i)
	}
	p, err := Alloc(len(s) + 1)
	if err != nil {
		return nil, err
	}
	copy(Bytes(p, len(s)+1), s)
	return p, nil
}

// Live returns the number of blocks that are not freed, and the bytes in them.
func Live() (blocks, bytes int64) {
	var b, n C.int64_t
	C.hyperslab_live(&b, &n)
	return int64(b), int64(n)
}

// Env returns an environment variable as the C libraries see it. Variables that libhdf5 and
// C-Blosc2 read are hidden from C unless the program sets them with os.Setenv, because some of them
// load code before the first call returns and others change results or print to standard error.
func Env(name string) string {
	n, err := String(name)
	if err != nil {
		return ""
	}
	defer Free(n)
	const longest = 1 << 12
	value, err := Alloc(longest)
	if err != nil {
		return ""
	}
	defer Free(value)
	if C.hyperslab_env((*C.char)(n), (*C.char)(value), longest) == 0 {
		return ""
	}
	return C.GoString((*C.char)(value))
}

// Trim returns free C memory to the system. glibc keeps memory of each thread's arena, also for
// example that of a large chunk index after its file is closed. It does nothing with another C
// library.
func Trim() { C.hyperslab_trim() }
