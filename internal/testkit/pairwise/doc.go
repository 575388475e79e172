// Package pairwise chooses a small number of test cases that contain every pair of values of any
// two parameters.
package pairwise
