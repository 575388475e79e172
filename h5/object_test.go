package h5_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/h5/h5value"
)

// TestOpenObject checks that all functions that open an object return the same one.
func TestOpenObject(t *testing.T) {
	f := newFile(t)
	r := f.Root()
	_, err := r.CreateGroup("g")
	require.NoError(t, err)
	_, err = r.CreateDataset("d", h5.Int(4, 0), h5.SimpleSpace(2), nil)
	require.NoError(t, err)
	for i, name := range []string{"d", "g"} {
		want, err := r.ObjectInfo(name)
		require.NoError(t, err)
		byName, err1 := r.OpenObject(name)
		byIndex, err2 := r.OpenObjectAt(h5.ByName, int64(i))
		byToken, err3 := f.OpenToken(want.Token)
		byAddress, err4 := f.OpenAddress(want.Address)
		for _, err := range []error{err1, err2, err3, err4} {
			require.NoError(t, err)
		}
		for _, o := range []h5.Object{byName, byIndex, byToken, byAddress} {
			got, err := o.Stat()
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.IsType(t, byName, o)
			require.NoError(t, o.Close())
			_, err = o.Stat()
			require.ErrorIs(t, err, h5.ErrClosed)
		}
		require.Equal(t, "/"+name, byName.Path())
		require.Equal(t, "/"+name, byIndex.Path())
	}
	_, err = r.OpenObject("none")
	require.ErrorIs(t, err, h5.ErrNotFound)
	_, err = f.OpenAddress(1 << 40)
	require.Error(t, err)
	_, err = f.OpenToken(h5.Token{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	require.Error(t, err)
}

func TestTokens(t *testing.T) {
	f := newFile(t)
	_, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	g, err := f.Root().ObjectInfo("g")
	require.NoError(t, err)
	root, err := f.Root().Stat()
	require.NoError(t, err)
	order, err := f.CompareTokens(g.Token, root.Token)
	require.NoError(t, err)
	require.NotZero(t, order)
	back, err := f.CompareTokens(root.Token, g.Token)
	require.NoError(t, err)
	require.Equal(t, order, -back)
	same, err := f.CompareTokens(g.Token, g.Token)
	require.NoError(t, err)
	require.Zero(t, same)
	text, err := f.TokenText(g.Token)
	require.NoError(t, err)
	parsed, err := f.ParseToken(text)
	require.NoError(t, err)
	require.Equal(t, g.Token, parsed)
	_, err = f.ParseToken("")
	require.ErrorIs(t, err, h5.ErrParam)
}

// FuzzParseToken checks that any string is either rejected or parsed to a token whose String parses
// to the same token.
func FuzzParseToken(f *testing.F) {
	file, err := h5.Create(filepath.Join(f.TempDir(), "x.h5"), nil)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, file.Close()) })
	for _, s := range []string{"96", "0", "18446744073709551615", "18446744073709551616", "-1", "x", " 7 ", "0x10", "a\x00b", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token, err := file.ParseToken(s)
		if err != nil {
			var e *h5.Error
			require.ErrorAs(t, err, &e)
			return
		}
		text, err := file.TokenText(token)
		require.NoError(t, err)
		again, err := file.ParseToken(text)
		require.NoError(t, err)
		require.Equal(t, token, again)
	})
}

func TestTimes(t *testing.T) {
	f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: h5.V18, High: h5.LatestFormat})
	require.NoError(t, err)
	defer f.Close()
	before := time.Now().Add(-2 * time.Second)
	g, err := f.Root().CreateGroupWith("g", &h5.GroupOptions{Times: true})
	require.NoError(t, err)
	info, err := g.Stat()
	require.NoError(t, err)
	for _, at := range []time.Time{info.Accessed, info.Modified, info.Changed, info.Born} {
		require.True(t, at.After(before) && at.Before(time.Now().Add(2*time.Second)), at)
	}
}

