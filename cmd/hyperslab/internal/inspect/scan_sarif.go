// Findings of scan as SARIF 2.1.0 (Static Analysis Results Interchange Format, OASIS standard).

package inspect

import (
	"cmp"
	"net/url"
	"path"
	"path/filepath"

	"github.com/hyperslab/hyperslab/cmd/hyperslab/internal/shell"
	"github.com/hyperslab/hyperslab/internal/verify/scan"
)

// sarifVersion is the version of the format, and sarifSchema the URI of its JSON schema.
const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Artifacts   []sarifArtifact   `json:"artifacts"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Default sarifDefault `json:"defaultConfiguration"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

// sarifInvocation lists the files that could not be scanned.
type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifArtifact struct {
	Location sarifURI `json:"location"`
}

type sarifURI struct {
	URI   string `json:"uri"`
	Index *int   `json:"index,omitempty"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	RuleIndex int             `json:"ruleIndex"`
	Level     string          `json:"level"`
	Message   sarifMessage    `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifURI     `json:"artifactLocation"`
	Region   *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	Offset shell.JSONInt `json:"byteOffset"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

// newSARIF returns the findings of all files as one run.
func newSARIF(files []ScanFile) sarifLog {
	v := NewVersionDoc()
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "hyperslab", Version: v.Version,
			InformationURI: "https://" + cmp.Or(v.Module, "github.com/hyperslab/hyperslab")}},
		Invocations: []sarifInvocation{{Successful: true, Notifications: []sarifNotification{}}},
		Artifacts:   []sarifArtifact{}, Results: []sarifResult{},
	}
	index := map[string]int{}
	for i, r := range scan.Rules() {
		index[r.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{r.ID, sarifMessage{r.Text}, sarifDefault{string(r.Level)}})
	}
	artifacts := map[string]int{}
	artifact := func(name string) sarifURI {
		uri := fileURI(name)
		i, ok := artifacts[uri]
		if !ok {
			i = len(run.Artifacts)
			artifacts[uri] = i
			run.Artifacts = append(run.Artifacts, sarifArtifact{sarifURI{URI: uri}})
		}
		return sarifURI{uri, &i}
	}
	for _, f := range files {
		if f.Error != nil {
			run.Invocations[0].Successful = false
			run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, sarifNotification{"error", sarifMessage{*f.Error}})
			continue
		}
		at := artifact(f.Path)
		for _, x := range f.Findings {
			l := sarifLocation{Physical: sarifPhysical{Artifact: at}}
			if x.File != nil {
				l.Physical.Artifact = artifact(path.Join(filepath.ToSlash(f.Path), *x.File))
			}
			if x.Offset != nil {
				l.Physical.Region = &sarifRegion{*x.Offset}
			}
			if x.Object != nil {
				l.Logical = []sarifLogical{{*x.Object}}
			}
			run.Results = append(run.Results, sarifResult{x.Rule, index[x.Rule], x.Level, sarifMessage{x.Text}, []sarifLocation{l}})
		}
	}
	return sarifLog{sarifSchema, sarifVersion, []sarifRun{run}}
}

// fileURI returns the name of a file as a URI. A relative name gives a relative URI.
func fileURI(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
