//go:build !system_libs

package cblosc

// #cgo CFLAGS: -I${SRCDIR}/../third_party/lib/darwin_arm64
import "C"

import _ "github.com/hyperslab/hyperslab/third_party/lib/darwin_arm64" // the libraries
