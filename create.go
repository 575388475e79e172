// Functions that create and change arrays.

package hyperslab

import (
	"context"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/internal/draft"
	"github.com/hyperslab/hyperslab/internal/files/filelock"
	"github.com/hyperslab/hyperslab/internal/tree"
	"github.com/hyperslab/hyperslab/ndarray"
)

// CreateOptions are the options of Create. Nil means the zero value.
type CreateOptions struct {
	Format Format // default: that of the extension of the file name
	Sparse bool   // write a b2nd or Caterva array as a directory with one file per chunk

	// Plain writes the elements of a b2nd array as a plain Blosc2 frame, in row-major order, with
	// the metalayer of save_tensor of python-blosc2, so that load_tensor reads it. It has no fill
	// value, maximum shape or dimension names.
	Plain bool

	// Overwrite replaces the array at the location. In an HDF5 file it replaces the named object
	// only, which must not be a group.
	Overwrite bool

	// InPlace adds an array to an existing HDF5 file without copying the file first. A program that
	// is killed in the process can leave the file corrupt.
	InPlace bool

	// Stripes are the files that store the chunks of an HDF5 dataset, which becomes a virtual
	// dataset over them. Create makes these files; they must not exist, also if Overwrite is set.
	// Relative names are relative to the directory of the location. The array cannot grow and can
	// have at most 65,536 chunks. If the draft is discarded, the files are deleted; a program that
	// is killed in the process leaves them. Nil: the chunks are in the file of the dataset.
	Stripes []string

	// StripeOf returns the index in Stripes of the file for the chunk at the given grid
	// coordinates. If it is nil, chunks go to the files in turn, in row-major order.
	StripeOf func(chunk []int64) int

	// Mappings make the array a virtual HDF5 dataset of the elements of other datasets, which need
	// not exist yet. Relative names of files are relative to the directory of the location.
	Mappings []h5.Mapping

	// External are ranges of files that contain the elements of an HDF5 dataset, without chunks and
	// compression. libhdf5 searches relative names in the working directory. Create does not create
	// these files. A write to the Draft changes them before Commit.
	External []h5.ExternalFile

	Library bool // as in OpenOptions

	// Lock is the lock of an existing target, which the caller holds (LockFile). Nil: Create locks
	// an existing target until Commit or Close.
	Lock *Lock
}

// internal returns the options of package draft.
func (o CreateOptions) internal() draft.Options {
	return draft.Options{Overwrite: o.Overwrite, Lock: o.Lock, CreateOptions: tree.CreateOptions{
		Format: string(o.Format), Sparse: o.Sparse, Plain: o.Plain, InPlace: o.InPlace, Library: o.Library,
		Stripes: o.Stripes, StripeOf: o.StripeOf, Mappings: o.Mappings, External: o.External,
	}}
}

// Draft is an array that is not committed yet. It is written under a temporary name next to its
// target. Commit moves it to the target atomically.
type Draft struct {
	*ndarray.Array
	draft *draft.Draft
}

// Create starts a new array at location. The format is CreateOptions.Format, or that of the
// extension: .b2nd is b2nd; .caterva is Caterva; .h5, .hdf5, .he5 and .nc are HDF5; .bcolz is
// bcolz. In bcolz an array of structures with one dimension becomes a ctable, and any other array a
// carray. spec describes the array; the backend chooses properties that spec leaves out.
//
// If the location is FILE:/path and the HDF5 file exists, Create adds the array to it and leaves
// all other objects unchanged. The array is written to a copy of the file, which replaces the file
// at Commit; CreateOptions.InPlace changes the file itself. The space of a replaced object stays in
// the file unless the new array uses it.
//
// If the location is DIRECTORY:/path and the directory is an existing .b2d, Create adds a file with
// the array to it. Overwrite replaces an array that is a file.
//
// The caller writes to the Draft's Array, then calls Commit. Close discards a draft that is not
// committed.
//
// It returns ndarray.ErrExists if the array exists and CreateOptions.Overwrite is not set; ErrParam
// if the extension is unknown or the location does not match the format; the errors of
// spec.Validate; ErrNotFound if the directory is missing; or errors.ErrUnsupported for properties
// that the format cannot represent.
func Create(ctx context.Context, location string, spec ndarray.Spec, o *CreateOptions) (*Draft, error) {
	d, err := draft.Create(ctx, location, spec, orZero(o).internal())
	if err != nil {
		return nil, err
	}
	return &Draft{d.Array, d}, nil
}

