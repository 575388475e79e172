// Package h5errs maps the errors of package h5 to those of ndarray.
package h5errs
