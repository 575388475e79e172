package isolated

// Ahead returns how many boxes a worker reads ahead, and the number of goroutines.
var Ahead = ahead

// Entries and DecodeEntry represent the objects of a file in messages of a worker.
type Entries = entries

var DecodeEntry = decodeEntry

// Inside reports whether a requested region lies inside the region that a worker has read.
var Inside = inside
