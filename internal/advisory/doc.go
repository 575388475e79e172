// Package advisory knows the published vulnerabilities of the C libraries, and which
// release mends each.
//
// # What
//
// Known lists them; Open those that a release of a library still has. Tools that
// look for vulnerable Go modules see none of them.
//
// The list is that of HDFGroup/cve_hdf5 of 2026, of the libraries' release notes, and
// of the CVE records those name. C-Blosc2 has mended much without asking for a CVE:
// the defects table of package cblosc lists what is known of that.
//
// # Concurrency
//
// All functions are pure.
package advisory
