// Verification, recovery and repair of files, and the layout for reads over a network.

package hyperslab

import (
	"context"
	"fmt"
	"time"

	"github.com/hyperslab/hyperslab/internal/hdf5/h5cloud"
	"github.com/hyperslab/hyperslab/internal/recovery"
	"github.com/hyperslab/hyperslab/internal/verify"
	"github.com/hyperslab/hyperslab/ndarray"
)

// VerifyOptions are the options of Verify. Nil and zero fields mean the defaults named here.
type VerifyOptions struct {
	Format  Format // format of a file that is too corrupt to detect it; default: by content
	Workers int    // number of goroutines that decode; default GOMAXPROCS

	// CheckDigests compares the sidecar PATH.sha256, which must exist. It contains the SHA-256
	// digest of the file, or of each file of a directory, in the format of sha256sum; to check it
	// with sha256sum, run the command in the parent directory. WriteDigests writes or replaces the
	// sidecar if no errors were found.
	CheckDigests, WriteDigests bool

	// Untrusted skips the steps in which C libraries are unsafe on crafted bytes. Chunks of codecs
	// and filters without bounds checks are not decoded but listed in VerifyReport.Unchecked. The
	// reference library does not open the file. External files and sources of virtual datasets are
	// not opened, and are also listed there.
	Untrusted bool
	// Isolated runs the verification in a worker process and reports the crash of a library as an
	// error of the file. Verify returns ErrUnavailable if main does not call Init.
	Isolated bool

	MaxChunk    int64         // maximum bytes of a decoded chunk; longer chunks are not checked; default 512 MiB
	MaxMetadata int64         // maximum bytes of one metadata structure; default 64 MiB
	MaxFindings int           // maximum length of VerifyReport.Findings, and of Unchecked; default 1000
	Memory      int64         // memory limit of a worker in bytes; default 2 GiB
	Time        time.Duration // time limit of one call of a worker, which decodes some chunks; default 120 s

	Unlocked func(file string, err error) // as in OpenOptions

	// Member is called with the report of each file and each array below a directory, one after
	// the other. An error ends Verify. It may be nil.
	Member func(r *VerifyReport) error

	// Progress is called with the number of checked chunks, their total number, and their decoded
	// and stored bytes. It may be nil. It is called from one goroutine at a time.
	Progress func(ndarray.Progress)
}

// Finding is an error in a file, or a part that could not be checked.
type Finding struct {
	Object string  // path inside the file: a dataset, a column, an array of a directory; "" for the file as a whole
	What   string  // the structure: "chunk", "index", "object header", "attribute x", …
	File   string  // file inside a directory, relative to its root, or another file of an HDF5 file; "" for the file itself
	Offset int64   // bytes from the start of the file; -1 if there is no single offset
	Chunk  int64   // number of the chunk in index order; -1 if the finding is not about a chunk
	Coords []int64 // first element of that chunk, one index per dimension; nil if unknown

	// Consequence reports whether this error follows from the last one before it in the list that
	// follows from none: a chunk from an error in its index, a structure from an error in the one
	// that contains its address, a missing part from the end of a truncated file. It is false from
	// Recover.
	Consequence bool

	// Certainty of the recovered data, from Recover: "certain" if a checksum or redundant structure
	// confirms it, "unverified" if it is valid but no checksum confirms the values, "guessed" if it
	// is likely, inferred from the remaining data, and "lost" if it is not in the new file, where
	// lost elements are fill values. It is "" from Verify.
	Certainty string
	Err       error
}

// String returns the finding in one line.
func (f Finding) String() string { return verify.Finding(f).String() }

