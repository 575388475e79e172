package shell

import (
	"slices"

	"github.com/hyperslab/hyperslab"
)

// IsStore reports whether a format is a container of python-blosc2.
func IsStore(f hyperslab.Format) bool {
	return slices.Contains([]hyperslab.Format{hyperslab.B2Z, hyperslab.B2D, hyperslab.B2E}, f)
}

// IsFrame reports whether a format stores arrays in Blosc2 frames, which have blocks and can be
// sparse.
func IsFrame(f hyperslab.Format) bool {
	return slices.Contains([]hyperslab.Format{hyperslab.B2ND, hyperslab.Caterva, FrameFormat}, f)
}

// FrameFormat is the value of --format for a plain Blosc2 frame.
const FrameFormat = "frame"
