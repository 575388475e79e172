// Package budget bounds the memory of the process that grows with its input: stored and decoded
// chunks of reads, the buffers of operations on whole arrays, and caches.
//
// A read acquires the bytes that one chunk needs, takes buffers, and returns both before it begins
// the next chunk. It holds at most one [Grant] at a time and calls no function of its caller while
// it holds one, except the io.ReaderAt or fs.FS that contains the chunks. Therefore reads cannot
// wait for each other in a cycle. A request above the limit waits for all of it and runs alone.
//
// An operation takes the bytes of its buffers once, with [Lend], which does not wait. It uses fewer
// buffers if other operations already hold bytes. A cache takes the bytes of each entry with
// [Keep], and releases entries when a read would have to wait.
//
// Requests of at most [Small] bytes are not counted. They cost no lock.
package budget
