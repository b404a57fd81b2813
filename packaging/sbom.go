package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
)

// The parts of CycloneDX 1.6 that a list of a program's modules needs.
type (
	bom struct {
		Format       string       `json:"bomFormat"`
		Spec         string       `json:"specVersion"`
		Version      int          `json:"version"` // of this list
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Hashes     []hash     `json:"hashes,omitempty"`
		PURL       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

func partOf(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + url.PathEscape(version)
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

// writeSBOM writes what a program was built from, by what the compiler recorded in it: its modules with their
// checksums, and the standard library. It has neither time nor serial number, so that equal programs give equal lists.
func writeSBOM(w io.Writer, version, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	self := partOf("application", info.Main.Path, version)
	self.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(b))}}
	parts := []component{partOf("library", "std", info.GoVersion)}
	for _, m := range info.Deps {
		m = cmp.Or(m.Replace, m)
		c := partOf("library", m.Path, m.Version)
		c.Properties = []property{{"go:sum", m.Sum}}
		parts = append(parts, c)
	}
	slices.SortFunc(parts, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	all := dependency{Ref: self.Ref}
	for _, c := range parts {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(bom{"CycloneDX", "1.6", 1, metadata{self}, parts, []dependency{all}})
}
