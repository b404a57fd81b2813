package finding

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/prose"
	"github.com/weir-bench/weir/record"
)

var queueDrop = Rule{
	ID:    atQueue,
	Title: "A queue drops packets",
	Doc: "A queueing discipline on the path drops more than 0.1 % of its packets: it is shorter than the bursts it gets. " +
		"Its counter counts nothing else, so little is enough. Drops of the study's own loss between hosts do not count." + majority,
	lossy: lost(atQueue, func(t *analysis.Table, r *analysis.Row, l *loss) Finding {
		f := Finding{
			Text: lang.T("the queue of %s dropped %s of its packets: %s of %s", l.place, prose.PercentWithin(l.Share), prose.Thousands(l.lost), prose.Thousands(l.of)),
			// A limit without bursts drops too, but then it also holds packets back: see queue-limited.
			Remedy: lang.T("give the queue more room, or send in smaller bursts; a filter of the queue can drop them, too: tc -s filter show"),
		}
		switch {
		case r.Wire.Link > 0 && l.hop.Queue.Kind == "tbf":
			f.Remedy = lang.T("the study limits the link: send less than it carries")
			if level := t.Config["link"]; level != "" && level != "none" {
				f.Test = &Test{Levels: map[string]string{"link": "none"}}
			}
		case r.Wire.Link == 0 && !record.PathDelay.In(r.Observed): // no step of the study would be replaced
			f.Test = &Test{Fix: []plan.Step{{In: l.hop.In, Rate: &plan.Rate{Dev: l.hop.Dev}}}}
		}
		return f
	}),
}
