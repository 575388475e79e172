// Package storeattack makes hostile containers of python-blosc2 for tests: path traversal,
// duplicate and overlapping members, compressed members, bombs, sizes beyond the file, deep
// nesting, references to servers, and symbolic links.
package storeattack
