// bcolz directories that violate one rule and that a reader must refuse.

package crosscheck

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// bcolzBreakage is one rule and a change of a ctable's directory that violates it.
type bcolzBreakage struct {
	name, section, rule string
	change              func(dir string) error
}

func textBreakage(name, section, rule, file, old, other string) bcolzBreakage {
	return bcolzBreakage{name, section, rule, func(dir string) error { return replaceIn(filepath.Join(dir, filepath.FromSlash(file)), old, other) }}
}

func fileBreakage(name, section, rule, file string, change func(b []byte) []byte) bcolzBreakage {
	return bcolzBreakage{name, section, rule, func(dir string) error {
		p := filepath.Join(dir, filepath.FromSlash(file))
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(p, change(b), 0o644)
	}}
}

func removal(name, section, rule, file string) bcolzBreakage {
	return bcolzBreakage{name, section, rule, func(dir string) error { return os.RemoveAll(filepath.Join(dir, filepath.FromSlash(file))) }}
}

// The column x of the table has 37 rows of <i4 in files of 16, 16 and 5.
var bcolzBreakages = []bcolzBreakage{
	removal("sizes-missing", "meta/sizes", "missing file meta/sizes", "x/meta/sizes"),
	removal("storage-missing", "meta/storage", "missing file meta/storage", "x/meta/storage"),
	removal("chunk-missing", "data", "missing chunk file in the middle", "x/data/__1.blp"),
	removal("leftover-missing", "data", "missing last chunk file", "x/data/__2.blp"),
	removal("column-missing", "__rootdirs__", "missing directory of a column", "x"),
	fileBreakage("sizes-no-json", "meta/sizes", "invalid JSON", "x/meta/sizes", func(b []byte) []byte { return b[:len(b)/2] }),
	fileBreakage("sizes-empty", "meta/sizes", "empty file", "x/meta/sizes", cut(0)),
	textBreakage("shape-negative", "meta/sizes: shape", "negative length", "x/meta/sizes", `"shape": [37]`, `"shape": [-37]`),
	textBreakage("shape-text", "meta/sizes: shape", "length that is a string", "x/meta/sizes", `"shape": [37]`, `"shape": ["37"]`),
	textBreakage("shape-fraction", "meta/sizes: shape", "length that is not an integer", "x/meta/sizes", `"shape": [37]`, `"shape": [37.5]`),
	textBreakage("shape-more", "meta/sizes: shape", "more rows than the chunk files contain", "x/meta/sizes", `"shape": [37]`, `"shape": [1000]`),
	textBreakage("shape-leftover-more", "meta/sizes: shape", "more rows than the last chunk file contains", "x/meta/sizes", `"shape": [37]`, `"shape": [39]`),
	fileBreakage("storage-no-json", "meta/storage", "invalid JSON", "x/meta/storage", func(b []byte) []byte { return b[:len(b)/2] }),
	textBreakage("dtype-unknown", "meta/storage: dtype", "unknown dtype", "x/meta/storage", `"dtype": "int32"`, `"dtype": "int33"`),
	textBreakage("dtype-wider", "meta/storage: dtype", "element size greater than in the chunks", "x/meta/storage", `"dtype": "int32"`, `"dtype": "int64"`),
	textBreakage("chunklen-0", "meta/storage: chunklen", "chunk length of 0 rows", "x/meta/storage", `"chunklen": 16`, `"chunklen": 0`),
	textBreakage("chunklen-negative", "meta/storage: chunklen", "negative length", "x/meta/storage", `"chunklen": 16`, `"chunklen": -16`),
	textBreakage("chunklen-more", "meta/storage: chunklen", "chunk length greater than in the chunk files", "x/meta/storage", `"chunklen": 16`, `"chunklen": 17`),
	fileBreakage("file-magic", "The superchunk layout: magic", "wrong magic number", "x/data/__1.blp", func(b []byte) []byte { b[1] ^= 0x20; return b }),
	fileBreakage("file-version", "The superchunk layout: format version", "version greater than the newest version of the format", "x/data/__1.blp", setByte(4, 9)),
	fileBreakage("file-chunks-negative", "The superchunk layout: nchunks", "number of chunks less than -1", "x/data/__1.blp", func(b []byte) []byte {
		for i := 8; i < 16; i++ {
			b[i] = 0xFF
		}
		b[8] = 0xFB
		return b
	}),
	fileBreakage("file-chunks-more", "The superchunk layout: nchunks", "more chunks than the file contains", "x/data/__1.blp", setByte(8, 3)),
	fileBreakage("file-cut-header", "The superchunk layout", "the file ends inside its header", "x/data/__1.blp", cut(11)),
	fileBreakage("file-cut-chunk-header", "The superchunk layout", "the file ends inside the header of the chunk", "x/data/__1.blp", cut(24)),
	fileBreakage("file-cut-chunk", "The superchunk layout", "the file ends inside the chunk", "x/data/__1.blp", func(b []byte) []byte { return b[:len(b)-1] }),
	fileBreakage("file-empty", "The superchunk layout", "empty file", "x/data/__1.blp", cut(0)),
	fileBreakage("chunk-version", "README_HEADER.rst of C-Blosc 1: version", "chunk of version 255", "x/data/__1.blp", setByte(16, 255)),
	fileBreakage("chunk-nbytes", "README_HEADER.rst of C-Blosc 1: nbytes", "chunk with fewer rows than the shape requires", "x/data/__1.blp", setInt(16+4, 60)),
	fileBreakage("chunk-blocksize", "README_HEADER.rst of C-Blosc 1: blocksize", "block size of 0 bytes", "x/data/__1.blp", setInt(16+8, 0)),
	fileBreakage("chunk-cbytes", "README_HEADER.rst of C-Blosc 1: ctbytes", "chunk longer than its file", "x/data/__1.blp", setInt(16+12, 4000)),
	fileBreakage("rootdirs-no-json", "__rootdirs__", "invalid JSON", "__rootdirs__", func(b []byte) []byte { return b[:len(b)-3] }),
	textBreakage("rootdirs-out", "__rootdirs__: names", "column name that leads out of the directory", "__rootdirs__", `"x"`, `"../x"`),
	textBreakage("rootdirs-number", "__rootdirs__: names", "column name that is a number", "__rootdirs__", `"x"`, `7`),
}

func (e *emitter) brokenBcolz(ctx context.Context) error {
	v := map[string]string{"codec": "lz4", "level": "5", "filters": "shuffle", "dtype": "<i4", "row": "scalar", "rows": "ragged", "kind": "ctable", "data": "ramp"}
	for _, br := range bcolzBreakages {
		c := Case{ID: "bcolz/refuse/" + br.name, Area: "bcolz", Object: "x", Must: Refuse, Rule: br.rule, Section: bcolzDocument + ": " + br.section}
		c.Path = c.ID + ".bcolz"
		path, err := e.place(c.Path)
		if err != nil {
			return err
		}
		if _, err := writeBcolz(ctx, path, v, 5, nil); err != nil {
			return err
		}
		if err := br.change(path); err != nil {
			return fmt.Errorf("broken %s: %w", br.name, err)
		}
		if _, err := loadBcolz(path, c.Object); err == nil {
			return fmt.Errorf("broken %s: the reader accepts it", br.name)
		}
		if err := e.add(c); err != nil {
			return err
		}
	}
	return nil
}
