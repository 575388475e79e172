// Package numbers converts numbers. [LoopOf] converts
// arrays of the machine's integers and floats, and [Format] describes a number of any other form.
package numbers
