// Package picture draws arrays: heat maps, lines and histograms, as PNG or SVG files.
//
// A Grid or an Envelope reduces any number of elements to the cells or points of a picture while
// the elements are read. The same pictures are drawn by the command plot and by the pages of
// package serve.
package picture
