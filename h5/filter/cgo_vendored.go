// Linking of the libraries built by scripts/deps.sh: the default.

//go:build !system_libs

package filter

// #cgo CFLAGS: -isystem ${SRCDIR}/../../third_party/build/include
// #cgo LDFLAGS: -L${SRCDIR}/../../third_party/build/lib -lgocodec -lgohdf5 -lpthread -ldl -lm
import "C"
