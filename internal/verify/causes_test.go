package verify_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/format"
	"github.com/hyperslab/hyperslab/internal/format/h5file"
	"github.com/hyperslab/hyperslab/internal/verify"
)

// saveObjects writes a file with 2 groups of 30 datasets, an array of 40 chunks in an extensible
// array, and a dataset with 30 attributes.
func saveObjects(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "objects.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.LatestFormat, High: h5.LatestFormat})
	require.NoError(t, err)
	create := func(name string, space h5.Dataspace, o *h5.DatasetOptions, attrs int) {
		d, err := f.Root().CreateDataset(name, h5.Int(4, h5.LittleEndian), space, o)
		require.NoError(t, err)
		require.NoError(t, h5value.Write(d, make([]int32, space.Dims[0]), h5.SimpleSpace(space.Dims...).All()))
		for k := range attrs {
			require.NoError(t, h5value.WriteAttr(d, fmt.Sprintf("a%d", k), []int64{int64(k)}))
		}
		require.NoError(t, d.Close())
	}
	for _, group := range []string{"g", "h"} {
		g, err := f.Root().CreateGroup(group)
		require.NoError(t, err)
		require.NoError(t, g.Close())
		for k := range 30 {
			create(fmt.Sprintf("%s/x%02d", group, k), h5.SimpleSpace(5), nil, 0)
		}
	}
	create("big", h5.Dataspace{Kind: h5.Simple, Dims: []int64{400}, MaxDims: []int64{h5.Unlimited}}, &h5.DatasetOptions{ChunkShape: []int64{10}}, 0)
	create("attrs", h5.SimpleSpace(5), nil, 30)
	require.NoError(t, f.Close())
	return path
}

// TestFile_causes corrupts one structure and requires one cause, the structure, with all other
// errors as its consequences.
func TestFile_causes(t *testing.T) {
	valid := saveObjects(t)
	content, err := os.ReadFile(valid)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "corrupt.h5")
	for _, tt := range []struct {
		object, structure, field string
		consequences             int
		cause                    string
	}{
		{"/g", "v2 B-tree header", "root node", 1, "/g: link index: v2 B-tree header/checksum"},
		{"/g", "fractal heap header", "root block", 0, "/g: fractal heap header/checksum"},
		{"/big", "extensible array header", "index block", 0, "/big: extensible array header/checksum"},
		{"/big", "extensible array index block", "element 1", 2, "/big: extensible array index block/checksum"},
		{"/attrs", "v2 B-tree header", "root node", 1, "/attrs: attribute index: v2 B-tree header/checksum"},
		{"/h/x03", "object header", "message 0", 0, "/h/x03: object header/checksum"},
	} {
		t.Run(tt.object+" "+tt.structure, func(t *testing.T) {
			f := structureOf(t, valid, tt.object, tt.structure)
			at := f.Offset
			for name, x := range f.Walk() {
				if strings.Contains(name, tt.field) {
					at = x.Offset
				}
				if at > f.Offset {
					break
				}
			}
			require.Greater(t, at, f.Offset, "no field %q in %v", tt.field, f)
			b := append([]byte(nil), content...)
			b[at+5] ^= 0x40
			require.NoError(t, os.WriteFile(path, b, 0o600))
			for _, isolated := range []bool{false, true} {
				r, err := verify.File(bg, path, &verify.Options{Isolated: isolated})
				require.NoError(t, err)
				require.Equal(t, verify.ExitCorrupt, r.ExitCode())
				require.EqualValues(t, len(r.Damages), r.NumDamages)
				require.Contains(t, r.Damages[0].String(), tt.cause)
				require.False(t, r.Damages[0].Consequence)
				require.GreaterOrEqual(t, len(r.Damages)-1, tt.consequences, "%v", r.Damages)
				for _, p := range r.Damages[1:] {
					require.True(t, p.Consequence, "%v", p)
				}
			}
		})
	}
}

func structureOf(t *testing.T, path, object, name string) (found format.Field) {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = h5file.ObjectStructures(bytes.NewReader(b), int64(len(b)), func(o string, f format.Field) {
		if o == object && f.Name == name && found.Name == "" {
			found = f
		}
	})
	require.NoError(t, err)
	require.NotEmpty(t, found.Name, "%s of %s", name, object)
	return found
}

// TestFile_independent checks that independent errors are causes of their own, and that a truncated
// file is the cause of all missing parts.
func TestFile_independent(t *testing.T) {
	valid := saveObjects(t)
	content, err := os.ReadFile(valid)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "corrupt.h5")
	causes := func(t *testing.T, b []byte) (list []string, consequences int) {
		require.NoError(t, os.WriteFile(path, b, 0o600))
		r, err := verify.File(bg, path, nil)
		require.NoError(t, err)
		for _, p := range r.Damages {
			if p.Consequence {
				consequences++
			} else {
				list = append(list, p.Object+" "+p.What)
			}
		}
		return list, consequences
	}
	t.Run("two indexes", func(t *testing.T) {
		b := append([]byte(nil), content...)
		for _, object := range []string{"/g", "/h"} {
			f := structureOf(t, valid, object, "v2 B-tree leaf node")
			b[f.Offset+20] ^= 1
		}
		list, _ := causes(t, b)
		require.Equal(t, []string{"/g link index: v2 B-tree leaf node/checksum", "/h link index: v2 B-tree leaf node/checksum"}, list)
	})
	t.Run("heap and index of attributes", func(t *testing.T) {
		b := append([]byte(nil), content...)
		for _, name := range []string{"fractal heap direct block", "v2 B-tree leaf node"} {
			f := structureOf(t, valid, "/attrs", name)
			b[f.Offset+20] ^= 1
		}
		list, _ := causes(t, b)
		require.Len(t, list, 2)
	})
	t.Run("truncated", func(t *testing.T) {
		list, consequences := causes(t, content[:len(content)*2/3])
		require.Len(t, list, 1, "%v", list)
		require.True(t, strings.HasPrefix(list[0], " superblock"), list[0])
		require.Greater(t, consequences, 3)
	})
}
