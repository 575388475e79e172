package h5tree_test

import (
	"context"
	"testing"

	"github.com/hyperslab/hyperslab/internal/testkit/filetest"
	"github.com/hyperslab/hyperslab/remote"
)

func TestMain(m *testing.M) {
	remote.DefaultClient = remote.NewClient(&remote.Options{AllowPrivate: true})
	filetest.Main(m)
}

var bg = context.Background()
