// Package carrays is the driver of bcolz: a directory with a carray, or with a ctable and its
// columns.
package carrays
