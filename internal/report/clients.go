package report

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/stat"
)

// clients is the factor of how many do the same to one server at once. A probe's own
// number is that of one of them.
const clients = "clients"

// clientsNote says whose numbers these are.
const clientsNote = "The clients do this all at once to one server, each from a host of its own. The numbers are those of one of them; " +
	"all clients is what they were delivered together, and least and most are the smallest and the largest share of one."

func hasClients(t analysis.Table) bool { return clientColumns(t.Rows) != nil }

// clientColumns are what all clients together were delivered, the least and the largest
// share of one, and the jitter that one of them saw.
func clientColumns(rows []analysis.Row) []column {
	base := ""
	for _, r := range rows {
		if s, ok := r.Get("clients.delivered"); ok {
			base = s.Unit
		}
	}
	if base == "" {
		return nil
	}
	all := numbers("all clients", base, rows, middle("clients.delivered"))
	all.keep = 8
	jitter := numbers("jitter", "s", rows, middle("jitter"))
	jitter.keep = 7
	return []column{all, share("least", 6, rows, middle("clients.least")), share("most", 6, rows, middle("clients.most")), jitter}
}

// middle gets the median over blocks of a named value.
func middle(name string) func(analysis.Row) (float64, bool) {
	return func(r analysis.Row) (float64, bool) {
		s, ok := r.Get(name)
		return s.Median, ok
	}
}

// clientSweeps draws along the number of clients what the number of one of them does
// not tell: what they do together, and the worse side of what one sees.
func (p painter) clientSweeps(s analysis.Sweep) (out []figure, err error) {
	if s.Factor != clients {
		return nil, nil
	}
	together := ""
	for _, t := range s.Tables {
		for _, r := range t.Rows {
			if v, ok := r.Get("clients.delivered"); ok {
				together = v.Unit
			}
		}
	}
	did := map[string]string{"bit/s": "throughput", "packet/s": "packet rate", "1/s": "transactions"}[together]
	for _, x := range []struct {
		title, axis, base string
		get               func(analysis.Row) (float64, bool)
	}{
		{did + " of all clients together", did, together, middle("clients.delivered")},
		{"99th percentile of one client's response time", "p99", "s", func(r analysis.Row) (float64, bool) { return r.Percentile(0.99) }},
		{"jitter of one client", "jitter", "s", middle("jitter")},
		{"loss of one client's datagrams", "loss, %", "1", func(r analysis.Row) (float64, bool) {
			if _, sent := r.Get("sent"); !sent {
				return 0, false
			}
			v, ok := r.Loss()
			return 100 * v, ok
		}},
	} {
		more, err := p.sweep(s, x.title, x.axis, x.base, func(r analysis.Row) (i stat.Interval) {
			if v, ok := x.get(r); ok {
				i.Center, i.N = v, 1
			}
			return i
		})
		if err != nil {
			return out, err
		}
		out = append(out, more...)
	}
	return out, nil
}
