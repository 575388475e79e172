// Package histories tests random sequences of operations on one array: creation, writes, appends,
// changes of shape and of attributes, copies to other formats, removal, rewriting, killed writers,
// and reads in each way, also by other processes. A plain slice and a map are the model.
//
// The package contains tests only. RAPID_CHECKS is the number of sequences, and a sequence that
// fails is reduced.
package histories
