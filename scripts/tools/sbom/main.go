// Command sbom prints the bill of materials of a build of the command in the format of CycloneDX:
// the Go modules of the binary's build information, the C libraries of third_party/VERSIONS, and
// the npm packages of the viewer that `make web` lists.
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "the version of the release")
	versions := flag.String("versions", "", "the file with the pins of the C libraries")
	web := flag.String("web", "", "the file with the npm packages of the viewer")
	flag.Parse()
	if err := run(flag.Arg(0), *version, *versions, *web, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(binary, version, versions, web string, out io.Writer) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	parts := []cdx.Component{library("go", strings.TrimPrefix(info.GoVersion, "go"), "pkg:golang/std@"+info.GoVersion)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return fmt.Errorf("%s: module %s is replaced", binary, m.Path)
		}
		parts = append(parts, library(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version))
	}
	c, err := pins(versions)
	if err != nil {
		return err
	}
	parts = append(parts, c...)
	if c, err = npm(web); err != nil {
		return err
	}
	parts = append(parts, c...)

	main := library(info.Main.Path, version, "pkg:golang/"+info.Main.Path+"@"+version)
	main.Type = cdx.ComponentTypeApplication
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &main}
	bom.Components = &parts
	var refs []string
	for _, p := range parts {
		refs = append(refs, p.BOMRef)
	}
	bom.Dependencies = &[]cdx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

func library(name, version, url string) cdx.Component {
	return cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url}
}

// pins reads the linked libraries of third_party/VERSIONS, with the hash of the package of each.
func pins(file string) ([]cdx.Component, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []cdx.Component
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		word := strings.Fields(lines.Text())
		if len(word) != 6 || word[0][0] == '#' || word[0] == "hdf5-tools" {
			continue
		}
		c := library(word[0], word[1], "pkg:generic/"+word[0]+"@"+word[1])
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: word[3]}}
		c.Description = "source: " + word[2] + " package " + word[4]
		out = append(out, c)
	}
	if len(out) < 5 {
		return nil, fmt.Errorf("%s: got %d libraries, want at least 5", file, len(out))
	}
	return out, lines.Err()
}

// npm reads the list of packages that are part of the viewer.
func npm(file string) ([]cdx.Component, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []struct{ Name, Version, License string }
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []cdx.Component
	for _, p := range list {
		c := library(p.Name, p.Version, "pkg:npm/"+strings.Replace(p.Name, "@", "%40", 1)+"@"+p.Version)
		c.Licenses = &cdx.Licenses{{License: &cdx.License{ID: p.License}}}
		out = append(out, c)
	}
	return out, nil
}
