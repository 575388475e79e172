module github.com/hyperslab/hyperslab/scripts/crosscheck

go 1.26.0

require (
	github.com/DataDog/zstd v1.5.7
	github.com/hyperslab/hyperslab v0.0.0
	github.com/klauspost/compress v1.20.4
	github.com/scigolib/hdf5 v0.14.1
	gonum.org/v1/hdf5 v0.0.0-20210714002203-8c5d23bc6946
)

require (
	github.com/elastic/go-seccomp-bpf v1.5.0 // indirect
	github.com/landlock-lsm/go-landlock v0.11.0 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	kernel.org/pub/linux/libs/security/libcap/psx v1.2.77 // indirect
)

replace github.com/hyperslab/hyperslab => ../..
