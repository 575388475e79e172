// Package treediff compares two open trees object by object.
package treediff
