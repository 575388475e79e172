// Package npy writes headers of the .npy format (NumPy Enhancement Proposal 1).
package npy
