package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/evidence"
	"github.com/weir-bench/weir/record"
)

// A queue that holds packets back limits a stream only if the stream would be faster without it.
func TestQueueLimitsTheRate(t *testing.T) {
	queue := func(limit, burst float64) func(observed) {
		return func(o observed) {
			o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "htb", Packets: sentPackets, Overlimits: 3000}
			o.device("h1", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit, d.Burst = "htb", limit, burst })
			o.set(record.Window, "s", 0.05)
		}
	}
	with := func(f func(observed), more func(observed)) func(observed) {
		return func(o observed) { f(o); more(o) }
	}
	classes := func(rates ...float64) func(observed) {
		return with(queue(rates[len(rates)-1], 0), func(o observed) {
			o.device("h1", "eth0", func(d *evidence.Device) { d.Classes = rates })
		})
	}
	pace := func(o observed) { o.Observed["rate"] = "4e+08" }
	// As in sound, the baseline carries 1 Gbit/s and the network half of that.
	for _, c := range []struct {
		name   string
		change func(observed)
		want   string // the end of the text; "" for no finding
	}{
		{"a rate that the stream keeps", queue(5.5e8, 0), "limits the rate to 550 Mbit/s: it held packets back 36,000 times and dropped 0 of 120,000"},
		{"a rate that it does not reach", queue(2e9, 0), ""},
		{"a rate above what the baseline carries", queue(1.5e9, 0), ""},
		{"a rate above the pace of the probe", with(queue(5.5e8, 0), pace), ""},
		{"the class that it fills", classes(1e8, 5.5e8, 3e10), "limits the rate to 550 Mbit/s: it held packets back 36,000 times and dropped 0 of 120,000"},
		{"no class that it fills", classes(1e8, 3e10), ""},
		{"a rate that a stream of 62 % of it exceeds in bursts", queue(8e8, 0), ""},
		{"a rate that a stream of 83 % of it exceeds in bursts", queue(6e8, 0), ""},
		{"a rate that the stream fills with its headers", with(queue(5.8e8, 0), func(o observed) {
			o.hop("h1", "eth0").Queue.Packets, o.hop("h1", "eth0").Queue.Bytes = 30*sentPackets, 30*sentPackets*1514
		}), "limits the rate to 580 Mbit/s: it held packets back 36,000 times and dropped 0 of 120,000"},
		{"a rate that the stream keeps, in a queue that hardly ever held it back", with(queue(5.5e8, 0), func(o observed) { o.hop("h1", "eth0").Queue.Overlimits = 100 }), ""},
		{"an unknown rate that bursts exceed", queue(0, 0), ""},
		{"an unknown rate of a queue that was full", with(queue(0, 0), func(o observed) { o.hop("h1", "eth0").Queue.Drops = 2 }), "limits the rate: it held packets back 36,000 times and dropped 24 of 120,024"},
		{"the slower one of two", with(queue(5.5e8, 0), func(o observed) {
			o.hop("h1p1", "eth0").Queue = &evidence.Queue{Kind: "htb", Packets: sentPackets, Overlimits: 900}
			o.device("h1p1", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit = "htb", 8e8 })
		}), "limits the rate to 550 Mbit/s: it held packets back 36,000 times and dropped 0 of 120,000"},
		{"a stream that the receiver's window holds below the rate", with(queue(8e8, 0), func(o observed) { o.Sender.TCP.RwndLimited = o.Sender.TCP.Busy }), ""},
		{"a stream below the rate that the queue hardly ever held back", with(queue(8e8, 0), func(o observed) { o.hop("h1", "eth0").Queue.Overlimits = 100 }), ""},
		{"an unknown rate and a probe that paces itself", with(with(queue(0, 0), pace), func(o observed) { o.hop("h1", "eth0").Queue.Drops = 2 }), ""},
		{"a network as fast as the baseline", with(queue(5.5e8, 0), func(o observed) { o.Values[0].Value *= 2 }), ""},
		{"a discipline that keeps no rate", with(queue(0, 0), func(o observed) { o.hop("h1", "eth0").Queue.Kind = "noqueue" }), ""},
		{"a discipline that sends when TCP asks it to", with(queue(0, 0), func(o observed) { o.hop("h1", "eth0").Queue.Kind = "fq" }), ""},
		{"a large burst", with(queue(5.5e8, 2.56e8), func(o observed) { o.hop("h1", "eth0").Queue.Overlimits = 100 }),
			"limits the rate to 550 Mbit/s: it held packets back 1,200 times and dropped 0 of 120,000; before, it lets 256 MB pass at once, so trials depend on what was sent before them"},
	} {
		got := ""
		for _, f := range Check(analysis.New(watched("tcp", c.change))) {
			if f.Rule == "queue-limited" {
				got = f.Text.String()
			}
		}
		if want := "a queueing discipline (htb) on h1 eth0 " + c.want; c.want == "" && got != "" || c.want != "" && got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// A queue on the way back limits TCP if its acknowledgements fill it, and the baseline's would.
func TestQueueLimitsAcknowledgements(t *testing.T) {
	queue := func(limit, carried, baseline float64, more ...func(observed)) (found string) {
		rs, opts := watched("tcp", func(o observed) {
			for _, f := range more {
				f(o)
			}
			h := o.hop("h2", "eth0")
			h.Queue, h.Back.Bytes = &evidence.Queue{Kind: "tbf", Overlimits: 900}, carried/8*o.Seconds
			o.device("h2", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit = "tbf", limit })
		})
		for _, r := range rs {
			if r.Config["network"] == "host" {
				o := opts.Evidence[r.Trial]
				o.Path[0].Back.Bytes = baseline / 8 * o.Seconds
			}
		}
		for _, f := range Check(analysis.New(rs, opts)) {
			if f.Rule == "queue-limited" {
				found = f.Place + ": " + f.Text.String()
			}
		}
		return found
	}
	want := "h2 eth0: a queueing discipline (tbf) on h2 eth0 limits TCP's acknowledgements to 2 Mbit/s: it held them back 10,800 times; the baseline's take 25 Mbit/s"
	if got := queue(2e6, 1.9e6, 25e6); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, carried := range []float64{0.5e6, 1.4e6} { // a stream that something else slows down, such as a small window
		if got := queue(2e6, carried, 25e6); got != "" {
			t.Errorf("a queue that is not filled: %q", got)
		}
	}
	if got := queue(30e6, 25e6, 25e6); got != "" {
		t.Errorf("a queue that has room for the baseline's: %q", got)
	}
	if got := queue(2e6, 1.9e6, 25e6, func(o observed) {
		o.hop("h1", "eth0").Queue = &evidence.Queue{Kind: "htb", Packets: sentPackets, Overlimits: 3000}
		o.device("h1", "eth0", func(d *evidence.Device) { d.Qdisc, d.Limit = "htb", 5.5e8 })
	}); !strings.HasPrefix(got, "h1 eth0: ") {
		t.Errorf("beside one that limits the data, which comes first: %q", got)
	}
}

