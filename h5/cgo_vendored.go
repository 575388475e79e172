// Link flags for the libraries built by scripts/deps.sh. This is the default.

//go:build !system_libs

package h5

// #cgo CFLAGS: -I${SRCDIR}/../third_party/build/include
// #cgo LDFLAGS: -L${SRCDIR}/../third_party/build/lib -lgohdf5 -lpthread -ldl -lm
import "C"
