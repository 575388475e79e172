// Package plan divides one large copy or check of an array, or an operation on many files, into
// shards that separate processes do, on one machine or on a cluster, and joins their results.
//
// # Overview
//
// New reads the metadata of a source and returns a Plan. A plan is deterministic: the same source,
// target and options give the same plan with the same ID. Work does one shard of a plan and writes
// a receipt. Commit requires a receipt of every shard, joins the results, and publishes the target
// atomically. Operations are convert, repack, rechunk and copy, whose target is an array, and
// verify, stats and checksum, whose target is a JSON file.
//
// The package contains no scheduler. Any program that runs numbered processes can run Work, for
// example an array of Slurm, an Indexed Job of Kubernetes, or package beam of this repository.
//
// # Protocol
//
// All files of a plan are in the directory TARGET.parts, or in objects with this prefix, until
// Commit removes them. A shard is a box of whole chunks of the target, so that no two shards write
// the same chunk. Work writes the chunks of the shard to a part, which is a complete file with a
// name that no other attempt uses. It then syncs the part and writes the receipt, which contains
// the name, size and SHA-256 of the part. A receipt must be created exclusively, so the first
// attempt of a shard wins and later ones remove their part. A shard can therefore run any number of
// times, also concurrently, and can be killed at any time. Shards with a receipt are skipped.
// Commit copies the chunks of the parts without recompression, so that the target has the same
// bytes as after a copy by one process.
//
// If the chunks of source and target have very different shapes, the plan has two stages. The first
// writes parts with chunks that suit both sides, and the second reads these parts. A shard of the
// second stage returns ErrIncomplete until all shards of the first stage have receipts.
//
// # Targets
//
// A contiguous b2nd target and a compact HDF5 target are one file, which Commit joins. In a sparse
// b2nd target each part is a directory of chunk files. Commit links them into the directory of the
// target and writes the index. Another HDF5 target is a virtual dataset; Commit moves the parts to
// the directory TARGET.shards and writes the dataset, which refers to them by relative names.
//
// Objects of S3 are created by conditional puts, so that the first of several concurrent attempts
// wins. Commit writes a joined target to a temporary file and uploads it; it becomes visible with
// the last request of the upload. The chunk files of a sparse target are uploaded by Work at once,
// under the names of the target, and Commit uploads the index. If a plan of a sparse target is
// abandoned, they remain. The file numbers of a sparse target in S3 are the numbers of the chunks,
// also if chunks of zeros have no file; otherwise they are consecutive.
//
// # Many files
//
// NewFiles divides a list of files; a shard is a part of its lines. The operation is a command of
// the program hyperslab, which calls Work and Commit with the functions that process and publish
// files. A part is a directory with the targets of a shard, and its receipt contains the results.
// Commit publishes one shard after the other. A Plan contains the offset of each shard in the list,
// and no names, so that the memory of a process does not depend on the number of files.
//
// # Memory
//
// A Plan contains shapes and no list of chunks or shards, so its size does not depend on the size
// of the array. Work and Commit use Plan.Memory bytes of buffers. Plan.ProcessMemory is the
// projected memory of the whole process, with the chunk indexes of source and target.
//
// # Concurrency
//
// All functions and methods may be called at the same time, also by several processes.
//
// # Errors
//
// Errors are the sentinels of this package and of package ndarray, in an *ndarray.Error with the
// target. A call that returns ErrPlan, ErrSource, ErrShard, ErrReceipt, ErrIncomplete or ErrTarget
// has not changed the target or a receipt.
package plan
