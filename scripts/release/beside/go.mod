module example.com/beside

go 1.26.0

require (
	github.com/DataDog/zstd v1.5.7
	gonum.org/v1/hdf5 v0.0.0-20210714002203-8c5d23bc6946
)