// Commit closes the array, syncs it to disk and moves it to its target. After an error the target
// is unchanged, unless the error occurred after the move (see atomicfile). Commit then removes the
// temporary files.
//
// It returns ndarray.ErrExists if the target was created in the meantime, ErrClosed after Commit or
// Close, or the context's error, after which the draft is still open.
func (d *Draft) Commit(ctx context.Context) error { return d.draft.Commit(ctx) }

// Close discards the draft if it is not committed, and otherwise does nothing. It can therefore
// always be deferred.
func (d *Draft) Close() error { return d.draft.Close() }

// TreeDraft is a new file with groups and arrays that is not committed yet. It is written under a
// temporary name next to its target. Commit moves it to the target atomically.
//
// Any number of goroutines may use a TreeDraft and its arrays, as they use an ndarray.Array.
type TreeDraft struct{ tree *draft.Tree }

// CreateTree starts a new file at location, for which it calls Commit once. Only HDF5 files can be
// written so; for another format write an HDF5 file and copy it with CopyTree. The format is that
// of Create. Of the options only Format, Overwrite and Lock apply. With Overwrite the new file
// replaces an existing one as a whole.
//
// It returns ndarray.ErrExists if the file exists and o.Overwrite is not set; ErrParam for a path
// in the file, an unknown extension or another option; ErrNotFound if the directory is missing; or
// errors.ErrUnsupported for a URL and another format.
func CreateTree(ctx context.Context, location string, o *CreateOptions) (*TreeDraft, error) {
	d, err := draft.CreateTree(ctx, location, orZero(o).internal())
	if err != nil {
		return nil, err
	}
	return &TreeDraft{d}, nil
}

// CreateGroup creates a group with attributes. The path "/" is the root, which exists: it adds or
// replaces attributes of it.
//
// It returns ndarray.ErrExists; ErrNotFound if the group above is missing; ErrParam if that is an
// array, and for an invalid path; errors.ErrUnsupported for an attribute that the format cannot
// store; ErrClosed after Commit or Close; or the context's error.
func (d *TreeDraft) CreateGroup(ctx context.Context, path string, attrs ...ndarray.Attr) error {
	return d.tree.Group(ctx, path, attrs)
}

// Create creates an array, whose group must exist. spec describes it as for Create of the package.
// The caller writes the elements, and may close the array when they are complete. Commit closes
// the others. An array of at most 64 KiB is stored fastest by one Write of all elements.
//
// It returns the errors of CreateGroup and of Create of the package. After an error there is no
// such array.
func (d *TreeDraft) Create(ctx context.Context, path string, spec ndarray.Spec) (*ndarray.Array, error) {
	return d.tree.Array(ctx, path, spec)
}

// AttachScale attaches the array at the path scale to a dimension, counted from 0, of the array at
// a path, as a dimension scale. The elements of a scale are the coordinates of the dimension.
// Commit attaches the scales. Both arrays may grow until then.
//
// It returns ndarray.ErrNotFound for a missing array, ErrShape if the scale does not have one
// dimension, or has another length that cannot change (arrays without Spec.MaxShape or closed),
// ErrParam for an invalid dimension, a scale that has scales, and an array that is a scale, or
// ErrClosed.
func (d *TreeDraft) AttachScale(path string, dim int, scale string) error {
	return d.tree.AttachScale(path, dim, scale)
}

// Commit closes all arrays, syncs the file to disk and moves it to its target. It waits for calls
// of the arrays that are running. Later ones return ndarray.ErrClosed.
//
// It returns ErrShape, with both arrays and lengths, for a scale of another length than its
// dimension, and the errors of Draft.Commit and of the last writes. After an error the target is
// unchanged, unless the error occurred after the move, and the temporary file is removed. After
// the context's error the draft is still open.
func (d *TreeDraft) Commit(ctx context.Context) error { return d.tree.Commit(ctx) }

// Close discards the draft and closes its arrays if it is not committed, and otherwise does
// nothing. It can therefore always be deferred.
func (d *TreeDraft) Close() error { return d.tree.Close() }

