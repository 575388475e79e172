package treediff_test

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
)

func TestMain(m *testing.M) { filetest.Main(m) }
