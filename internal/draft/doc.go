// Package draft creates and changes files under the lock of their writers: a change is complete or
// is not made.
//
// Create starts an array in a new or existing file, Update changes a copy of a file, and
// EditGroupAttrs changes attributes in place.
package draft