// TestDataset_Info_times checks that Info reports whether times are stored, in object headers of
// both versions.
func TestDataset_Info_times(t *testing.T) {
	for _, low := range []h5.LibVer{h5.Earliest, h5.V18} {
		for _, times := range []bool{false, true} {
			t.Run(fmt.Sprint(low, " ", times), func(t *testing.T) {
				f, err := h5.Create(filepath.Join(t.TempDir(), "x.h5"), &h5.CreateOptions{Low: low, High: h5.LatestFormat})
				require.NoError(t, err)
				_, err = f.Root().CreateDataset("d", h5.Int(4, 0), h5.ScalarSpace(), &h5.DatasetOptions{Times: times})
				require.NoError(t, err)
				f = reopen(t, f, h5.ReadOnly)
				d, err := f.Root().OpenDataset("d")
				require.NoError(t, err)
				info, err := d.Info()
				require.NoError(t, err)
				require.Equal(t, times, info.Times)
			})
		}
	}
}

func TestComments(t *testing.T) {
	f := newFile(t)
	d, err := f.Root().CreateDataset("d", h5.Int(4, 0), h5.ScalarSpace(), nil)
	require.NoError(t, err)
	for _, text := range []string{"", "一つ\nline", "short", ""} {
		require.NoError(t, d.SetComment(text))
		got, err := d.Comment()
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
	require.ErrorIs(t, d.SetComment("a\x00b"), h5.ErrParam)
	require.NoError(t, f.Root().SetComment("root"))
	f = reopen(t, f, h5.ReadOnly)
	got, err := f.Root().Comment()
	require.NoError(t, err)
	require.Equal(t, "root", got)
	require.ErrorIs(t, f.Root().SetComment("x"), h5.ErrReadOnly)
}

// TestObject_KeepRelease checks that an object with an additional reference count is not deleted
// with its last link.
func TestObject_KeepRelease(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, g.Keep())
	info, err := g.Stat()
	require.NoError(t, err)
	require.Equal(t, 2, info.Links)
	require.NoError(t, f.Root().Unlink("g"))
	require.NoError(t, g.Close())
	o, err := f.OpenAddress(info.Address)
	require.NoError(t, err)
	require.NoError(t, f.Root().LinkObject("again", o))
	require.NoError(t, o.(*h5.Group).Release())
	info, err = f.Root().ObjectInfo("again")
	require.NoError(t, err)
	require.Equal(t, 1, info.Links)
	require.NoError(t, o.Close())
	f = reopen(t, f, h5.ReadOnly)
	g, err = f.Root().OpenGroup("again")
	require.NoError(t, err)
	require.ErrorIs(t, g.Keep(), h5.ErrReadOnly)
	require.ErrorIs(t, g.Release(), h5.ErrReadOnly)
}

func TestFlushRefreshHold(t *testing.T) {
	f := newFile(t)
	g, err := f.Root().CreateGroup("g")
	require.NoError(t, err)
	require.NoError(t, g.LinkSoft("a", "b"))
	require.NoError(t, g.Flush())
	require.NoError(t, g.Refresh())
	require.Equal(t, []string{"a"}, linkNames(t, g, h5.ByName))
	held, err := g.MetadataHeld()
	require.NoError(t, err)
	require.False(t, held)
	require.NoError(t, g.HoldMetadata(true))
	held, err = g.MetadataHeld()
	require.NoError(t, err)
	require.True(t, held)
	require.Error(t, g.HoldMetadata(true))
	require.NoError(t, g.HoldMetadata(false))
	require.Error(t, g.HoldMetadata(false))
}

// tree returns the path and kind of each object that Visit finds below a group.
func tree(t testing.TB, g *h5.Group) []string {
	t.Helper()
	var found []string
	for v, err := range g.Visit() {
		require.NoError(t, err, v.Path)
		found = append(found, v.Path+" "+v.Kind.String())
	}
	return found
}

