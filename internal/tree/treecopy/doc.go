// Package treecopy copies trees of arrays to any format that has a tree.Target.
//
// It first plans the copy: it walks the source, reads the facts of each object, fits them to the
// target, and collects losses and changes. It then lets the target write the planned objects. The
// output appears as a whole or not at all.
package treecopy
