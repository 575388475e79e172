// Package unlocked carries the warning that a file was opened without a lock from package h5 to the
// command.
package unlocked
