// Package encode writes the elements of arrays as JSON, lines of JSON, CSV, .npy and raw bytes. It
// reads them in parts of limited size, for streams of any length, and is the only code that writes
// these formats: for dump and convert of the command, for package serve, and for hyperslab.Encode.
package encode
