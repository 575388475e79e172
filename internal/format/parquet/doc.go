// Package parquet writes small Parquet files with integers and byte strings.
//
// # Overview
//
// Write writes a table with one row group and one data page of version 1 per column, compressed
// with Zstandard. Integers are INT64 without nulls. Byte strings are optional BYTE_ARRAY values.
// Strings have a dictionary.
//
// # Concurrency
//
// Write may be called at the same time.
//
// # Errors
//
// ErrColumn means columns of different lengths or too long values. Other errors are those of the
// io.Writer.
package parquet
