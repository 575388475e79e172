// Package filelock excludes the writers of a file or directory from each other.
//
// # Overview
//
// Acquire locks the file or directory that a path names, before the caller reads it to change it,
// and Release unlocks it after the last write or rename. The lock is on the inode: it covers every
// name of the file, follows symbolic links, works for directories, leaves no file behind, and the
// kernel releases it if the process ends. Readers do not take it and are not stopped.
//
// # Locks of the kernel
//
// On Linux the lock of a file is an open-file-description lock of one byte far after its end. A
// shared flock is held with it, so that libhdf5, which takes an exclusive flock to write and a
// shared one to read, cannot open the file for writing meanwhile, and its readers are not
// disturbed. A directory has the byte lock only, and a second byte that the writers of files
// directly in it share, so that none of them changes a file of a directory that is being replaced.
// Two shared byte locks contain information for other processes: the number of the process that
// holds the lock, and whether a process waits.
//
// Other Unix systems, and network file systems that implement flock with byte locks, use an
// exclusive flock alone. It also excludes readers of libhdf5 in other processes. Windows uses a
// named mutex, which excludes the processes of one machine.
//
// # Order of the writers
//
// The writers of one process wait in a queue, in the order of Acquire. The first one asks the
// kernel repeatedly. A process that releases a lock while another process waits lets that process
// go first.
package filelock
