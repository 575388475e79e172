// Package leak ends a test binary that left something behind: a goroutine, a
// block of C memory, a handle of a C library.
//
// A package of ours that owns such things has one TestMain:
//
//	func TestMain(m *testing.M) { leak.Main(m, leak.Check{Name: "open handles", Left: count}) }
package leak