// VerifyReport is the result of Verify.
type VerifyReport struct {
	Path   string
	Format Format

	Arrays       int64 // checked arrays, or frames without an array; groups do not count
	Chunks       int64 // chunks, or pieces of contiguous elements, that were read and decoded
	DecodedBytes int64 // bytes of decoded elements
	StoredBytes  int64 // bytes read for these elements
	Checksums    int64 // chunks with a checksum that was compared, whether it matched or not
	Digests      int64 // digests of the sidecar that were written, or compared and equal

	Findings     []Finding // errors; at most VerifyOptions.MaxFindings
	NumFindings  int64     // number of all errors
	Unchecked    []Finding // parts that could not be checked, with the reason; at most VerifyOptions.MaxFindings
	NumUnchecked int64     // number of all unchecked parts

	// ValuesVerified reports whether the file is valid and a checksum or digest confirmed every
	// element. Elements without one that decode may still be wrong.
	ValuesVerified bool

	Isolated bool   // a worker did the work
	Level    string // isolation of the worker, as Sandbox describes it
}

// Verify checks a whole file or directory for corruption: a Blosc2 frame, contiguous or sparse, a
// bcolz tree, an HDF5 file, a container of python-blosc2, a .npy file, or a directory. Corruption
// is not an error of Verify; it is listed in the report.
//
// Of a directory it checks each file and each array at any depth. The findings of the report name
// the member in Object, for example "run1/x.h5:/temperature". Files of unknown formats, symbolic
// links, and files that cannot be read are listed in VerifyReport.Unchecked.
//
// It checks the structure with readers that validate every field. It decodes every chunk, in
// parallel. It compares the checksums that the format has: Fletcher-32, the checksums of HDF5
// metadata, and those inside the streams of codecs. Finally libhdf5 or C-Blosc2 opens the objects
// in the file. It also reads the external files of an HDF5 file, and verifies the source files of
// virtual datasets. Of a container of python-blosc2 it also decodes all Python objects, and
// compares the columns of each table with its rows. For elements without a checksum, Verify can
// write a sidecar of SHA-256 digests beside the file and compare it later (VerifyOptions.Digests).
//
// Each goroutine needs the size of the longest chunk, stored and decoded. An HDF5 file needs about
// 100 bytes more for each chunk. The file should not be written during the verification.
//
// It returns ndarray.ErrNotFound, ndarray.ErrFormat if the format is unknown, ndarray.ErrCorrupt if
// the sidecar is invalid, the context's error, or errors of reading the directory. With
// VerifyOptions.Isolated it may also return ErrUnavailable, ErrLimit and ErrCrashed.
func Verify(ctx context.Context, path string, o *VerifyOptions) (*VerifyReport, error) {
	x := orZero(o)
	digests := verify.NoDigests
	switch {
	case x.CheckDigests && x.WriteDigests:
		return nil, ndarray.Wrap("verify", path, fmt.Errorf("%w: CheckDigests and WriteDigests", ndarray.ErrParam))
	case x.CheckDigests:
		digests = verify.CheckDigests
	case x.WriteDigests:
		digests = verify.WriteDigests
	}
	opts := verify.Options{
		Format: string(x.Format), Workers: x.Workers, Digests: digests, Untrusted: x.Untrusted, Isolated: x.Isolated,
		MaxChunk: x.MaxChunk, MaxMetadata: x.MaxMetadata, MaxDamages: x.MaxFindings, Memory: x.Memory, Time: x.Time,
		Unlocked: x.Unlocked, Values: true,
	}
	if x.Progress != nil {
		opts.Progress = func(p verify.Progress) {
			x.Progress(ndarray.Progress{DoneUnits: p.Chunks, TotalUnits: p.TotalChunks, DoneBytes: p.DecodedBytes, StoredBytes: p.StoredBytes})
		}
	}
	if x.Member != nil {
		opts.Member = func(r *verify.Report) error { return x.Member(verifyReport(r)) }
	}
	r, err := verify.File(ctx, path, &opts)
	if err != nil {
		return nil, err
	}
	return verifyReport(r), nil
}

