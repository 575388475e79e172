// Package cf gives stored elements their meaning by the CF conventions (Climate and Forecast
// metadata conventions, version 1.11): packed numbers, missing values, times, and coordinates. It
// works on arrays of every format, for example of HDF5, netCDF-4, b2nd, bcolz and the containers of
// python-blosc2, because it needs only their attributes and dimension names.
//
// Open returns the Variable at a path of a tree:
//
//	v, err := cf.Open(ctx, tree, "/t2m")
//	values, err := v.Values(nil)         // an array of numbers, whose null elements are missing
//	dates, err := v.Times(ctx, region)   // of a variable with units such as "days since 2000-01-01"
//	coordinates, err := v.Coords(ctx)    // of its dimensions, and those of its attribute coordinates
//
// Integers never pass through a float: an element that is not scaled keeps its type and value, and
// a time that is stored as an integer has an exact date. Values, types and missing values are those
// of netCDF4-python, dates are those of cftime.
//
// An attribute that is broken or contradicts another one has no effect. Variable.Warnings lists
// these attributes.
package cf
