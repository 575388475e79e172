//go:build cgo && !system_libs && !(linux && (amd64 || arm64)) && !(windows && amd64) && !(darwin && (amd64 || arm64))

package lib

// See missing.go.
type _ hyperslab_has_no_C_libraries_for_this_platform__build_with_tags_system_libs