// TestCopyObject checks every option of CopyObject on a small tree, within a file and to another
// file.
func TestCopyObject(t *testing.T) {
	dir := t.TempDir()
	far, err := h5.Create(filepath.Join(dir, "far.h5"), nil)
	require.NoError(t, err)
	_, err = far.Root().CreateGroup("there")
	require.NoError(t, err)
	require.NoError(t, far.Close())
	f, err := h5.Create(filepath.Join(dir, "x.h5"), nil)
	require.NoError(t, err)
	defer f.Close()
	r := f.Root()
	d, err := r.CreateDataset("src/in/d", h5.Int(4, h5.LittleEndian), h5.SimpleSpace(3), nil)
	require.NoError(t, err)
	all := region([]int64{0}, []int64{3})
	require.NoError(t, h5value.Write(d, []int32{1, 2, 3}, all))
	require.NoError(t, d.WriteAttribute(h5.Attribute{Name: "a", Datatype: h5.Int(1, 0), Space: h5.ScalarSpace(), Data: []byte{7}}))
	_, err = r.CreateGroup("aside")
	require.NoError(t, err)
	require.NoError(t, r.LinkSoft("src/soft", "/aside"))
	require.NoError(t, r.LinkExternal("src/out", "far.h5", "/there"))
	require.NoError(t, r.LinkHard("src/same", "src/in/d"))

	other, err := h5.Create(filepath.Join(dir, "y.h5"), nil)
	require.NoError(t, err)
	defer other.Close()
	whole := []string{". group", "in group", "in/d dataset"}
	for _, tt := range []struct {
		name string
		o    *h5.CopyOptions
		want []string
		soft h5.LinkKind
		out  h5.LinkKind
	}{
		{"all", nil, whole, h5.SoftLink, h5.ExternalLink},
		{"shallow", &h5.CopyOptions{Shallow: true}, []string{". group", "in group", "same dataset"}, h5.SoftLink, h5.ExternalLink},
		{"soft", &h5.CopyOptions{ExpandSoft: true}, append(whole[:3:3], "soft group"), h5.HardLink, h5.ExternalLink},
		{"external", &h5.CopyOptions{ExpandExternal: true}, append(whole[:3:3], "out group"), h5.SoftLink, h5.HardLink},
		{"no attributes", &h5.CopyOptions{WithoutAttributes: true}, whole, h5.SoftLink, h5.ExternalLink},
		{"references", &h5.CopyOptions{ExpandReferences: true, MergeTypes: true, TypePaths: []string{"/t"}}, whole, h5.SoftLink, h5.ExternalLink},
	} {
		for _, to := range []*h5.Group{r, other.Root()} {
			require.NoError(t, r.CopyObject("src", to, "copies/"+tt.name, tt.o), tt.name)
			g, err := to.OpenGroup("copies/" + tt.name)
			require.NoError(t, err)
			require.Equal(t, tt.want, tree(t, g), tt.name)
			for name, kind := range map[string]h5.LinkKind{"soft": tt.soft, "out": tt.out} {
				l, err := g.Link(name)
				require.NoError(t, err)
				require.Equal(t, kind, l.Kind, "%s %s", tt.name, name)
			}
			copied, err := g.OpenDataset("same")
			require.NoError(t, err)
			got, err := h5value.ReadAll[int32](copied)
			require.NoError(t, err)
			require.Equal(t, []int32{1, 2, 3}, got)
			stat, err := copied.Stat()
			require.NoError(t, err)
			require.Equal(t, tt.o == nil || !tt.o.WithoutAttributes, stat.NumAttrs == 1, tt.name)
		}
	}
	require.ErrorIs(t, r.CopyObject("none", r, "x", nil), h5.ErrNotFound)
	require.ErrorIs(t, r.CopyObject("src", r, "aside", nil), h5.ErrExists)
	require.ErrorIs(t, r.CopyObject("src", r, "x", &h5.CopyOptions{TypePaths: []string{"a\x00"}}), h5.ErrParam)
	readOnly := reopen(t, other, h5.ReadOnly)
	require.ErrorIs(t, r.CopyObject("src", readOnly.Root(), "x", nil), h5.ErrReadOnly)
}
