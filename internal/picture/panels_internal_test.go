package picture

import (
	"image/color"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/ndarray"
)

// characters returns the characters of a picture on a terminal, without spaces at the ends of
// lines.
func characters(lines [][]Cell) string {
	var out strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for _, c := range line {
			row.WriteRune(c.Rune)
		}
		out.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return out.String()
}

func series(name string, values ...float64) Series {
	e := NewEnvelope(int64(len(values)), len(values))
	e.Add(ndarray.Whole([]int64{int64(len(values))}), values)
	return Series{Name: name, Envelope: e}
}

func TestPicture_Cells_series(t *testing.T) {
	p := &Picture{Kind: Line, Axes: []Axis{{Last: 3}}, Shape: []int64{4}, Lines: []Series{series("up", 0, 1, 2, 3), series("down", 3, 2, 1, 0)}}
	p.Bound(0, 100)
	require.Equal(t, `         3 ⠉⠉⠦⠤⡤⠤⠋1
         0 ⣀⣀⠖⠒⠓⠒⣄2
           0      3
           1 up
           2 down
`, characters(p.Cells(8, 4, false)))
	colored := p.Cells(8, 4, true)
	used := map[color.RGBA]bool{}
	for _, line := range colored {
		for _, c := range line {
			used[c.Fore] = true
		}
	}
	require.True(t, used[inks[0]] && used[inks[1]], used)
}

func TestPicture_Cells_panels(t *testing.T) {
	p := &Picture{Kind: Heatmap, Label: "m"}
	for _, name := range []string{"index 0", "index 1", "index 2"} {
		x := &Picture{Kind: Heatmap, Title: name, Axes: make([]Axis, 2), Shape: []int64{2, 2}, Grid: NewGrid([]int64{2, 2}, 8, 8)}
		first := float64(len(p.Panels))
		x.Grid.Add(ndarray.Whole(x.Shape), []float64{first, first, first + 1, first + 1})
		x.Grid.Finish()
		p.Panels = append(p.Panels, x)
	}
	p.Bound(0, 100)
	require.Equal(t, 0.0, p.Panels[2].Low)
	require.Equal(t, 3.0, p.Panels[0].High)
	shown := characters(p.Cells(60, 12, false))
	for _, want := range []string{"index 0", "index 1", "index 2", "3 m", "██████"} {
		require.Contains(t, shown, want)
	}
	for _, line := range strings.Split(shown, "\n") {
		require.LessOrEqual(t, len([]rune(line)), 72, line)
	}
}

func TestArrange(t *testing.T) {
	for n := 1; n <= MaxPanels; n++ {
		for _, size := range [][2]float64{{900, 600}, {20, 500}, {500, 20}} {
			rows, columns := arrange(n, size[0], size[1])
			require.GreaterOrEqual(t, rows*columns, n)
			require.Less(t, (rows-1)*columns, n, "an empty row of %d × %d for %d", rows, columns, n)
		}
	}
}
