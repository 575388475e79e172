// Package hyperslab opens, creates, lists, copies and changes arrays in Blosc2, Caterva, bcolz and
// HDF5 files.
//
// # Overview
//
// A location is a file, or FILE:/path for an array inside an HDF5 file, a bcolz ctable or a
// directory of arrays. Open detects the format by content. Create chooses it by
// CreateOptions.Format or by the extension of the file name, and returns a Draft, which becomes the
// file only when it is committed. CreateTree does the same for a new HDF5 file with many arrays.
// Walk lists the contents of a file or directory, CopyTree copies all of it to another, and Update
// changes a file atomically. OpenReaderAt, OpenTreeReaderAt and OpenTreeFS read files that are not
// at a location: uploads, members of archives, embedded files. Package internal/tree/directories
// documents the layout of directories. The elements of an array are read and written by package
// ndarray.
//
// # Concurrency
//
// All functions may be called at the same time, and all methods of their results. Functions that
// change an existing file hold its lock, so that writers lose no change of each other, in
// goroutines and in processes. For one file:
//
//   - Open for reading, OpenReaderAt, OpenTree, OpenTreeReaderAt, OpenTreeFS, Walk, Sniff, Verify
//     without WriteDigests: run beside themselves and beside all writers. A reader of an HDF5 file
//     gets an error of libhdf5 while another process has the file open for writing in place.
//   - Open with Write or Durable, until Close: a second one waits. Datasets of one HDF5 file can be
//     open for writing at the same time in one process, each dataset once.
//   - Update, UpdateWith, EditGroupAttrs, LockFile until Release: a second one waits.
//   - Create of an array in an existing file, or with Overwrite of an existing file, until Commit
//     or Close: a second one waits. With InPlace, different arrays of one HDF5 file are created at
//     the same time in one process. Create of one new file: the first Commit succeeds, and the
//     others return ndarray.ErrExists, or replace the file if Overwrite is set and it contains one
//     array.
//   - CreateTree: like Create of a new file, until Commit or Close of the TreeDraft, whose arrays
//     are created and written by any number of goroutines. With Overwrite an existing file is
//     replaced as a whole, and other writers of it wait.
//   - CopyTree and Recover: like Create with Overwrite, for the target.
//   - Verify with WriteDigests: the last sidecar remains.
//
// A writer waits as long as its context allows, and then returns ErrLocked: see LockFile. Functions
// that write in place exclude other programs that use libhdf5, and so do changes of copies; readers
// of the old file are not disturbed. Programs that take no lock, for example python-blosc2, are not
// excluded: if such a program changes a file meanwhile, the writer returns ErrReplaced.
//
// # Errors
//
// Errors are sentinels of ndarray, in an *ndarray.Error with the location. For untrusted files they
// are also ErrLimit, ErrUnavailable and ErrCrashed.
package hyperslab
