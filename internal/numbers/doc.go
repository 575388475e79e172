// Package numbers converts arrays of the machine's integers and floats to each other and reports
// whether every value is unchanged.
package numbers
