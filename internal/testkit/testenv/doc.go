// Package testenv finds files, tools and Python libraries that tests compare with and that are not
// in git. If one is missing, the test is skipped and the skip is reported. In CI (the environment
// variable CI is set) a missing one is a failure.
package testenv
