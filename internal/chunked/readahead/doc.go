// Package readahead passes the ranges of the next reads to a reader that can fetch them in
// parallel.
package readahead
