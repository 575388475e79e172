// Package directories is the driver of directories of arrays: trees in the file system.
//
// A group is a directory, and an array NAME is the file NAME.b2nd in it. The attributes of a group
// are those of its null array __group__.b2nd. CopyTree writes that file in every group, and
// listings omit it. In names, bytes that are special in file systems are written as %XX: control
// characters, % and \ and :, a dot at the beginning, an underscore before another one at the
// beginning, and the dot of a group's name that ends in ".b2nd".
//
// Directories made by other programs are trees too if they contain a file or a sparse frame
// NAME.b2nd, or a directory NAME of bcolz: a carray is the array NAME, and a ctable is the group
// NAME of its columns. Other files in them are listed with the kind Other.
package directories
