// Package convert contains the commands that write files from others, and change files: convert,
// virtual, repack, cp, append, attr and rm.
package convert
