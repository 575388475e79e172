// Package isolated reads trees in worker processes.
//
// On the program's side, Open returns a tree that sends each call to a worker as a request. On the
// worker's side, one service opens the file with the driver of its format and answers the requests.
// It serves any tree. The program validates every response.
package isolated
