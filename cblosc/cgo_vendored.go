// The libraries built by scripts/deps.sh (default).

//go:build !system_libs

package cblosc

// #cgo CFLAGS: -I${SRCDIR}/../third_party/build/include
// #cgo LDFLAGS: -L${SRCDIR}/../third_party/build/lib -lgoblosc2 -lpthread -ldl -lm
import "C"
