// Package blosc1 makes chunks of Blosc1 concurrently with the contexts of C-Blosc2. It also makes
// bit-shuffled chunks in blocks whose shuffle Blosc1 can undo, which C-Blosc2 alone does not.
package blosc1
