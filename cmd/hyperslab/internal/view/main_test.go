package view

import (
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
