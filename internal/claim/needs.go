package claim

import (
	"maps"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/record"
)

// A Need is a mechanism that a claim is about. Trials in which another one did the work neither support the claim
// nor refute it.
type Need string

// needs has, for each Need, the words for it, and the fact of a trial that shows it with its value. Without a value
// any will do; without a fact no trial of weir can show the mechanism.
var needs = map[Need]struct {
	about       lang.Text
	fact, value string
}{
	"kvm":        {lang.T("guests on hardware virtualization"), record.Accelerator.Key(), "kvm"},
	"ovs-kernel": {lang.T("Open vSwitch in the kernel"), record.Datapath.Key(), "system"},
	"link":       {lang.T("a link that all networks fill"), record.Link.Key(), ""},
	"distance":   {lang.T("sites that are far apart"), record.PathDelay.Key(), ""},
	"zones":      {lang.T("machines in different zones of a cloud"), "", ""},
}

// needNames lists the needs for an error.
func needNames() string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(needs)) {
		names = append(names, string(n))
	}
	return strings.Join(names, ", ")
}

// unmet says why these trials cannot test c; empty if they can. A trial without the fact, such as one of a network
// without guests, is silent about it.
func (c Claim) unmet(samples map[string]*analysis.Sample) lang.Text {
	for _, name := range c.Needs {
		n, shown := needs[name], false
		for _, cell := range slices.Sorted(maps.Keys(samples)) {
			for _, o := range samples[cell].Observations() {
				got, ok := o[n.fact]
				if ok && n.value != "" && got != n.value {
					return lang.T("it is about %s, and here %s is %s", n.about, n.fact, got)
				}
				shown = shown || ok
			}
		}
		if !shown {
			return lang.T("it is about %s, and these trials do not show it", n.about)
		}
	}
	return ""
}
