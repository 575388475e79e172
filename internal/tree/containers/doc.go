// Package containers is the driver of the containers of python-blosc2: stores of many frames, in a
// ZIP file (.b2z), a directory (.b2d) or a frame (.b2e), with their tables.
package containers