func verifyReport(r *verify.Report) *VerifyReport {
	out := &VerifyReport{
		Path: r.Path, Format: Format(r.Format),
		Arrays: r.Arrays, Chunks: r.Chunks, DecodedBytes: r.DecodedBytes, StoredBytes: r.StoredBytes, Checksums: r.Checksums, Digests: r.Digests,
		Findings: findings(r.Damages), NumFindings: r.NumDamages, Unchecked: findings(r.Unchecked), NumUnchecked: r.NumUnchecked,
		ValuesVerified: r.ValuesVerified(), Isolated: r.Isolated,
	}
	if r.Isolated {
		out.Level = r.Level.String()
	}
	return out
}

func findings(places []verify.Finding) []Finding {
	list := make([]Finding, len(places))
	for i, p := range places {
		list[i] = Finding(p)
	}
	return list
}

// RecoverOptions are the options of Recover. Nil and zero fields mean the defaults.
type RecoverOptions struct {
	Format      Format // format of a file that is too corrupt to detect it; default: by content
	Overwrite   bool   // replace an existing destination
	Lock        *Lock  // the lock of an existing destination, which the caller holds; nil: Recover takes it
	MaxChunk    int64  // maximum bytes of a decoded chunk; longer chunks count as corrupt; default 512 MiB
	MaxFindings int    // maximum length of RecoverReport.Findings; default 1000

	// Progress is called with the processed bytes of the corrupt file and their total. The total
	// may grow, because some formats and some errors need more passes. Progress may be nil. It is
	// called from one goroutine at a time.
	Progress func(done, total int64)

	// Isolated runs the recovery in a worker process that can only access the corrupt file and the
	// new one. Recover returns ErrUnavailable if main does not call Init or the
	// system has no sandbox.
	Isolated bool
	Memory   int64         // memory limit of the worker in bytes; default 2 GiB
	Time     time.Duration // time limit of the worker; default 2 minutes plus 1 second for each MiB of the corrupt file
}

// RecoverReport is the result of Recover. In JSON it has the keys of hyperslab.recover/2 without
// schema and seconds.
type RecoverReport struct {
	Source      string `json:"source"`
	Destination string `json:"target"`
	Format      Format `json:"format"`

	Arrays      int64 `json:"arrays"`       // arrays in the new file
	Chunks      int64 `json:"chunks"`       // chunks in the new file with elements of the old one
	Certain     int64 `json:"certain"`      // of these, chunks whose values and location a checksum or redundant structure confirms
	Unverified  int64 `json:"unverified"`   // of these, chunks that decode in a valid location, without a checksum of the values
	Guessed     int64 `json:"guessed"`      // of these, chunks whose values or location are only likely
	Lost        int64 `json:"lost"`         // chunks whose elements are now fill values
	LostObjects int64 `json:"lost_objects"` // arrays and attributes that are not in the new file

	Findings    []Finding `json:"findings"`     // errors in the file and their effects; at most RecoverOptions.MaxFindings
	NumFindings int64     `json:"num_findings"` // number of all findings

	Complete bool `json:"whole"` // everything is in the new file, certain or unverified
}

// Recover writes the recoverable contents of the corrupt file src to a new file dst of the same
// format. dst is created completely or not at all. src is only read, and neither libhdf5 nor
// C-Blosc2 opens it. Neither path may be inside the other. Recover verifies the new file before it
// renames the file to dst. HDF5 objects that are invalid in the new file are left out and counted
// as lost.
//
// In a Blosc2 frame, the header, the index, the trailer and any chunk may be missing; without an
// index the chunks keep their order in the file. In a bcolz tree, any file may be missing. In an
// HDF5 file, any structure may be corrupt: objects that can still be reached keep their names, and
// other datasets are found by a search of the whole file and put into /lost+found.
//
// Recover returns:
//
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrFormat if the format is unknown
//   - ndarray.ErrCorrupt if no data can be recovered
//   - ndarray.ErrExists if dst exists and RecoverOptions.Overwrite is false
//   - ndarray.ErrParam if dst is src or one is inside the other
//   - errors.ErrUnsupported if this module cannot write the contents
//   - the context's error
//
// With RecoverOptions.Isolated it may also return ErrUnavailable, ErrLimit and
// ErrCrashed.
func Recover(ctx context.Context, dst, src string, o *RecoverOptions) (*RecoverReport, error) {
	x := orZero(o)
	r, err := recovery.Recover(ctx, dst, src, &recovery.Options{
		Format: string(x.Format), Overwrite: x.Overwrite, Lock: x.Lock, MaxChunk: x.MaxChunk, MaxFindings: x.MaxFindings, Progress: x.Progress,
		Isolated: x.Isolated, Memory: x.Memory, Time: x.Time,
	})
	if err != nil {
		return nil, err
	}
	out := &RecoverReport{
		Source: r.Source, Destination: r.Destination, Format: Format(r.Format),
		Arrays: r.Arrays, Chunks: r.Chunks,
		Certain: r.Certain, Unverified: r.Unverified, Guessed: r.Guessed, Lost: r.Lost, LostObjects: r.LostObjects,
		Findings: findings(r.Findings), NumFindings: r.NumFindings, Complete: r.ExitCode() == recovery.ExitWhole,
	}
	return out, nil
}

