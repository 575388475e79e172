// Package annfile writes files like those of ann-benchmarks.com, which benchmarks of vector
// databases read.
package annfile
