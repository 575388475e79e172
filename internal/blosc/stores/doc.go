// Package stores opens the containers of python-blosc2: ZIP files (.b2z), directories (.b2d), and
// frames that embed frames (.b2e). Package b2store documents the layout.
//
// A frame in a ZIP file or in a directory is read in place. An embedded frame is decoded into
// memory when it is opened, because the values around it are compressed.
//
// # Concurrency
//
// All methods may be called at the same time, except Close.
package stores
