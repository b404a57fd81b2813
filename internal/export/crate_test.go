package export

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/study"
)

func directions(w io.Writer, runs []*account.Account) error {
	_, err := Directions(w, runs)
	return err
}

// What a run claims is read as published claims are. Ratios whose intervals contain 1 claim nothing.
func TestDirections(t *testing.T) {
	r := recorded(t)
	text := written(t, directions, r)
	golden(t, "directions.yaml", text)
	s, err := study.Load([]byte("name: udp-vs-tcp\nnetworks: [host, bridge, vxlan-overlay]\nprobes: [tcp-stream, udp-stream, udp-rate, udp-rr]\n"), "study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := claim.Load(text, "claims.yaml", func(string) (study.Study, error) { return s, nil })
	if err != nil {
		t.Fatal(err)
	}
	apart := 0
	for _, row := range r.Analysis.Rows() {
		if row.Ratio.Bounded() && !row.Ratio.Contains(1) {
			apart++
		}
	}
	if len(all) != apart || apart == 0 {
		t.Errorf("%d claims of %d ratios that differ from 1", len(all), apart)
	}
	for _, o := range claim.Judge(all, s, r.Analysis) { // each by itself: narrower intervals than those that hold together
		if o.Verdict != claim.Holds {
			t.Errorf("%s: %s in the run that makes it", o.Claim.ID, o.Verdict)
		}
	}
}

func TestMetadata(t *testing.T) {
	p := Package{Title: "Results of udp-vs-tcp", Authors: []string{`A. "Author": x`}, Results: []PackedResults{{"results/udp-vs-tcp", []*account.Account{recorded(t)}}},
		Files: []string{"bin/weir-amd64", "LICENSE"}}
	for name, write := range map[string]func(io.Writer) error{"CITATION.cff": p.CFF, "ro-crate-metadata.json": p.ROCrate} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// Every entity that RO-Crate's metadata name is described, each once.
func TestROCrateIsClosed(t *testing.T) {
	p := Package{Title: "t", Authors: []string{"a", "b"}, Results: []PackedResults{{"results/x", []*account.Account{recorded(t)}}}, Files: []string{"bin/weir-amd64", "LICENSE"}}
	var b bytes.Buffer
	if err := p.ROCrate(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Graph []struct {
			ID      string `json:"@id"`
			HasPart []struct {
				ID string `json:"@id"`
			}
			Author []struct {
				ID string `json:"@id"`
			}
		} `json:"@graph"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	known := map[string]int{}
	for _, e := range doc.Graph {
		known[e.ID]++
	}
	for _, e := range doc.Graph {
		for _, part := range append(e.HasPart, e.Author...) {
			if known[part.ID] != 1 {
				t.Errorf("%s is described %d times", part.ID, known[part.ID])
			}
		}
	}
	if len(doc.Graph[1].HasPart) != 3 || len(doc.Graph[1].Author) != 2 {
		t.Errorf("%+v", doc.Graph[1])
	}
}
