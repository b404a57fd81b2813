package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
	"github.com/weir-bench/weir/internal/sample"
)

// kept are the last words of the counters that findings and explanations read: of hosts, then of nodes.
var kept = []string{"dropped", "processed", "net_rx", "idle", "periods", "throttled",
	"InReceives", "InDelivers", "InHdrErrors", "InAddrErrors", "InNoRoutes", "IPReversePathFilter", "InOctets", "ForwDatagrams", "OutForwDatagrams", "ReasmReqds", "ReasmOKs", "FragCreates", "OutDiscards",
	"InDatagrams", "RcvbufErrors", "InCsumErrors", "RetransSegs", "TCPBacklogDrop", "TCPRcvQDrop", "TCPOFODrop", "PFMemallocDrop", "RcvPruned",
	"InCEPkts", "InECT0Pkts", "InECT1Pkts", "InNoECTPkts", "TCPSACKReorder", "ListenOverflows", "PassiveOpens", "TCPDSACKRecv"}

// A Parser reads Trials from their files, for readers that hold those of a large run at the same time. It keeps only
// the counters that they need, without Read, and equal names and queues once: a quiet queue of every device has no
// counts. It reads files exactly as weir writes them, in a tenth of the time of encoding/json, and leaves others to that.
type Parser struct {
	b        []byte // the rest of the file
	names    map[string]string
	counters map[string]string // names; "" for counters that are not kept
	queues   map[Queue]*Queue
	path     []Hop // of the current trial
}

// Parse reads what findings need of a Trial.
func (p *Parser) Parse(b []byte) (*Trial, error) {
	var t Trial
	if p.trial(b, &t) {
		return &t, checkFormat(t.Format)
	}
	whole, err := Parse(b)
	if err != nil {
		return nil, err
	}
	if b, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	if t = (Trial{}); !p.trial(b, &t) {
		return nil, errors.New("evidence is not as weir writes it")
	}
	return &t, nil
}

// trial returns false if b is not as weir writes it.
func (p *Parser) trial(b []byte, t *Trial) bool {
	if p.names == nil {
		p.names, p.counters, p.queues = map[string]string{}, map[string]string{}, map[Queue]*Queue{}
	}
	p.b = b
	return p.next(`{"format":`) && p.integer(&t.Format) &&
		p.next(`,"protocol":`) && p.name(&t.Protocol) &&
		p.next(`,"seconds":`) && p.number(&t.Seconds) &&
		p.next(`,"window":`) && p.number(&t.Window) &&
		p.next(`,"sender":`) && p.end(&t.Sender) &&
		p.next(`,"receiver":`) && p.end(&t.Receiver) &&
		p.next(`,"path":`) && p.hops(&t.Path) &&
		p.next(`,"nodes":`) && p.places(&t.Nodes) &&
		p.next(`,"hosts":`) && p.places(&t.Hosts) &&
		p.next(`,"read":`) && p.lists(nil) &&
		(!p.next(`,"carriers":`) || p.lists(&t.Carriers)) &&
		(!p.next(`,"settings":`) || p.name(&t.Settings)) &&
		(!p.next(`,"event":`) || p.event(&t.Event)) && p.next("}") && len(p.b) == 0
}

// event reads the last part of a file. Few runs have events, so encoding/json does.
func (p *Parser) event(to **Event) bool {
	last := len(p.b) - 1
	*to = new(Event)
	if last < 0 || bounds.JSON(p.b[:last], *to) != nil {
		return false
	}
	p.b = p.b[last:]
	return true
}

func (p *Parser) end(e *End) bool {
	return p.next(`{"node":`) && p.name(&e.Node) &&
		p.next(`,"host":`) && p.name(&e.Host) &&
		(!p.next(`,"cpus":`) || p.list("[", "]", func() bool {
			e.CPUs = append(e.CPUs, 0)
			return p.integer(&e.CPUs[len(e.CPUs)-1])
		})) &&
		(!p.next(`,"cpu":`) || p.number(&e.CPU)) &&
		(!p.next(`,"wait":`) || p.number(&e.Wait)) &&
		(!p.next(`,"tcp":`) || p.tcp(&e.TCP)) && p.next("}")
}

func (p *Parser) tcp(to **TCP) bool {
	t := new(TCP)
	*to = t
	return p.next(`{"busy":`) && p.number(&t.Busy) &&
		p.next(`,"rwndLimited":`) && p.number(&t.RwndLimited) &&
		p.next(`,"sndbufLimited":`) && p.number(&t.SndbufLimited) &&
		p.next(`,"segmentsOut":`) && p.number(&t.SegmentsOut) &&
		p.next(`,"retransmitted":`) && p.number(&t.Retransmitted) &&
		(!p.next(`,"duplicates":`) || p.number(&t.Duplicates)) &&
		(!p.next(`,"reordered":`) || p.number(&t.Reordered)) &&
		(!p.next(`,"cwnd":`) || p.number(&t.Window)) && p.next("}")
}

