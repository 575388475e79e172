// Package judge compares the verdicts of Verify with the reference libraries.
//
// A Judge is a Python process that reads all elements and attributes of a file with h5py,
// python-blosc2 or bcolz. A file of which it cannot read something must not be valid, and a file of
// which it reads everything must not be corrupt. Exceptions lists the findings for which the second
// condition does not hold.
//
// sources.py writes files of many forms. Mutations are copies of them with a flipped bit, other or
// swapped bytes, or without their end.
package judge
