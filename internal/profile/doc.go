// Package profile writes a CPU profile of a program of ours if the environment asks for
// one: HYPERSLAB_CPUPROFILE names the file, for `go tool pprof`.
package profile
