// Package advisory lists the published vulnerabilities of the C libraries, and the release that
// fixes each.
//
// # Overview
//
// Known returns all of them, and Open those that affect a release of a library. Tools that look for
// vulnerable Go modules do not find vulnerabilities of C libraries.
//
// The list is compiled from HDFGroup/cve_hdf5 of 2026, from the libraries' release notes, and from
// the CVE records that those name. C-Blosc2 has fixed many defects without a CVE: the defects table
// of package cblosc lists the known ones.
//
// # Concurrency
//
// All functions are pure.
package advisory
