package render

import (
	"html/template"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/lang"
)

// glossary has the terms of a page that not every reader knows, in a sentence each; docs/glossary.md has all of them.
var glossary = []struct{ term, means lang.Text }{
	{lang.T("block"), lang.T("One pass through all networks and probes in random order. Blocks are the samples of every interval.")},
	{lang.T("trial"), lang.T("One measurement of one network.")},
	{lang.T("interval"), lang.T("A confidence interval: what these results leave open.")},
	{lang.T("baseline"), lang.T("The network that the others are divided by.")},
	{lang.T("disturbed"), lang.T("Something outside the run used the machine meanwhile.")},
	{lang.T("wake-up"), lang.T("The time from a packet's arrival until the program that waits for it runs.")},
	{lang.T("softirq"), lang.T("Work for packets that the kernel does on the CPU that received them, before any program.")},
	{"netfilter", lang.T("The kernel's hooks for packet filters and address translation.")},
	{lang.T("header ceiling"), lang.T("The rate that the headers leave of a link: arithmetic, not a measurement.")},
	{"veth", lang.T("A pair of virtual Ethernet devices: what enters one leaves the other.")},
	{"VXLAN", lang.T("Ethernet frames inside UDP datagrams, between hosts.")},
	{"GSO", lang.T("Segmentation offload: one large packet passes the stack once, and is cut at its end.")},
	{"GRO", lang.T("Receive offload: packets of a flow are joined before the IP stack sees them.")},
	{"MTU", lang.T("The size of the largest packet that a device passes.")},
	{lang.T("NIC"), lang.T("The hardware that puts frames on a wire.")},
	{lang.T("datagram"), lang.T("One message of UDP.")},
	{"overlay", lang.T("A network whose packets travel inside those of another one.")},
	{"pod", lang.T("Containers that share one network namespace, with an address of its own.")},
	{"XDP", lang.T("Programs that see a frame at the driver, before the kernel's stack.")},
	{"conntrack", lang.T("The kernel's table of connections, on which filters and address translation rest.")},
	{"sendmmsg", lang.T("A system call that hands the kernel many datagrams at once.")},
	{"Hodges-Lehmann", lang.T("A robust center: the median of all pairwise means.")},
	{"Bonferroni", lang.T("Each of several intervals is wider, so that all hold together.")},
}

// findTerms returns what finds the words of the glossary in a language.
func (v *view) findTerms() (all []*regexp.Regexp) {
	for _, g := range glossary {
		word := v.in(string(g.term))
		pattern := "(" + regexp.QuoteMeta(word) + ")"
		if word == g.term.String() { // a whole word, and no part of a name or flag: vxlan-overlay, --blocks
			pattern = `(?i)(?:^|[^\w-])(` + regexp.QuoteMeta(word) + `s?)(?:$|[^\w-])`
		}
		all = append(all, regexp.MustCompile(pattern))
	}
	return all
}

// gloss marks the first of each term on a page with its meaning.
func (v *view) gloss(text string) template.HTML {
	type place struct{ from, to, term int }
	var places []place
	for i, term := range v.terms {
		if term == nil { // told
			continue
		}
		if at := term.FindStringSubmatchIndex(text); at != nil {
			places = append(places, place{at[2], at[3], i})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return a.from - b.from })
	var b strings.Builder
	end := 0
	for _, p := range places {
		if p.from < end {
			continue
		}
		v.terms[p.term] = nil
		b.WriteString(template.HTMLEscapeString(text[end:p.from]) + "<abbr title=\"" + template.HTMLEscapeString(v.in(string(glossary[p.term].means))) + "\">" +
			template.HTMLEscapeString(text[p.from:p.to]) + "</abbr>")
		end = p.to
	}
	return template.HTML(b.String() + template.HTMLEscapeString(text[end:]))
}
