//go:build !race

package crosscheck

const raceBuild = false
