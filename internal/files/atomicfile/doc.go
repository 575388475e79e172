// Package atomicfile makes outputs that appear complete or not at all. A file or directory is
// written under a temporary name in the directory of its target, synced, and renamed.
//
// # Overview
//
// Create returns an Output with a temporary name, Path, where the caller creates a file or a
// directory. Commit syncs it, moves it to the target in one step and syncs the parent directory.
// Abort removes it. AbortAll removes all unfinished outputs and is for signal handlers. A killed
// process leaves its temporary files; the next process of the same user and system that calls
// Create in the directory removes them.
//
// # Concurrency
//
// All functions are safe for concurrent use, also by several processes for the same target: without
// Overwrite exactly one of them succeeds.
//
// # Errors
//
// Errors are *fs.PathError. ErrExists matches fs.ErrExist.
package atomicfile
