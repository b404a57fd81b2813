package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/foreign"
	"github.com/weir-bench/weir/internal/strictyaml"
)

// A Package is what an archive of results says about itself.
type Package struct {
	Title   string
	Authors []string // may be none
	Results []PackedResults
	Files   []string // all others but the metadata
}

// PackedResults are a run or a series in a package.
type PackedResults struct {
	Dir  string // below the package
	Runs []*account.Account
}

// Ended returns when the last trial of all results ended: the only time in a package.
func (p Package) Ended() (last time.Time) {
	for _, r := range p.Results {
		for _, run := range r.Runs {
			if _, t := run.Times(); t.After(last) {
				last = t
			}
		}
	}
	return last.UTC()
}

// CFF writes CITATION.cff (https://citation-file-format.github.io, version 1.2.0).
func (p Package) CFF(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("cff-version: 1.2.0\nmessage: If you use these results, please cite them and weir.\ntype: dataset\n")
	fmt.Fprintf(&b, "title: %s\nauthors:\n", strictyaml.Quote(p.Title))
	for _, a := range p.Authors {
		fmt.Fprintf(&b, "  - name: %s\n", strictyaml.Quote(a))
	}
	if p.Authors == nil {
		b.WriteString("  - name: whoever measured (weir package --author names them)\n")
	}
	b.WriteString("references:\n  - type: software\n    title: \"weir: what a container network costs, and why\"\n    url: https://github.com/weir-bench/weir\n    license: Apache-2.0\n" +
		"    authors:\n      - name: The weir maintainers\n")
	_, err := w.Write(b.Bytes())
	return err
}

// An entity is one of RO-Crate's: a thing of schema.org.
type entity map[string]any

// ROCrate writes ro-crate-metadata.json (https://www.researchobject.org/ro-crate/1.1/).
func (p Package) ROCrate(w io.Writer) error {
	id := func(s string) entity { return entity{"@id": s} }
	var about, parts, authors []entity
	add := func(e entity) { about, parts = append(about, e), append(parts, id(e["@id"].(string))) }
	for _, r := range p.Results {
		run := r.Runs[0]
		add(entity{"@id": r.Dir + "/", "@type": "Dataset", "name": foreign.Line(run.Name), "description": foreign.Line(run.Question)})
	}
	for _, f := range p.Files {
		e := entity{"@id": f, "@type": "File", "name": f, "encodingFormat": mediaType(f)}
		if strings.HasPrefix(f, "bin/") {
			e["@type"], e["url"] = []string{"File", "SoftwareApplication"}, "https://github.com/weir-bench/weir"
		}
		add(e)
	}
	for i, a := range p.Authors {
		e := entity{"@id": "#author-" + strconv.Itoa(i+1), "@type": "Person", "name": a}
		about, authors = append(about, e), append(authors, id(e["@id"].(string)))
	}
	root := entity{"@id": "./", "@type": "Dataset", "name": p.Title, "description": "Results of weir, and what it takes to measure them again.",
		"datePublished": p.Ended().Format(time.DateOnly), "license": id("LICENSE"), "hasPart": parts}
	switch len(authors) { // a list of one is to be unpacked
	case 0:
	case 1:
		root["author"] = authors[0]
	default:
		root["author"] = authors
	}
	descriptor := entity{"@id": "ro-crate-metadata.json", "@type": "CreativeWork", "conformsTo": id("https://w3id.org/ro/crate/1.1"), "about": id("./")}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": append([]entity{descriptor, root}, about...)})
}

// mediaType is that of a file of a package, by its name.
func mediaType(file string) string {
	switch {
	case strings.HasPrefix(file, "bin/"):
		return "application/x-executable"
	case strings.HasSuffix(file, ".yaml"):
		return "application/yaml" // RFC 9512
	case file == "reproduce":
		return "application/x-sh"
	}
	return "text/plain"
}
