// Package jsonform formats elements of arrays as JSON. It is the only encoder of elements for JSON
// and CSV: the command uses Document for dump and --json, and Literal for attr get; package serve
// uses H5grove.
package jsonform
