// Tests of attributes that are too large for an object header.

package recovery_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
	"github.com/hyperslab/hyperslab/internal/recovery"
)

// saveLarge writes a file in which each kind of object has an attribute of 100 KiB. One attribute
// contains references.
func saveLarge(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.h5")
	f, err := h5.Create(path, &h5.CreateOptions{Low: h5.V18, High: h5.V18})
	require.NoError(t, err)
	victim, err := f.Root().CreateGroup("victim") // damageGroup corrupts its header
	require.NoError(t, err)
	require.NoError(t, victim.LinkSoft("a", "/b"))
	require.NoError(t, victim.Close())
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	d, err := g.CreateDataset("d", h5.Int(8, h5.LittleEndian), h5.SimpleSpace(6), nil)
	require.NoError(t, err)
	require.NoError(t, h5value.Write(d, squares(6), h5.All))
	c, err := f.Root().CommitDatatype("type", h5.Int(2, h5.LittleEndian))
	require.NoError(t, err)
	for _, o := range []h5.Object{f.Root(), g, d, c} {
		require.NoError(t, h5value.WriteAttr(o, "large", squares(12800)))
	}
	ref, err := f.Root().Reference("/g", h5.ObjectReference)
	require.NoError(t, err)
	refs := make([]h5.Ref, 12800)
	for i := range refs {
		refs[i] = ref
	}
	require.NoError(t, h5value.WriteAttr(d, "references", refs))
	for _, o := range []h5.Object{c, d, g} {
		require.NoError(t, o.Close())
	}
	require.NoError(t, f.Close())
	return path
}

func TestHDF5_largeAttributes(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"corrupt group header": damageGroup,
		"missing superblock": func(t *testing.T, path string) {
			change(t, path, func(b []byte) []byte { clear(b[:48]); return b })
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := saveLarge(t)
			damage(t, src)
			dst, r := recovered(t, src, nil)
			require.Equal(t, recovery.ExitPartly, r.ExitCode())
			requireSound(t, dst)
			require.Equal(t, squares(6), values(t, dst+":/g/d"))
			for _, x := range r.Findings {
				require.NotContains(t, x.What, "attribute", "%v", x)
			}
			f, err := h5.Open(dst, h5.ReadOnly)
			require.NoError(t, err)
			defer f.Close()
			for _, at := range []string{"/", "/g", "/g/d", "/type"} {
				o, err := f.Root().OpenObject(at)
				require.NoError(t, err)
				got, err := h5value.ReadAttr[int64](o, "large")
				require.NoError(t, err, at)
				require.Equal(t, squares(12800), got, at)
				require.NoError(t, o.Close())
			}
			d, err := f.Root().OpenDataset("/g/d")
			require.NoError(t, err)
			defer d.Close()
			refs, err := h5value.ReadAttr[h5.Ref](d, "references")
			require.NoError(t, err)
			require.Len(t, refs, 12800)
			to, err := f.Resolve(refs[12799])
			require.NoError(t, err)
			require.Equal(t, "/g", to.Path)
		})
	}
}

// TestHDF5_largeAttributesFormat checks that only objects with a large attribute are in a newer
// format.
func TestHDF5_largeAttributesFormat(t *testing.T) {
	src := saveLarge(t)
	f, err := h5.Open(src, h5.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, f.Root().DeleteAttribute("large"))
	require.NoError(t, f.Close())
	damageGroup(t, src)
	dst, _ := recovered(t, src, nil)
	b, err := os.ReadFile(dst)
	require.NoError(t, err)
	require.Equal(t, byte(0), b[8], "version of the superblock")
	f, err = h5.Open(dst, h5.ReadOnly)
	require.NoError(t, err)
	defer f.Close()
	for at, version := range map[string]int{"/": 1, "/g": 2, "/g/d": 2, "/type": 2} {
		o, err := f.Root().OpenObject(at)
		require.NoError(t, err)
		header, err := o.Header()
		require.NoError(t, err)
		require.Equal(t, version, header.Version, at)
		require.NoError(t, o.Close())
	}
}
