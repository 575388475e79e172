// Package lib and its directories hold the C libraries of this module, one directory for each
// platform: the static archives and the headers.
//
// In the repository the directories contain no libraries: `make deps` builds them there. A release
// contains them, so that a program that imports the module needs Go and a C compiler only. Each
// directory is a Go package, because `go mod vendor` copies nothing else. The packages that bind C
// import the directory of their platform, which contributes the flags of the linker. They also
// import this package, which fails to compile where they cannot work and names the reason.
//
// With -tags system_libs the libraries of the system are linked instead.
package lib

import _ "github.com/hyperslab/hyperslab/third_party/lib/musl" // names that musl lacks