// EditGroupAttrs removes the attributes in remove from a group, then sets those in set, in place. A
// program that is killed in the process can leave the file corrupt. A directory of arrays without a
// file for attributes gets one.
//
// It returns ndarray.ErrNotFound for a missing file, path or attribute in remove, ErrFormat,
// ErrParam if the location is an array, ErrCorrupt, and errors.ErrUnsupported for a ctable and for
// an attribute that the format cannot store.
func EditGroupAttrs(ctx context.Context, location string, set []ndarray.Attr, remove []string) error {
	return draft.EditGroupAttrs(ctx, location, set, remove)
}

// Update changes a file, or the directory of a sparse frame or a bcolz tree, atomically. It calls
// change with the path of a copy next to the file. If change returns nil, Update syncs the copy and
// replaces the file by it. If the program or the machine stops, the file is the old one or the new
// one. For example, Update can append to an HDF5 file durably, which libhdf5 cannot do in place.
// The copy is free if the file system shares blocks; otherwise it takes the size of the file.
//
// change must close all files that it opens. Other programs that have the old file open keep
// reading the old file. A symbolic link is preserved; its target is replaced.
//
// Update opens the copy, all of its groups and arrays, before it replaces the file.
//
// It returns ndarray.ErrNotFound, the error of change, an error of opening the copy, the context's
// error, or an error of the file system. After an error the file is unchanged.
//
// Update holds the lock of the file (LockFile) from the copy to the replacement. It waits as long
// as ctx allows for other writers, and then returns ErrLocked. A program that opens the file with
// libhdf5 for writing meanwhile gets an error. Update returns ErrReplaced if a program without the
// lock changed the file meanwhile. change must not change file itself, because Update has the lock.
func Update(ctx context.Context, file string, change func(copy string) error) error {
	return UpdateWith(ctx, file, nil, change)
}

// UpdateOptions are the options of UpdateWith. Nil means the zero value.
type UpdateOptions struct {
	Lock *Lock // the lock of the file, which the caller holds; nil: UpdateWith takes it
}

// UpdateWith is Update with options.
func UpdateWith(ctx context.Context, file string, o *UpdateOptions, change func(copy string) error) error {
	return ndarray.Wrap("update", file, draft.Update(ctx, file, orZero(o).Lock, change))
}

// Errors of concurrent writers, for errors.Is.
var (
	// ErrLocked means that another writer holds the lock of the file for longer than the context
	// allows to wait. The message contains the file and, if the kernel reports it, the process.
	ErrLocked = ndarray.ErrLocked
	// ErrReplaced means that a program without the lock replaced or changed the file of an open
	// array or of a change in progress. The change was not made.
	ErrReplaced = ndarray.ErrReplaced
)

// Lock is the lock of a file or directory, from LockFile. Release releases it.
type Lock = ndarray.Lock

// LockOptions are the options of LockFile. Nil means the zero value.
type LockOptions struct {
	// NoLock continues if the file system refuses locks. Only the writers of this process then
	// exclude each other.
	NoLock bool

	// Unlocked is called if NoLock has an effect. It may be nil.
	Unlocked func(file string, err error)
}

// LockFile locks an existing file or directory for a caller that changes it in several steps. The
// other writers of this module, in all processes, wait until Release. Each function that changes
// files takes this lock itself unless its options contain it. Readers are not stopped. The kernel
// releases the lock if the process ends. A symbolic link and a hard link lock the same file. The
// lock of a directory also excludes the writers of files in it and below, except on Windows.
//
// LockFile waits until the lock is free or ctx ends, and then returns ErrLocked. A ctx without a
// deadline waits without limit for other processes, and for 10 seconds while one writer of this
// process keeps the lock, because the caller may be that writer. It also returns
// ndarray.ErrNotFound, errors of the file system, and errors.ErrUnsupported if the file system
// refuses locks and NoLock is not set.
func LockFile(ctx context.Context, file string, o *LockOptions) (*Lock, error) {
	x := orZero(o)
	l, err := filelock.Acquire(ctx, file, &filelock.Options{NoLock: x.NoLock, Unlocked: x.Unlocked, Tree: true})
	return l, ndarray.Wrap("lock", file, err)
}
