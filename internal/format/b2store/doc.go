// Package b2store reads the containers of python-blosc2 4, which hold many Blosc2 frames: ZIP files
// (.b2z), directories (.b2d), and frames that embed other frames (.b2e).
//
// # Layout
//
// A .b2z or .b2d contains one file per object. The path of the file without its extension is the
// key of the object: g/a.b2nd is the object /g/a. Extensions are .b2nd for arrays, .b2f for plain
// frames and object arrays, and .b2b for batch arrays. Small objects may be embedded instead: the
// file embed.b2e is a frame whose values are other frames, one after the other. Its variable-length
// metalayer "estore_metadata" maps keys to ranges of the values. A .b2e file is such a frame alone.
//
// A key /g/__vlmeta__ is a frame without values, whose variable-length metalayers are the
// attributes of the group /g. A key /t/_meta with the metalayer "kind" of value "ctable" marks the
// table /t.
//
// # Functions
//
// ReadZip and ReadDir list the files of a store. ParseMap reads the keys of embedded objects.
// NewTree arranges all objects in groups. The package reads no frame.
//
// # Memory
//
// Sizes in a file are compared with its length and with Limits before they determine an allocation.
//
// # Concurrency
//
// There is no package state.
//
// # Errors
//
// Every error in the format is a *format.Error that wraps a sentinel of package format.
package b2store