// A queue limits requests if they or their answers fill it, and are slower than the baseline's, which take more than its rate.
func TestQueueLimitsRequests(t *testing.T) {
	queue := func(dev string, carried, slower float64, load ...string) (found string) {
		rs, opts := watched("tcp", func(o observed) {
			o.set(record.Transactions, "1/s", 1000)
			h := o.hop("h2", dev)
			h.Queue = &evidence.Queue{Kind: "tbf", Overlimits: 900}
			h.Back.Bytes, h.Data.Bytes = carried/8*o.Seconds, carried/8*o.Seconds
			o.device("h2", dev, func(d *evidence.Device) { d.Qdisc, d.Limit = "tbf", 1e8 })
		})
		for i, r := range rs {
			rs[i].Values[0] = record.RTT.Whole().Value("s", 1e-4)
			for _, l := range load {
				r.Config["load"] = l
			}
			o := opts.Evidence[r.Trial]
			if r.Config["network"] != "host" {
				rs[i].Values[0].Value *= slower
				continue
			}
			for _, f := range []*evidence.Flow{&o.Path[0].Data, &o.Path[0].Back} {
				f.Bytes = 1e9 / 8 * o.Seconds
			}
		}
		for _, f := range Check(analysis.New(rs, opts)) {
			if f.Rule == "queue-limited" {
				found = f.Text.String()
			}
		}
		return found
	}
	const want = "a queueing discipline (tbf) on h2 %s limits requests and answers to 100 Mbit/s: it held packets back 10,800 times; the baseline's take 1 Gbit/s there"
	for _, dev := range []string{"p1", "eth0"} { // toward the receiver, and back
		if got := queue(dev, 9.5e7, 20); got != fmt.Sprintf(want, dev) {
			t.Errorf("%s: %q", dev, got)
		}
		if got := queue(dev, 4e7, 20); got != "" {
			t.Errorf("%s: a queue that is not filled: %q", dev, got)
		}
		if got := queue(dev, 9.5e7, 20, "tcp-stream"); got != "" {
			t.Errorf("%s: a queue that a background load fills: %q", dev, got)
		}
		if got := queue(dev, 9.5e7, 1); got != "" {
			t.Errorf("%s: requests as fast as the baseline's: %q", dev, got)
		}
	}
}
