// Package strict makes readers and file systems of a caller keep the contracts of io.ReaderAt and
// fs.FS. A reader that returns too few bytes then causes an error, not an endless loop.
package strict
