package section

import (
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/report/doc"
	"github.com/weir-bench/weir/internal/stat"
	"github.com/weir-bench/weir/record"
)

// clients is the number of clients that load one server at once. A probe's metric is one client's.
const clients = "clients"

var clientsNote = say("All clients run at once against one server, each on a separate host. The numbers are those of one client; " +
	"all clients is their sum, and least and most are the smallest and the largest share of one client.")

func hasClients(t analysis.Table) bool { return unitOf(t.Rows, record.ClientsDelivered) != "" }

// clientColumns are the total, the least and largest share of a client, and a client's jitter.
func clientColumns(rows []analysis.Row) []doc.Filled {
	base := unitOf(rows, record.ClientsDelivered)
	if base == "" {
		return nil
	}
	return []doc.Filled{doc.Numbers("all clients", base, 8, rows, middle(record.ClientsDelivered)), doc.Share("least", 6, rows, middle(record.ClientsLeast)),
		doc.Share("most", 6, rows, middle(record.ClientsMost)), doc.Numbers("jitter", "s", 7, rows, middle(record.Jitter))}
}

// clientSweeps draws the total and one client's tail, jitter and loss over the number of clients.
func (s source) clientSweeps(w analysis.Sweep) (out []doc.Figure) {
	if w.Factor != clients {
		return nil
	}
	together := ""
	for _, t := range w.Tables {
		if u := unitOf(t.Rows, record.ClientsDelivered); u != "" {
			together = u
		}
	}
	rate := map[string]string{"bit/s": say("throughput"), "packet/s": say("packet rate"), "1/s": say("transactions")}[together]
	for _, x := range []struct {
		id, title, axis, base string
		get                   func(analysis.Row) (float64, bool)
	}{
		{"total", say("%s of all clients together", rate), rate, together, middle(record.ClientsDelivered)},
		{"p99", say("99th percentile of one client's response time"), "p99", "s", func(r analysis.Row) (float64, bool) { return r.Percentile(0.99) }},
		{"jitter", say("jitter of one client"), say("jitter"), "s", middle(record.Jitter)},
		{"loss", say("loss of one client's datagrams"), say("loss, %"), "1", func(r analysis.Row) (float64, bool) {
			if _, sent := r.Get(record.Sent); !sent {
				return 0, false
			}
			v, ok := r.Loss()
			return 100 * v, ok
		}},
	} {
		out = append(out, s.sweep(w, x.id, x.title, x.axis, x.base, 0, func(r analysis.Row) (i stat.Interval) {
			if v, ok := x.get(r); ok {
				i.Center, i.N = v, 1
			}
			return i
		})...)
	}
	return out
}
