// Package meter counts the work of the process: moved elements, decoded chunks, waits and requests.
//
// # Cost
//
// Counters that every small read changes are in a [Shard]. An array or a worker gets one with
// [Next] and keeps it, so that goroutines with different arrays do not wait for the same line of
// the processor's cache. [Sum] adds all shards. Waits and requests take longer than a counter, so
// each of them has one for the process.
//
// # Traces
//
// The names of the regions in traces of runtime/trace are declared here. [Waits.Begin] starts the
// region of a wait.
package meter
