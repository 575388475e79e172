// Package archive stores the files of an fs.FS in one file, so that a process with one descriptor
// can read them.
package archive
