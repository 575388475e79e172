// Package tree defines open inputs (Source) and the trees of arrays in them (Tree).
//
// # Overview
//
// A Source is an open file, directory or object at a URL. A Format opens a Source as a Tree. A file
// with one array is a Tree of one array. Each format has one driver, in a package below this one:
// it checks untrusted bytes, lists objects, opens arrays, and reads attributes and metadata,
// wherever the bytes come from. Package opener has the list of the drivers, and package isolated
// runs any of them in a worker process.
//
// A Format may also have a Target, which writes copies of trees. Package treecopy plans a copy, and
// the Target uses it as a Copier.
//
// # Abilities
//
// A Tree may have abilities beyond the interface, for example access to the open HDF5 file. Each is
// a named interface in the package of its driver, and As finds it.
//
// # Concurrency
//
// Any number of goroutines may use a Tree and its arrays. The arrays must be closed before the
// Tree.
package tree
