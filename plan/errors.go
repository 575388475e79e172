// Sentinels of the package.

package plan

import "github.com/hyperslab/hyperslab/internal/errs"

// Sentinels; match them with errors.Is.
var (
	ErrPlan       = errs.New("invalid plan")                   // malformed, altered, or of another version
	ErrSource     = errs.New("source changed after planning")  // another size, time or metadata
	ErrShard      = errs.New("shard out of range")             // a number outside the stage
	ErrReceipt    = errs.New("invalid receipt")                // corrupt, or of another plan or shard; also of a changed part
	ErrIncomplete = errs.New("incomplete work")                // shards without a receipt
	ErrTarget     = errs.New("target belongs to another plan") // two plans for one target
)
