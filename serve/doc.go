// Package serve shows arrays to programs and people over HTTP: the values, shapes, types and
// attributes of HDF5, b2nd, Caterva and bcolz files, of containers of python-blosc2 and of
// directories of arrays.
//
// # Overview
//
// New returns an http.Handler for the files of a directory:
//
//	h, err := serve.New("data", &serve.Options{Token: token})
//	…
//	defer h.Close()
//	err = h.Serve(ctx, listener)
//
// The handler is read-only. It opens a file when a client asks for it, and opens it again when its
// time, size or number has changed.
//
// # Routes
//
// The routes are those of h5grove 4.0, which viewers such as h5web use:
//
//	/meta?file=F&path=P           type, shape, chunks, filters and members of an object
//	/attr?file=F&path=P           values of attributes; attr_keys=NAME selects one, repeatedly
//	/data?file=F&path=P           elements; selection=0,:,5:10 as in NumPy, flatten=true,
//	                              format=json, bin, npy, csv, tiff or b2nd, dtype=safe
//	/stats?file=F&path=P          least, greatest and mean element, standard deviation; with
//	                              unpack=true of the values by the CF conventions
//	/paths?file=F&path=P          paths of all objects below a group
//	/                             "ok", or for a browser a page with the files
//	/view?file=F&path=P           a page with an object: members, attributes, values, a picture
//	/picture?file=F&path=P        the picture of the command plot as PNG: a heat map, an image
//	                              or a line; selection, colors=viridis, magma, plasma, inferno,
//	                              gray, diverging or cyclic; log=true; clip=1,99 for
//	                              percentiles; lines=true for the rows as curves; panels=9 for
//	                              small pictures through the first dimension; part=phase of
//	                              complex numbers; transpose=true; raw=true for stored elements
//
// Pages and pictures show values by the CF conventions, as package cf returns them: unpacked
// numbers, dates, missing values, coordinates. /data returns stored elements.
//
// The routes of Caterva2 for reading, /api/roots, /api/list, /api/info, /api/fetch, /api/chunk and
// /api/download, let python-blosc2 open the same arrays: blosc2.C2Array("data/FILE/ARRAY", url).
//
// file is a path below the directory, and path is a path in the file, "/" by default. A file with
// one array is a group that contains the array under the name of the file without its extension.
// An error is a JSON object with the key message. Differences from h5grove: invalid arguments are
// always status 422, floats that are not finite are null in compounds too, and a string or opaque
// value that is not UTF-8 is "base64:" and its bytes in base64, where h5grove fails. A string in
// UTF-8 that begins with "base64:" has the same form. In a name, each byte that is not part of a
// UTF-8 character is \x and two hexadecimal digits.
//
// A null element of a table of python-blosc2 is null in JSON and an empty cell in CSV, or "" if it
// is alone in its line. In the other formats it is NaN if the elements are floats, and otherwise
// status 422. /api/fetch and /api/chunk return its stored value, as C2Array of a local file does.
//
// Each response has an ETag, which depends on the time, the size and the number of the file and on
// the request, so that a client can revalidate it. Frames that the handler makes from elements have
// no ETag. Responses without compression support ranges.
//
// # Security
//
// Files are untrusted by default: they are checked and read in a worker process, as with
// hyperslab.Untrusted. The program must therefore call hyperslab.Init first
// in main. Names are confined to the directory by os.Root, and HDF5 files are read through one
// descriptor. Therefore symbolic links, external links, virtual datasets and external storage never
// lead to another file. Requests from pages of other sites are refused by their Host and Origin
// headers. Without Options.Token every program that reaches the server can read all files of the
// directory.
//
// # Memory
//
// Options.MaxBytes bounds one response, Options.Memory all responses in progress and in the cache,
// and Options.ChunkCache the decoded chunks of each open file. Those above 64 KiB count in the
// memory of the process that ndarray.SetReadMemory limits: responses leave less of it to reads, and
// the caches release theirs when a read waits. A part of Options.Memory is only for responses of at
// most 256 KiB, so that they do not wait for clients that receive large responses slowly. A client
// that receives less than 64 KiB per second for longer than Options.Timeout loses its connection.
//
// # Concurrency
//
// All methods may be called at the same time. One request at a time reads a file; others wait. A
// request ends when its client leaves.
package serve
