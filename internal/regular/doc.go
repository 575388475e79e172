// Package regular opens files for reading that must be regular ones.
//
// # What
//
// A path from outside may lead to anything. To open a named pipe waits until somebody
// writes to it, perhaps for ever, and perhaps under a lock that the whole program needs;
// a device may have no end. Open and Check refuse both, and directories and sockets,
// before anything is read.
package regular
