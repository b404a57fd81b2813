package section

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/report/doc"
)

func methodSection(s source) []doc.Section {
	x := doc.Section{ID: "method", Title: say("Method"), Fold: true, In: []doc.Medium{doc.Page, doc.Markdown}}
	p := s.p
	if len(p.Tables) == 0 {
		return []doc.Section{x}
	}
	if p.Unpaired {
		x.Notes = unpairedMethod(p)
		return []doc.Section{x}
	}
	x.Notes = []string{
		say("A trial is one measurement of one network. A block is one pass through all of them in random order. Blocks are the samples; requests and packets inside a trial are not."),
		say("A value is the median over blocks. Its own interval has 95 % confidence and also allows for correlation between neighboring blocks."),
	}
	if p.Pairs > 0 {
		x.Notes = append(x.Notes, pooled(p))
	}
	switch {
	case p.Episodes > 1:
		x.Notes = append(x.Notes, say("The run has %d episodes: each builds all networks, engines and connections anew, so that the blocks also show how builds differ.", p.Episodes))
	case p.Episodes == 1:
		x.Notes = append(x.Notes, say("The run built its networks once: no interval covers how builds differ."))
	}
	if p.Comparisons > 0 {
		x.Notes = append(x.Notes,
			say("A ratio divides %s by %s of the same block, so that slow changes of the machine affect both alike. The printed ratio is the Hodges-Lehmann estimate over all blocks. Its interval is the wider of two: that of the Wilcoxon signed-rank test, which assumes independent blocks and log ratios that are symmetric around their center but not normally distributed, and a t interval that allows for correlation between neighboring blocks. A note says so where neighboring blocks are correlated, or too few to show it. No interval covers differences between runs.", dividend(p), divisor(p)),
			say("All %d ratios hold together with %s %% confidence: each interval has %s %% (Bonferroni).", p.Comparisons, prose.Trim(100*p.Confidence), prose.Trim(100*p.Each)),
			say("~ means that the interval contains 1: this run shows no difference. It does not prove that none exists."))
	}
	x.Notes = append(x.Notes, cpuMethod(p)...)
	x.Notes = append(x.Notes,
		say("Percentiles come from the merged histograms of all ok trials; weir never averages percentiles. They cover the requests without time stamps, because stamps lengthen the slowest requests most; the median over blocks covers all requests, and so do the percentiles of trials that do not separate the two. weir omits a percentile when fewer than ten responses lie beyond it. Its interval has 95 % confidence by itself, and rests on how much the share of responses beyond it differs from block to block, so a tail that few blocks make up is uncertain however many responses it has."),
		say("Invalid, failed and skipped trials are shown and not counted. A trial is disturbed when, together with its neighbors in time, programs outside the run used more than 15 % of the CPUs (0.3 to 1 core) or the hypervisor took more than 5 % (0.1 to 0.3 of a core), or when the clock frequency was below 90 % of the usual one. Disturbed trials are not counted either, unless they affect more than a third of a comparison's blocks or leave too few for an interval: then all count, with a mark, and the interval grows on both sides by 15 % of the share of the machine that others used, because a constant load also changes the ratio itself."))
	return []doc.Section{x}
}

// unpairedMethod explains the numbers of imported results.
func unpairedMethod(p *analysis.Run) []string {
	out := []string{say("The results come from outputs of other tools, whose bytes are stored with them. A sample is one result; a value is the geometric mean of a cell's results, with a t interval of their logarithms that has 95 % confidence by itself.")}
	if p.Comparisons > 0 {
		out = append(out,
			say("A ratio divides the geometric mean of a network by that of %s. No block pairs them: a change of the machine between two files is part of the ratio, and the interval covers it only as far as the files of a cell differ for the same reason. "+
				"The interval is a t interval of logarithms. Its standard error comes from the spread that all networks of the table have in common, or from that of the two networks if it is larger, because the few results of one network estimate their own spread poorly. A network with one result has a ratio without an interval.", p.Baseline),
			say("All %d ratios hold together with %s %% confidence: each interval has %s %% (Bonferroni).", p.Comparisons, prose.Trim(100*p.Confidence), prose.Trim(100*p.Each)),
			say("~ means that the interval contains 1: these results show no difference. It does not prove that none exists."))
	}
	return out
}

// readingSection explains the signs of the tables on media without the method section.
func readingSection(s source) []doc.Section {
	p := s.p
	if p.Comparisons == 0 {
		return nil
	}
	together := say("All %d intervals hold together with %g %% confidence", p.Comparisons, 100*p.Confidence)
	if p.Comparisons == 1 {
		together = say("The interval has %g %% confidence", 100*p.Confidence)
	}
	if p.Unpaired {
		return []doc.Section{{ID: "reading", About: say("× is the ratio to %s, of geometric means, unpaired; [ ] is its interval. %s. ~ means no difference was shown: the interval contains 1.", p.Baseline, together), In: []doc.Medium{doc.Terminal}}}
	}
	text := say("× is the ratio to %s of the same block; [ ] is its interval. %s. ~ means no difference was shown: the interval contains 1.", divisor(p), together)
	if p.Pairs > 0 {
		text = prose.Sentences(text, pooled(p))
	}
	return []doc.Section{{ID: "reading", About: text, In: []doc.Medium{doc.Terminal}}}
}

// dividend names what ratios divide.
func dividend(p *analysis.Run) string {
	if p.Contrasts == nil {
		return say("a network")
	}
	return say("a value")
}

// divisor names what ratios divide by.
func divisor(p *analysis.Run) string {
	switch {
	case p.Baseline == "" || p.Chains != nil && len(p.Networks) < 2:
		return say("the value after ÷")
	case p.Chains == nil && p.Contrasts == nil:
		return p.Baseline
	}
	return say("%s, or to the value after ÷,", p.Baseline)
}

// pooled explains a block's value if the study measures all pairs of hosts.
func pooled(p *analysis.Run) string {
	value := say("A block's value is the median over its %s of hosts, and a ratio divides the medians over the pairs that both networks have: the sample is the block, not the pair.", prose.Count(p.Pairs, "pair"))
	for _, t := range p.Tables {
		for _, r := range t.Rows {
			if slices.ContainsFunc(r.Points, func(p analysis.Point) bool { return p.Swapped }) {
				return prose.Sentences(value, say("Client and server of a pair change places in half of the blocks."))
			}
		}
	}
	return prose.Sentences(value, say("Each pair is measured in one direction: the host that the run lists first is the client."))
}

func againSection(s source) []doc.Section {
	x := doc.Section{ID: "again", Title: say("Run it again"), In: []doc.Medium{doc.Page}, Code: shell(s.Command)}
	if len(s.Study) > 0 && !s.Unpaired {
		x.About = say("These commands write the study of this run to a file and run it.")
		x.Code = heredoc(account.StudyFile, string(s.Study)) + x.Code
	}
	if s.Seed != "" {
		x.Facts = []doc.Fact{{Key: say("seed of the order"), Value: s.Seed}}
	}
	return []doc.Section{x}
}

// heredoc is a shell's command that writes a text to a file.
func heredoc(file, text string) string {
	end := "END"
	for lines := strings.Split(text, "\n"); slices.Contains(lines, end); {
		end += "."
	}
	return fmt.Sprintf("cat > %s <<'%s'\n%s\n%s\n", file, end, strings.TrimRight(text, "\n"), end)
}

// shell quotes a command for pasting.
func shell(argv []string) string {
	var out []string
	for _, a := range argv {
		if a == "" || strings.ContainsAny(a, " \t\n\"'`$&|;<>(){}*?[]#~\\!") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}
