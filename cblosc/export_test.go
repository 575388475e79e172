package cblosc

// What tests need to see from outside.
var (
	LibraryCParams = libraryCParams
	LibraryDParams = libraryDParams
)
