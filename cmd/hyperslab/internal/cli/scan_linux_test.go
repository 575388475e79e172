package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hyperslab/hyperslab/h5"
	"github.com/hyperslab/hyperslab/ndarray"
)

// TestScan_SARIF checks that a SARIF document contains every rule, an artifact for each file, and
// the location of each finding.
func TestScan_SARIF(t *testing.T) {
	t.Chdir(field(t))
	require.NoError(t, os.Mkdir("a directory", 0o700))
	require.NoError(t, os.Rename("cut.b2nd", "a directory/cut #1.b2nd"))
	abs, err := filepath.Abs("tree.h5")
	require.NoError(t, err)
	stdout, stderr, code := run("scan", "--sarif", "--keep-going", "a directory", "notes.txt", abs, "waves.b2nd")
	require.Equal(t, 1, code, stderr)
	var doc struct {
		Schema  string `json:"$schema"`
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct {
						ID            string
						Short         struct{ Text string }  `json:"shortDescription"`
						Configuration struct{ Level string } `json:"defaultConfiguration"`
					}
				}
			}
			Invocations []struct {
				Successful    bool `json:"executionSuccessful"`
				Notifications []struct {
					Level   string
					Message struct{ Text string }
				} `json:"toolExecutionNotifications"`
			}
			Artifacts []struct{ Location struct{ URI string } }
			Results   []struct {
				RuleID, Level string
				RuleIndex     int
				Message       struct{ Text string }
				Locations     []struct {
					Physical struct {
						Artifact struct {
							URI   string
							Index int
						} `json:"artifactLocation"`
						Region *struct {
							Offset int64 `json:"byteOffset"`
						}
					} `json:"physicalLocation"`
					Logical []struct {
						Name string `json:"fullyQualifiedName"`
					} `json:"logicalLocations"`
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &doc))
	require.Equal(t, "2.1.0", doc.Version)
	require.Contains(t, doc.Schema, "sarif-schema-2.1.0.json")
	require.Len(t, doc.Runs, 1)
	r := doc.Runs[0]
	require.Equal(t, "hyperslab", r.Tool.Driver.Name)
	var uris []string
	for _, a := range r.Artifacts {
		uris = append(uris, a.Location.URI)
	}
	require.Equal(t, []string{"a%20directory", "a%20directory/cut%20%231.b2nd", "file://" + abs, "waves.b2nd"}, uris)
	require.Len(t, r.Invocations, 1)
	require.False(t, r.Invocations[0].Successful)
	require.Len(t, r.Invocations[0].Notifications, 1)
	require.Contains(t, r.Invocations[0].Notifications[0].Message.Text, "notes.txt")
	var got []string
	for _, x := range r.Results {
		require.Equal(t, x.RuleID, r.Tool.Driver.Rules[x.RuleIndex].ID)
		require.Equal(t, x.Level, r.Tool.Driver.Rules[x.RuleIndex].Configuration.Level)
		require.Len(t, x.Locations, 1)
		p := x.Locations[0].Physical
		require.Equal(t, p.Artifact.URI, uris[p.Artifact.Index])
		object := ""
		for _, l := range x.Locations[0].Logical {
			object = l.Name
		}
		got = append(got, fmt.Sprintf("%s %s %s %v", x.RuleID, p.Artifact.URI, object, p.Region != nil))
	}
	require.Equal(t, []string{
		"structure a%20directory/cut%20%231.b2nd  true",
		"external-link file://" + abs + " /elsewhere false",
	}, got)
}

// TestScan_OpensNoTarget checks that scan does not open a file outside the scanned file or
// directory, for example through links.
func TestScan_OpensNoTarget(t *testing.T) {
	dir, far := t.TempDir(), t.TempDir()
	target := filepath.Join(far, "far.h5")
	spec := ndarray.Spec{Shape: []int64{8}, DType: ndarray.DTypeOf[int32](), ChunkShape: []int64{4}}
	create(t, target+":/x", spec, make([]int32, 8))

	links := filepath.Join(dir, "links.h5")
	f, err := h5.Create(links, nil)
	require.NoError(t, err)
	root := f.Root()
	require.NoError(t, root.LinkExternal("link", target, "/x"))
	require.NoError(t, root.LinkSoft("soft", "/link"))
	region := h5.Region{Start: []int64{0}, Count: []int64{8}}
	for name, o := range map[string]*h5.DatasetOptions{
		"external": {External: []h5.ExternalFile{{Name: target, Size: 32}}},
		"virtual":  {Mappings: []h5.Mapping{{Region: region, File: target, Dataset: "x", Source: h5.SimpleSpace(8), SourceRegion: region}}},
	} {
		d, err := root.CreateDataset(name, h5.Int(4, h5.NativeOrder), h5.SimpleSpace(8), o)
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	require.NoError(t, f.Close())
	sparse, tree := filepath.Join(dir, "s.b2nd"), filepath.Join(dir, "t.bcolz")
	values := []int32{1, 2, 3, 4, 5, 6, 7, 8}
	plain := filepath.Join(far, "plain.b2nd")
	create(t, plain, spec, values)
	_, stderr, code := run("convert", "-q", "--sparse", plain, sparse)
	require.Zero(t, code, stderr)
	create(t, tree, spec, values)
	chunks, err := filepath.Glob(sparse + "/*.chunk")
	require.NoError(t, err)
	require.NotEmpty(t, chunks)
	for _, name := range append(chunks[:1], sparse+"/chunks.b2frame", tree+"/data/__0.blp", tree+"/meta/sizes", dir+"/other.h5") {
		if err := os.Remove(name); err != nil {
			require.ErrorIs(t, err, os.ErrNotExist)
		}
		require.NoError(t, os.Symlink(target, name))
	}
	scanned := func(path string) (text string) {
		stdout, stderr, code := run("scan", path)
		require.Equal(t, 1, code, stderr)
		return stdout
	}
	require.Zero(t, opened(t, target, func() {
		text := scanned(links)
		for _, rule := range []string{"external-link: /link", "soft-link: /soft", "external-storage: /external", "virtual-source: /virtual"} {
			require.Contains(t, text, rule)
		}
		for _, path := range []string{sparse, tree, dir} {
			require.Contains(t, scanned(path), "to a target outside the directory")
		}
	}))
	// dump follows the link, which shows that opened counts such openings.
	require.Positive(t, opened(t, target, func() {
		_, stderr, code := run("dump", links+":/link")
		require.Zero(t, code, stderr)
	}))
	require.False(t, strings.Contains(scanned(links), "structure"))
}