// RepairOptions are the options of PlanRepair. Nil and zero fields mean the defaults.
type RepairOptions struct {
	MaxChunk int64 // maximum bytes of a decoded chunk; longer chunks count as corrupt; default 512 MiB

	// Isolated plans in a worker process that can only access the file. PlanRepair returns
	// ErrUnavailable if main does not call Init or the system has no sandbox.
	Isolated bool
	Memory   int64         // memory limit of the worker in bytes; default 2 GiB
	Time     time.Duration // time limit of the worker; default 2 minutes plus 1 second for each MiB of the file
}

// RepairPlan is a list of changes after which the reference library reads an HDF5 file. A program
// may store a plan and apply it later. In JSON it has the keys of hyperslab.repair/1 without
// schema, source, target and seconds.
type RepairPlan struct {
	Size    int64          `json:"size"`            // bytes of the file
	Digest  string         `json:"sha256"`          // SHA-256 of the file, in hexadecimal
	Result  string         `json:"repaired_sha256"` // SHA-256 of the file with the changes
	Changes []RepairChange `json:"changes"`         // sorted by offset, without overlap; empty if the file needs no repair
}

// RepairChange replaces bytes of a file.
type RepairChange struct {
	Offset    int64  // bytes from the start of the file
	Old, New  []byte // of the same length
	Structure string // for example "object header"
	Object    string // path of the object that the structure belongs to; "" for the file as a whole
	Reason    string // the evidence for the change
	Certain   bool   // a checksum or a redundant structure confirms the change
}

// ApplyOptions are the options of RepairPlan.Apply. Nil means the zero value.
type ApplyOptions struct {
	Overwrite bool  // replace an existing destination
	Lock      *Lock // the lock of an existing destination, which the caller holds; nil: Apply takes it
}

// PlanRepair finds the smallest change after which the reference library reads the HDF5 file src.
// It only reads the file. The plan corrects:
//
//   - the element size of chunked layouts, and sizes in the parameters of filters
//   - the flags of a writer that did not close the file
//   - the end of the file in the superblock
//   - checksums of metadata, and single bytes of metadata that a checksum disproves
//
// Elements are not changed. The result of the plan passes all checks of metadata, and the library
// opens every object. Elements may still be corrupt: Verify checks them. Use Recover for files that
// need larger changes.
//
// PlanRepair returns:
//
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrFormat if the format is unknown
//   - ndarray.ErrCorrupt if no change of single fields makes the file valid
//   - errors.ErrUnsupported if src is not an HDF5 file
//   - the context's error
//
// With RepairOptions.Isolated it may also return ErrUnavailable, ErrLimit and ErrCrashed.
func PlanRepair(ctx context.Context, src string, o *RepairOptions) (*RepairPlan, error) {
	x := orZero(o)
	p, err := recovery.PlanRepair(ctx, src, &recovery.Options{MaxChunk: x.MaxChunk, Isolated: x.Isolated, Memory: x.Memory, Time: x.Time})
	if err != nil {
		return nil, err
	}
	return publicPlan(p), nil
}

