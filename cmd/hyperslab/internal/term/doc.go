// Package term writes to terminals: progress, colours, pagers, tables, and text in which the
// control characters of files are escaped. It also formats and parses sizes and shapes.
package term
