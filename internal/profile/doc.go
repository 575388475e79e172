// Package profile writes a CPU profile of a program if the environment variable
// HYPERSLAB_CPUPROFILE is set. The variable names the file, which `go tool pprof` reads.
package profile
