package containers_test

import (
	"context"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
)

func TestMain(m *testing.M) { filetest.Main(m) }

var bg = context.Background()
