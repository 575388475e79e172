package cmem

import "unsafe"

// Invalid is an address that Free cannot read.
var Invalid = unsafe.Add(unsafe.Pointer(nil), 1<<12)
