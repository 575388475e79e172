// Package samples contains element types, attributes, shapes and random selections for tests of
// arrays, and a test that two engines of a format read each other's files.
package samples
