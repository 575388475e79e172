// Package printable replaces characters of files that must not reach a terminal, a page or a
// picture.
package printable
