// Package picture draws variables: heat maps, images, lines, histograms and small multiples.
//
// Draw reads the elements of a variable of package cf and reduces any number of them to the cells
// or points of a picture while they are read. The result is drawn as PNG, as SVG, or as characters
// of a terminal. The commands plot and view and the pages of package serve draw the same pictures.
package picture
