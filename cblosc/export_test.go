package cblosc

// These names are exported for tests in package cblosc_test.
var (
	LibraryCParams = libraryCParams
	LibraryDParams = libraryDParams
)
