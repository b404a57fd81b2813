package job

import (
	"context"
	"slices"

	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/claim"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/network"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/study"
)

// notInstalled names the programs that the claim's networks and probes need and this machine lacks, with
// the remedies; "" if it has all. The run would find the same, after minutes in the study's other networks.
func notInstalled(s study.Study, c claim.Claim) (lang.Text, error) {
	p, err := catalog.Prepare(s, place.Lab.Kernel())
	if err != nil {
		return "", failure.Usage.Of(err)
	}
	var why []lang.Text
	need := func(t facts.ToolInfo) {
		if facts.Find(t.Program) != "" {
			return
		}
		_, _, err := t.Find(context.Background()) // it runs nothing if the program is missing
		if err != nil && !slices.Contains(why, lang.Stored(err.Error())) {
			why = append(why, lang.Stored(err.Error()))
		}
	}
	for _, cell := range c.Cells() {
		n := p.Networks[cell.Network]
		built, err := network.Build(n.Driver, n.Topology)
		if err != nil {
			return "", failure.Usage.Of(err)
		}
		for _, program := range built.Programs() {
			need(facts.Lookup(program))
		}
		pr, err := p.Probe(cell.Probe, cell.Levels)
		if err != nil {
			return "", failure.Usage.Of(err)
		}
		for _, t := range pr.Info().Tools {
			need(t)
		}
	}
	return lang.Join(why, lang.T("; ")), nil
}
