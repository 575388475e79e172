// Package h5names finds the paths of the objects that references lead to. libhdf5 searches the
// links of the file for each path; this package searches them once for each open file.
package h5names
