// Package view shows a file on a terminal: the tree of its objects with a search, metadata and
// attributes, tables of elements, and pictures of slices.
//
// Run reads keys and draws the screen. A Source, which the command implements, lists and reads the
// objects in other goroutines, so that the screen responds while a large array is read. Groups are
// listed when they are opened.
//
// Text from a file reaches the screen as cells, and characters that a terminal would interpret are
// replaced, also if the Source returns such a text by mistake.
package view
