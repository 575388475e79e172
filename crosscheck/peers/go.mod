module github.com/hyperslab/hyperslab/crosscheck/peers

go 1.26.0

require (
	github.com/DataDog/zstd v1.5.7
	github.com/hyperslab/hyperslab v0.0.0
	github.com/klauspost/compress v1.20.3
	github.com/scigolib/hdf5 v0.14.1
	gonum.org/v1/hdf5 v0.0.0-20210714002203-8c5d23bc6946
)

require (
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/hyperslab/hyperslab => ../..
