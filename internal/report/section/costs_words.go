package section

import (
	"strings"

	"github.com/weir-bench/weir/internal/costmodel"
	"github.com/weir-bench/weir/internal/finding"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
)

// busiest names a thread and its share of a CPU.
func busiest(b *costmodel.Busy) string {
	if b == nil {
		return ""
	}
	return say("%s, %.0f %%", finding.Describe(b.Thread).Name, 100*b.Share.Center)
}

// limits says why a thread is the limit.
func limits(b *costmodel.Busy) string {
	name := finding.Describe(b.Thread).Subject
	if b.Full {
		return say("%s is full", name)
	}
	return say("%s waits for nothing but a CPU", name)
}

// closest names the busiest thread of a network that no thread limits.
func closest(b costmodel.Bound) string {
	if b.Next == nil {
		return ""
	}
	return say(" (the busiest, %s, uses %.0f %% of a CPU)", finding.Describe(b.Next.Thread).Subject, 100*b.Next.Share.Center)
}

// whatIf says what encapsulation costs, what a path without it would give, and which run refutes that.
func whatIf(b costmodel.Bound) string {
	by, noun := perUnit(b.Unit)
	parts := []string{say("Encapsulation costs the sender %s per %s", prose.Measured(b.Encapsulation.Scaled(by), "s"), noun)}
	if b.Cost.N > 0 {
		parts[0] = say("Of the %s that a %s costs the sender, encapsulation takes %s", unit.Format(b.Cost.Center*by, "s"), noun, prose.Measured(b.Encapsulation.Scaled(by), "s"))
	}
	switch {
	case b.Bridging.N == 0:
	case resolved(b.Bridging):
		parts[0] += say(", and veths and bridges %s", prose.Measured(b.Bridging.Scaled(by), "s"))
	default:
		parts[0] += say("; veths and bridges are %s, at most %s", notResolved, unit.Format(b.Bridging.Hi*by, "s"))
	}
	switch {
	case b.Limit != nil && !b.Inside:
		parts = append(parts, say("Free encapsulation would give no throughput: %s, and does not encapsulate", limits(b.Limit)))
	case b.Why == "" && b.Limit == nil:
		parts = append(parts, say("Without it the sender's CPU would do %s the work at most; no thread is full%s, so throughput need not follow", timesWithin(b.Free), closest(b)))
	case b.Why == "":
		parts = append(parts, say("Free encapsulation would give at most %s, because %s", timesWithin(b.Free), limits(b.Limit)), afterwards(b))
		if b.FreeAll.N > 0 {
			parts = append(parts, say("A free network would give %s", times(b.FreeAll)))
		}
	default:
		parts = append(parts, say("No bound: %s", b.Why))
		if b.Why == costmodel.NoneFull {
			parts[1] += closest(b)
		}
		if b.OfMeasured.N > 0 {
			parts = append(parts, say("The sum of the segments is %s of the measured path", timesWithin(b.OfMeasured)))
		}
	}
	if b.Saved.Lo > 0 {
		parts = append(parts, say("At %s a host would save %s", rate(b), prose.Measured(b.Saved, "core")))
	}
	if b.Why == "" && b.Sum.N == 0 && b.Cost.N > 0 {
		parts = append(parts, say("The run lacks bridge, which checks the sum of the segments"))
	}
	parts = append(parts, refuting(b))
	return say("%s.", strings.Join(prose.NonEmpty(parts...), say(". ")))
}

func rate(b costmodel.Bound) string {
	if b.Unit == "s/byte" {
		return unit.Format(8*b.Rate, "bit/s")
	}
	return unit.Format(b.Rate, "packet/s")
}

// afterwards names the next limit.
func afterwards(b costmodel.Bound) string {
	if b.Most > 0 {
		return say("From %s× on, %s would be the limit", prose.Fixed(b.Most, 2), finding.Describe(b.Next.Thread).Subject)
	}
	return say("The same thread would remain the limit, with the rest of the path")
}

// refuting states the run that would refute a bound, and its verdict if this run contains it.
func refuting(b costmodel.Bound) string {
	if !b.Free.Bounded() || !b.Testable() {
		return ""
	}
	gained, delivered := b.Gained()
	what := ""
	if !delivered {
		what = say(" of work per CPU time")
	}
	test := say("Refuted if bridging without VXLAN (%s) gains more than %s×%s", costmodel.Without, prose.Fixed(b.Free.Hi, 2), what)
	if b.Verdict == "" {
		return test
	}
	return say("%s: it gained %s. %s", test, prose.Times(gained), word(prose.Capital(string(b.Verdict))))
}

func hook(h costmodel.Hook) string {
	by, noun := perUnit(h.Unit)
	text := say("bridge-nf costs the sender %s per %s with no rule loaded", prose.Measured(h.Extra.Scaled(by), "s"), noun)
	if h.Share.Bounded() {
		text += say(": %.0f %% [%.0f, %.0f] of what %s adds to host", 100*h.Share.Center, 100*h.Share.Lo, 100*h.Share.Hi, h.Network)
	}
	return say("%s.", text)
}

// refusals says which models are missing, and why.
func refusals(models []costmodel.Model) (out []string) {
	for _, m := range models {
		if m.Refused != "" {
			out = append(out, say("No model of the %s on %s: %s.", word(m.End), m.Network, m.Refused))
		}
	}
	return out
}

// crossings says where the costs of two networks meet.
func crossings(all []costmodel.Crossing) (out []string) {
	for _, c := range all {
		out = append(out, say("Above %s the %s on %s costs more than on %s, below it less.", prose.Measured(c.Bytes, "byte"), word(c.End), c.A, c.B))
	}
	return out
}

// promise says what the models are for.
func promise(m costmodel.Model, wakes []costmodel.Wake) []string {
	out := []string{say("The models are of busy paths: they promise nothing for traffic that waits, where threads are woken.")}
	for _, w := range wakes {
		if m.Kind != costmodel.UDP || prose.Levels(w.Levels) != prose.Levels(m.Levels) {
			continue
		}
		text := say("%s on %s take %s the model's CPU time at both ends together, because they wake threads", traffic[w.Kind].name, w.Network, timesWithin(w.Factor))
		if w.Refused == "" {
			text += say(": %s more per %s predicts them within %.1f %%", prose.Measured(w.Extra, "s"), traffic[w.Kind].pass, 100*w.LargestError)
		} else {
			text += say(" (%s)", w.Refused)
		}
		out = append(out, say("%s.", text))
	}
	return out
}
