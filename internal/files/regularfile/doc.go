// Package regularfile opens files for reading and rejects paths that are not regular files.
//
// # Overview
//
// A path from outside may lead to any kind of file. Opening a named pipe waits until another
// process writes to it, perhaps forever, and perhaps while the caller holds a lock that the whole
// program needs. A device may have no end. Open and Check reject both, and directories and sockets,
// before anything is read.
package regularfile
