// Package budget bounds the memory for stored and decoded chunks of all concurrent reads of the
// process.
//
// A read acquires the bytes that one chunk needs, takes buffers, and returns both before it begins
// the next chunk. It holds at most one [Grant] at a time and calls no function of its caller while
// it holds one, except the io.ReaderAt or fs.FS that contains the chunks. Therefore reads cannot
// wait for each other in a cycle. A request above the limit waits for all of it and runs alone.
//
// Requests of at most [Small] bytes are not counted. They cost no lock.
package budget
