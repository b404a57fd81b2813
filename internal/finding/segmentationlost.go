package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/internal/unit"
)

var segmentationLost = Rule{
	ID:    "segmentation-lost",
	Title: "Packets are cut to wire size on the path",
	Doc: "With segmentation offload one packet stands for many segments of TCP, or datagrams of a UDP buffer (UDP_SEGMENT), until a device cannot do it: the kernel cuts the packet before that device, and all that follows costs per small packet. " +
		"The rule compares neighboring devices: more than 4,500 bytes per packet before, less than 3,000 after. Healthy paths carry tens of kB on every device. " +
		"A physical device with its offloads on is left out, because drivers count what is on the wire; so is the token bucket of a link whose rate the study sets, which cuts packets to limit them, and a cell with a background load, whose packets share the devices." + majority,
	Check: measured(func(t *analysis.Table, r *analysis.Row) []Finding {
		c := cutAt(r)
		if c == nil || loaded(t) {
			return nil
		}
		off := segmenting(settings(r), last(r).Evidence, c.after)
		if byPlan(settings(r), c.after, off) {
			return nil
		}
		f := Finding{Severity: Note, Place: c.after.In + " " + c.after.Dev, Number: &c.times,
			Text: lang.T("segmentation is lost at %s %s: %s B per packet on %s, %s B on %s, %s times as many packets",
				c.after.In, c.after.Dev, prose.Thousands(c.before.Data.Size()), c.before.Dev, prose.Thousands(c.after.Data.Size()), c.after.Dev, prose.Short(c.times.Value.Center))}
		if !c.after.Out && c.before.In == c.after.In {
			f.Place = c.before.In + " " + c.before.Dev
			f.Text = lang.T("segmentation is lost between %s %s and %s %s: %s B per packet on %s, %s B on %s, %s times as many packets",
				c.before.In, c.before.Dev, c.after.In, c.after.Dev, prose.Thousands(c.before.Data.Size()), c.before.Dev, prose.Thousands(c.after.Data.Size()), c.after.Dev, prose.Short(c.times.Value.Center))
			f.Remedy = lang.T("look for what cuts them there, such as a queue of a device to which a filter sends them: tc filter show, tc qdisc show")
			f.Untestable = lang.T("weir cannot know what cuts them")
		}
		if q := c.after.Queue; c.after.Out && q != nil && q.Kind == "tbf" { // it cuts what is larger than its burst (tbf_segment, net/sched/sch_tbf.c)
			f.Text += lang.T("; its queueing discipline (tbf) cuts packets that are larger than its burst")
			if d, known := deviceOf(settings(r), c.after.In, c.after.Dev); known && d.Burst > 0 {
				f.Text += lang.Text(", " + unit.Format(d.Burst, "byte"))
			}
			f.Remedy = lang.T("let it pass more than 64 kB at once (burst)")
			f.Test = lessCPU(r, 0.9, plan.Step{In: c.after.In, Rate: &plan.Rate{Dev: c.after.Dev}})
		}
		f.switchOn(r, c.after, off)
		if c.joined.Dev != "" {
			f.Evidence = append(f.Evidence, lang.T("%s joins them again: %s B per packet on %s", c.joined.In, prose.Thousands(c.joined.Data.Size()), c.joined.Dev))
		}
		return []Finding{f}
	}),
}
