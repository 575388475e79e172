// Package indexes finds the indexes of an array that a selection takes along each dimension.
package indexes
