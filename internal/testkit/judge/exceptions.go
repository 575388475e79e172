// Documented differences.

package judge

import "regexp"

// Exceptions are the documented differences between verdicts and the answers of the judge. Each
// reason is a row of the table of verdicts in docs/known-issues.md.
var Exceptions = []Exception{
	{"*.b2*", regexp.MustCompile(`got msgpack marker|array metalayer .* version at byte`), "markers of frames"},
	{"*.b2*", regexp.MustCompile(`blosc2 frame: (special offset|block_size|chunk_size) at byte|blosc2 frame: flags at byte .* of variable length in version 2|blosc chunk: version at byte`), "unused numbers of frames"},
	{"*.b2*", regexp.MustCompile(`want one for each name|one for each name: corrupt|want the end of the header|b2nd metalayer: end at byte`), "lists of metalayers"},
	{"*.b2*", regexp.MustCompile(`cbytes at byte 12: .*(up to the next chunk|special chunk ends)|blosc chunk: length at byte 0|blocks overlap`), "lengths of chunks"},
	{"*.b2*", regexp.MustCompile(`blosc chunk: (block start|filter meta)`), "flags of stored chunks"},
	{"*.b2*", regexp.MustCompile(`b2nd metalayer: (chunkshape|shape|dtype) at byte .*(the frame's|those of an element)|uncompressed_size at byte 30|chunk: blocksize at byte`), "sizes of arrays"},
	{"*.b2*", regexp.MustCompile(`not a known array format|frame: magic at byte 2`), "signatures of frames"},
	{"*.b2*", regexp.MustCompile(`another chunk has the same position`), "positions of chunks"},
	{"*.b2z", regexp.MustCompile(`b2z file: member`), "headers of ZIP members"},
	{"*.b2*", regexp.MustCompile(`b2e map: key .* want a range`), "ranges of embedded objects"},
	{"*.bcolz", regexp.MustCompile(`\.blp: (magic|format version|version|chunk header) at byte|meta/sizes: nbytes at byte`), "headers of bcolz files"},
	{"*.bcolz", regexp.MustCompile(`\.blp: (chunk at byte .*: truncated|c?bytes at byte|blocksize at byte|nbytes at byte .* bytes of rows)`), "lengths of bcolz chunks"},
	{"*.bcolz", regexp.MustCompile(`shape at byte .* as in the first column`), "columns of bcolz tables"},
	{"", regexp.MustCompile(`filter 0/name .* a name without a zero`), "names of filters"},
	{"", regexp.MustCompile(`filter: decode, filter 32\d\d\d`), "plug-in filters"},
	{"", regexp.MustCompile(`size of free block`), "free blocks of heaps"},
	{"", regexp.MustCompile(`bytes without filters, want`), "sizes in chunk indexes"},
	{"", regexp.MustCompile(`want keys in order|got filter mask|a chunk at \[.*want one inside the shape|bytes of the (chunk|object header) .* too`), "keys of chunk indexes"},
	{"", regexp.MustCompile(`object reference count|elements .* bytes stored, want`), "counts and sizes of objects"},
	{"", regexp.MustCompile(`HDF5 before 2.2 reads it|datatype/bit precision .* want at most|scaleoffset with a chunk of`), "errors that HDF5 2.2 finds"},
	{"*.b2*", regexp.MustCompile(`^fails: OverflowError: value too large to convert to int8_t`), "parameters of filters from 128"},
	{"", regexp.MustCompile(`address of (left|right) sibling`), "siblings of B-tree nodes"},
	{"", regexp.MustCompile(`v2 B-tree (leaf|internal) node/checksum`), "checksums of indexes"},
	{"", regexp.MustCompile(`/message \d+/(version .* want 0|flags .* want no bits but 0x03)`), "group info messages"},
	{"cve-*", regexp.MustCompile(`got no object \d|region reference: region reference`), "region references"},
	{"cve-2018-14034.h5", regexp.MustCompile(`message 2/(number of filters|filter 0)`), "filters of groups"},
	{"tmulti-s.h5", regexp.MustCompile(`multi driver should be used`), "files of the multi driver"},
}
