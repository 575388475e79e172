// Package npy reads and writes the headers and elements of the .npy format (NumPy Enhancement
// Proposal 1).
package npy