func publicPlan(p *recovery.Plan) *RepairPlan {
	out := &RepairPlan{Size: p.Size, Digest: p.Digest, Result: p.Result}
	for _, c := range p.Changes {
		out.Changes = append(out.Changes, RepairChange{
			Offset: c.Offset, Old: c.Old, New: c.New, Structure: c.Structure, Object: c.Object,
			Reason: c.Reason, Certain: c.Certainty == recovery.Certain,
		})
	}
	return out
}

func (p *RepairPlan) internal() *recovery.Plan {
	out := &recovery.Plan{Size: p.Size, Digest: p.Digest, Result: p.Result}
	for _, c := range p.Changes {
		x := recovery.Change{
			Offset: c.Offset, Old: c.Old, New: c.New, Structure: c.Structure, Object: c.Object,
			Reason: c.Reason, Certainty: recovery.Guessed,
		}
		if c.Certain {
			x.Certainty = recovery.Certain
		}
		out.Changes = append(out.Changes, x)
	}
	return out
}

// Reverse returns the plan that restores the file from the result of p.
func (p *RepairPlan) Reverse() *RepairPlan { return publicPlan(p.internal().Reverse()) }

// Apply writes a copy of src with the changes of the plan to dst, completely or not at all. src is
// only read. Neither path may be inside the other.
//
// Apply returns:
//
//   - ndarray.ErrParam if the plan is not consistent, if the size, the digest, or the bytes at a
//     change of src differ from the plan, or if dst is src
//   - ndarray.ErrNotFound if src does not exist
//   - ndarray.ErrExists if dst exists and ApplyOptions.Overwrite is false
//   - ErrLocked and ErrReplaced, as LockFile and other writers of this module
//   - the context's error
func (p *RepairPlan) Apply(ctx context.Context, dst, src string, o *ApplyOptions) error {
	x := orZero(o)
	return p.internal().Apply(ctx, dst, src, x.Overwrite, x.Lock)
}

// CloudReport is the layout of an HDF5 file for reads over a network.
type CloudReport struct {
	Bytes         int64 // of the file
	MetadataBytes int64
	Requests      int   // requests of up to 4 MiB that read all metadata
	PageSize      int64 // bytes of a page of paged file space; 0 without pages
	Arrays        []CloudArray
	Problems      []CloudProblem
}

// CloudArray is the layout of a dataset.
type CloudArray struct {
	Path        string
	Shape       []int64
	Bytes       int64 // of the elements in memory
	StoredBytes int64
	ChunkShape  []int64 // nil without chunks
	ChunkBytes  int64   // of a chunk in memory
	Chunks      int64   // stored chunks
}

// CloudProblem is a property that makes reads over a network slow: the number of requests for the
// metadata of the file, or the bytes of the chunks of a dataset.
type CloudProblem struct {
	Object      string // path of the dataset; "" for the metadata
	Got         int64
	Least, Most int64 // bounds of a good layout
}

// CheckCloud reports whether the layout of an HDF5 file or URL suits reads from an object store:
// all metadata in at most 3 requests, and chunks of 2 MiB to 16 MiB. It reads metadata only. Repack
// with RepackOptions.Cloud writes such a layout.
//
// It returns ndarray.ErrNotFound, ErrFormat for a file that is not HDF5, ErrCorrupt, and the
// context's error.
func CheckCloud(ctx context.Context, file string) (*CloudReport, error) {
	x, err := h5cloud.ExamineFile(ctx, file)
	if err != nil {
		return nil, err
	}
	r := &CloudReport{Bytes: x.Size, MetadataBytes: x.Metadata.Bytes, Requests: x.Metadata.Requests, PageSize: x.PageSize}
	for _, a := range x.Arrays {
		r.Arrays = append(r.Arrays, CloudArray(a))
	}
	for _, p := range x.Problems {
		r.Problems = append(r.Problems, CloudProblem(p))
	}
	return r, nil
}
