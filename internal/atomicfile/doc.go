// Package atomicfile makes outputs that appear whole or not at all: a file or
// a directory is written under a temporary name beside its target, synced, and
// renamed.
//
// # What
//
// Create gives the temporary name, Path; whoever writes creates a file or a
// directory there. Commit syncs it, moves it to the target in one step and syncs
// the parent directory. Abort removes it. AbortAll removes all that are
// unfinished and is for signal handlers. A killed process leaves its temporary files; the
// next process of the same user and system that calls Create in the directory removes them.
//
// # Concurrency
//
// All functions may be called at the same time, also by other processes for the
// same target: without Overwrite exactly one of them gets it.
//
// # Errors
//
// Errors are *fs.PathError; ErrExists is fs.ErrExist too.
package atomicfile
