package filter

import _ "github.com/hyperslab/hyperslab/third_party/lib" // fails where this package cannot work
