// Package inspect contains the commands that show files: ls, tree, info, chunks, dump, stats,
// explain, scan and version.
package inspect
