// The defects and traps of the library that this package knows, and what it does
// about them.

package h5

import "slices"

// Defect is one thing about libhdf5 that would crash a program, damage data or
// surprise its owner.
type Defect struct {
	Name     string
	Releases string // which of 1.14 to 2.2 have it, as far as is known
	Effect   string // what happens without the guard
	Guard    string // what this package does
	Test     string // the test that shows the guard
}

// Defects returns the table.
func Defects() []Defect { return slices.Clone(defects) }

var defects = []Defect{
	{"buffers without a length", "all",
		"H5Dread and H5Dwrite take no length: a buffer that is too short is read or written past its end",
		"the length is compared with region and datatype in Go, and again with the type that was made in C: ErrSize",
		"TestShortSlice"},
	{"conversions that lose values silently", "all",
		"numbers are clamped, rounded and cut without an error; the exception callback never hears of a double that becomes a float, nor of some that overflow",
		"the values before and after are compared: ErrOverflow, ErrPrecision",
		"TestConversionsLoseNothing"},
	{"writes that stop in the middle", "all",
		"a conversion that an exception callback aborts has written the elements before it",
		"everything is converted before the first byte goes to the file",
		"TestLossyWhenAsked"},
	{"strings cut to another length", "all",
		"a string type of another length in memory cuts the text without an error",
		"string types of memory and file must be equal, or ReadStrings: ErrType",
		"TestTypesWithNothingInCommon"},
	{"any byte in an enumeration", "all",
		"an enumeration as h5py's bool may hold bytes that are no member, and reading them as it is converts nothing",
		"nothing but 0 and 1 gets into a Go bool: ErrOverflow",
		"TestBools"},
	{"shapes without a rank", "all",
		"H5Dset_extent reads as many numbers as the dataset has dimensions, however many there are",
		"the ranks are compared first: ErrSize",
		"TestFillAndResize"},
	{"four words for a missing filter", "all",
		"the error stack of a missing filter has no number of its own, and says the filter's name only in a text",
		"the pipeline is looked at after a failure: *FilterError with number and name",
		"TestMissingFilterByName"},
	{"plugins", "all",
		"a file that names an unknown filter makes the library load every shared object in HDF5_PLUGIN_PATH",
		"loading is switched off (H5PLset_loading_state)",
		"TestPluginsAreOff"},
	{"errors on stderr", "all",
		"failures are printed, in a thread-safe build for each new thread again",
		"printing is switched off, and the stack comes with the error",
		"TestSilent"},
	{"existing files", "all",
		"of an exclusive H5Fcreate on a file that the process has open the stack has no number that says so",
		"ErrExists by a look at the file system",
		"TestErrorsByName"},
	{"times in object headers", "all",
		"a dataset stores when it was created, so that the same input gives other bytes a second later",
		"times are not tracked for datasets",
		"TestSameInputSameBytes"},
	{"identifiers closed by the library", "all",
		"H5F_CLOSE_STRONG closes identifiers behind their owner's back, H5F_CLOSE_WEAK leaves a file open as long as one is forgotten",
		"a file closes what was opened through it, then itself, with H5F_CLOSE_SEMI, which fails if anything was missed",
		"TestFileClosedFirst"},
}
