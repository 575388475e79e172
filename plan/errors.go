// Sentinels of the package.

package plan

import "errors"

// Sentinels; match them with errors.Is.
var (
	ErrPlan       = errors.New("invalid plan")                   // malformed, altered, or of another version
	ErrSource     = errors.New("source changed after planning")  // another size, time or metadata
	ErrShard      = errors.New("shard out of range")             // a number outside the stage
	ErrReceipt    = errors.New("invalid receipt")                // corrupt, or of another plan or shard; also of a changed part
	ErrIncomplete = errors.New("incomplete work")                // shards without a receipt
	ErrTarget     = errors.New("target belongs to another plan") // two plans for one target
)
