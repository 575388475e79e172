// Package caterva creates Caterva arrays, the ancestor of b2nd arrays. C-Blosc2 reads them but does
// not write them.
package caterva
