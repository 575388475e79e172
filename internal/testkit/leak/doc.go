// Package leak makes a test binary fail that leaks goroutines, blocks of C memory or handles of a C
// library.
//
// A package that owns such resources must have one TestMain:
//
//	func TestMain(m *testing.M) { leak.Main(m, leak.Check{Name: "open handles", Left: count}) }
package leak
