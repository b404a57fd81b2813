package plan

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Mermaid draws the devices between two ends as a mermaid.js.org flow chart, which GitHub renders
// in Markdown: hosts with their pods and devices, and what carries packets between devices.
func (p Plan) Mermaid(w io.Writer, from, to End) error {
	hops := p.Trace(from, to)
	if hops == nil {
		return fmt.Errorf("plan: no step connects %s in %s to %s in %s", from.Dev, from.Node, to.Dev, to.Node)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "flowchart LR")
	host := map[string]string{} // by pod
	for _, e := range p.Ends {
		if e.Node != e.Host {
			host[e.Node] = e.Host
		}
	}
	var places []string // hosts in the order of the hops
	for _, h := range hops {
		place := cmp.Or(host[h.In], h.In)
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	plain := strings.NewReplacer("-", "_", ".", "_") // mermaid could read a "-" as a line
	node := func(h Hop) string { return h.In + "_" + plain.Replace(h.Dev) }
	for _, place := range places {
		fmt.Fprintf(b, "  subgraph %s\n", place)
		for _, h := range hops {
			switch {
			case h.In == place:
				fmt.Fprintf(b, "    %s[%s]\n", node(h), h.Dev)
			case host[h.In] == place:
				fmt.Fprintf(b, "    subgraph %s\n      %s[%s]\n    end\n", h.In, node(h), h.Dev)
			}
		}
		fmt.Fprintln(b, "  end")
	}
	for i, h := range hops[1:] {
		line := "---"
		if h.By != "" {
			line += "|" + h.By + "|"
		}
		fmt.Fprintf(b, "  %s %s %s\n", node(hops[i]), line, node(h))
	}
	return b.Flush()
}
