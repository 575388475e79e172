// Plans of repairs of HDF5 files.

package hyperslab

import (
	"context"
	"time"

	"github.com/hyperslab/hyperslab/internal/recovery"
)

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
// may store a plan and apply it later.
type RepairPlan struct {
	Size    int64          // bytes of the file
	Digest  string         // SHA-256 of the file, in hexadecimal
	Result  string         // SHA-256 of the file with the changes
	Changes []RepairChange // sorted by offset, without overlap; empty if the file needs no repair
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
			Offset: c.Offset, Old: c.Old, New: c.New, Structure: c.Structure, Object: c.Object, Reason: c.Reason, Certain: c.Certainty == recovery.Certain,
		})
	}
	return out
}

func (p *RepairPlan) internal() *recovery.Plan {
	out := &recovery.Plan{Size: p.Size, Digest: p.Digest, Result: p.Result}
	for _, c := range p.Changes {
		x := recovery.Change{Offset: c.Offset, Old: c.Old, New: c.New, Structure: c.Structure, Object: c.Object, Reason: c.Reason, Certainty: recovery.Guessed}
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