func (p *Parser) hops(path *[]Hop) bool {
	p.path = p.path[:0]
	ok := p.list("[", "]", func() bool {
		var h Hop
		ok := p.next(`{"in":`) && p.name(&h.In) &&
			p.next(`,"dev":`) && p.name(&h.Dev) &&
			(!p.next(`,"by":`) || p.name(&h.By))
		h.Out = p.next(`,"out":true`)
		ok = ok && p.next(`,"data":`) && p.flow(&h.Data) &&
			p.next(`,"back":`) && p.flow(&h.Back) &&
			(!p.next(`,"queue":`) || p.queue(&h.Queue)) && p.next("}")
		p.path = append(p.path, h)
		return ok
	})
	*path = slices.Clone(p.path)
	return ok
}

func (p *Parser) flow(f *Flow) bool {
	return p.next(`{"packets":`) && p.number(&f.Packets) &&
		p.next(`,"bytes":`) && p.number(&f.Bytes) &&
		(!p.next(`,"drops":`) || p.number(&f.Drops)) &&
		(!p.next(`,"errors":`) || p.number(&f.Errors)) && p.next("}")
}

func (p *Parser) queue(to **Queue) bool {
	var q Queue
	ok := p.next(`{"kind":`) && p.name(&q.Kind) &&
		p.next(`,"packets":`) && p.number(&q.Packets) &&
		p.next(`,"bytes":`) && p.number(&q.Bytes) &&
		(!p.next(`,"drops":`) || p.number(&q.Drops)) &&
		(!p.next(`,"overlimits":`) || p.number(&q.Overlimits)) &&
		(!p.next(`,"requeues":`) || p.number(&q.Requeues)) && p.next("}")
	if p.queues[q] == nil {
		p.queues[q] = &q
	}
	*to = p.queues[q]
	return ok
}

// places reads counters by node or host.
func (p *Parser) places(to *map[string]sample.Counters) bool {
	*to = map[string]sample.Counters{}
	return p.list("{", "}", func() bool {
		var at string
		c := sample.Counters{}
		ok := p.name(&at) && p.next(":") && p.list("{", "}", func() bool {
			name, ok := p.counter()
			var v float64
			if ok = ok && p.next(":") && p.number(&v); name != "" {
				c[name] = v
			}
			return ok
		})
		(*to)[at] = c
		return ok
	})
}

// counter reads the name of a counter, "" if it is not kept.
func (p *Parser) counter() (name string, ok bool) {
	b := p.quoted()
	if name, ok = p.counters[string(b)]; ok {
		return name, true
	}
	if json.Unmarshal(b, &name) != nil {
		return "", false
	}
	if !slices.Contains(kept, name[strings.LastIndexByte(name, '.')+1:]) {
		name = ""
	}
	p.counters[string(b)] = name
	return name, true
}

// lists reads names by place; nil drops them.
func (p *Parser) lists(to *map[string][]string) bool {
	if to != nil {
		*to = map[string][]string{}
	}
	return p.list("{", "}", func() bool {
		var at string
		var all []string
		ok := p.name(&at) && p.next(":") && p.list("[", "]", func() bool {
			var one string
			ok := p.name(&one)
			if to != nil {
				all = append(all, one)
			}
			return ok
		})
		if to != nil {
			(*to)[at] = all
		}
		return ok
	})
}

// list reads what is between two brackets, or null, with one that reads an element.
func (p *Parser) list(from, to string, one func() bool) bool {
	if p.next("null") {
		return true
	}
	if !p.next(from) {
		return false
	}
	if p.next(to) {
		return true
	}
	for more := true; more; more = p.next(",") {
		if !one() {
			return false
		}
	}
	return p.next(to)
}

// name reads a string and shares one copy between trials.
func (p *Parser) name(s *string) (ok bool) {
	b := p.quoted()
	if *s, ok = p.names[string(b)]; ok {
		return true
	}
	if json.Unmarshal(b, s) != nil {
		return false
	}
	p.names[string(b)] = *s
	return true
}

func (p *Parser) integer(v *int) bool { return json.Unmarshal(p.digits(), v) == nil }

// number reads a number, mostly a small integer.
func (p *Parser) number(v *float64) bool {
	n, i := 0, 0
	for ; i < len(p.b) && i < 15 && '0' <= p.b[i] && p.b[i] <= '9'; i++ {
		n = 10*n + int(p.b[i]-'0')
	}
	if i > 0 && i < len(p.b) && strings.IndexByte(",]}", p.b[i]) >= 0 && (p.b[0] != '0' || i == 1) {
		*v, p.b = float64(n), p.b[i:]
		return true
	}
	b := p.digits()
	x, err := strconv.ParseFloat(string(b), 64)
	*v = x
	return err == nil && json.Valid(b) // Go accepts numbers that JSON does not
}

func (p *Parser) digits() (b []byte) {
	n := max(0, bytes.IndexAny(p.b, ",]}"))
	b, p.b = p.b[:n], p.b[n:]
	return b
}

// next skips s if the file continues with it.
func (p *Parser) next(s string) bool {
	if len(p.b) < len(s) || string(p.b[:len(s)]) != s {
		return false
	}
	p.b = p.b[len(s):]
	return true
}

// quoted returns a string with its quotes; nil if the file does not continue with one.
func (p *Parser) quoted() (b []byte) {
	for i := 1; i < len(p.b) && p.b[0] == '"'; i++ {
		switch p.b[i] {
		case '\\':
			i++
		case '"':
			b, p.b = p.b[:i+1], p.b[i+1:]
			return b
		}
	}
	return nil
}
