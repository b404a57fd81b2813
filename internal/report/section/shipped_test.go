package section

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/account"
	"github.com/weir-bench/weir/internal/analysis"
	"github.com/weir-bench/weir/internal/catalog"
	"github.com/weir-bench/weir/internal/experiment"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/report/reporttest"
	"github.com/weir-bench/weir/internal/study"
	"github.com/weir-bench/weir/record"
	"github.com/weir-bench/weir/studies"
)

// simulated is a run of a study that nobody measured: each network and each level costs its share.
func simulated(s study.Study) *account.Account {
	s = s.Faster()
	c := account.Contents{Name: s.Name, Question: s.Question, Spec: s, Words: account.Words{}, Options: experiment.Reading(s)}
	for _, d := range catalog.Describe(s) {
		c.Words[d.Name] = d.Info
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	cells := s.Cells(catalog.Applies)
	for block := 1; block <= s.Blocks; block++ {
		for i, cell := range cells {
			c.Results = append(c.Results, simulatedTrial(rnd, s, c.Words[cell.Probe].Unit, cell, block, i))
		}
	}
	return account.Of(c)
}

// metrics name the first value of a probe by its unit.
var metrics = map[string]record.Quantity{"bit/s": record.Throughput, "packet/s": record.PacketRate, "s": record.RTT, "1/s": record.Transactions}

func simulatedTrial(rnd *rand.Rand, s study.Study, unit string, cell study.Cell, block, i int) record.Result {
	r := record.Result{Format: record.Format, Trial: fmt.Sprintf("%d-%d", block, i), Block: block, Status: record.OK,
		Config: map[string]string{analysis.Network: cell.Network, analysis.Probe: cell.Probe}, Observed: map[string]string{}}
	maps.Copy(r.Config, cell.Levels)
	u, _ := s.Probe(cell.Probe)
	slower := 0.2 * float64(slices.Index(study.Names(s.Networks), cell.Network))
	for _, level := range append([]string{cell.Probe}, slices.Collect(maps.Values(cell.Levels))...) {
		h := fnv.New32()
		h.Write([]byte(level))
		slower += 0.03 * float64(h.Sum32()%11) * (1 + slower)
	}
	value, q := 1e9*math.Exp(-slower+0.01*rnd.NormFloat64()), metrics[unit]
	if unit == "s" {
		value = 1e5 / value
	}
	if strings.HasSuffix(u.Kind, "-outage") {
		q, value = record.Outage, 0.3*math.Exp(slower)
	}
	r.Values = append(r.Values, record.Value{Name: q, Unit: unit, Value: value})
	per := record.CPUPerBit
	if unit == "s" {
		per = record.CPUPerTransaction
	}
	for _, per := range []record.Quantity{per, record.Jitter} {
		r.Values = append(r.Values, record.Value{Name: per, Unit: "s", Value: 1e-9 * math.Exp(slower+0.01*rnd.NormFloat64())})
	}
	observe(&r, u)
	return r
}

// observe adds what a trial sees of its tool, its sockets and its path.
func observe(r *record.Result, u study.Use) {
	tool, _, _ := strings.Cut(u.Kind, "-")
	r.Observed["tool"] = tool
	switch u.Kind {
	case "tcp-stream":
		maps.Copy(r.Observed, map[string]string{"tool": record.Engine, "send": "copy", "recv": "copy", "streams": "1", "mss": "1398"})
	case "udp-stream":
		maps.Copy(r.Observed, map[string]string{"tool": record.Engine, "send": "single", "recv": "mmsg", "datagram": "1398"})
		maps.Copy(r.Observed, u.Options)
	}
	var from, to int
	if n, _ := fmt.Sscanf(r.Config["ends"], "pod%d-pod%d", &from, &to); n == 2 {
		var hosts []string
		for h := from; h <= to; h++ {
			hosts = append(hosts, fmt.Sprint("h", h))
		}
		r.Observed["path.hosts"] = strings.Join(hosts, " ")
	}
}

// asked has for each study what the first sentence of its answer must name.
var asked = map[string][]string{
	"applications":                 {"a VXLAN overlay", "transactions"},
	"bmwg-latency":                 {"A busy path", "TCP response time"},
	"bmwg-resources":               {"CPU time per bit", "÷ host"},
	"bmwg-scaling":                 {"client pods", "throughput"},
	"bmwg-throughput":              {"the host network", "UDP capacity", "size 18"},
	"calico":                       {"Calico's rules", "calico-iptables-nft"},
	"calico-policy":                {"A policy of iptables rules", "iptables-1000"},
	"cluster":                      {"Service", "TCP throughput"},
	"cni-comparison":               {"All 5 networks differ from the host network", "throughput"},
	"cni-comparison-load":          {"busy with bytes", "response time"},
	"cni-comparison-mpi":           {"the host network", "MPI latency"},
	"cni-comparison-one-host":      {"All 5 networks differ from the host network", "throughput"},
	"cni-comparison-sizes":         {"The ratio to host", "size"},
	"data-paths":                   {"Instead of a bridge", "macvlan", "af-xdp"},
	"direction-matrix":             {"A pod with its own NIC", "dedicated"},
	"docker-overlay-throughput":    {"the host network", "throughput", "stress"},
	"downtime-address":             {"moved-announced", "stops UDP traffic for"},
	"downtime-agent":               {"bird-restarted", "stops new connections for", "a BGP data path"},
	"downtime-carrier":             {"carrier-lost", "stops UDP traffic for", "static", "bgp"},
	"downtime-cluster":             {"denied", "stops new connections for", "cluster address"},
	"downtime-daemon":              {"killed", "stops UDP traffic for"},
	"downtime-link":                {"link-down", "stops UDP traffic for"},
	"downtime-mtu":                 {"mtu-1300", "stops TCP traffic for"},
	"downtime-planted":             {"1ms", "stops UDP traffic for"},
	"downtime-planted-tcp":         {"20ms", "stops new connections for"},
	"downtime-policy":              {"denied", "stops UDP traffic for", "rules-10000"},
	"downtime-route":               {"link-drops", "stops UDP traffic for", "static", "bgp", "bfd"},
	"downtime-rules":               {"conntrack-flushed", "stops UDP traffic for"},
	"downtime-service":             {"endpoint-gone", "stops new connections for", "ipvs-1000"},
	"downtime-vxlan":               {"device-down", "stops UDP traffic for"},
	"fragmentation":                {"one byte above the MTU", "throughput"},
	"gro":                          {"GRO", "TCP throughput"},
	"guest-queues":                 {"one-queue", "two-queues", "streams 4"},
	"ladder":                       {"HTTP/1.1 instead of an echo over TCP"},
	"latency-under-load":           {"busy with bytes", "response time"},
	"link-limited":                 {"a VXLAN overlay keeps", "TCP throughput"},
	"macvlan-veth-ipvlan":          {"the host network", "ipvlan", "macvlan"},
	"macvlan-veth-ipvlan-one-host": {"Compared with a bridge", "ipvlan"},
	"message-size":                 {"a VXLAN overlay", "size"},
	"mpi":                          {"a VXLAN overlay", "MPI latency", "size"},
	"mtu":                          {"a VXLAN overlay", "mtu 1500", "mtu 9000"},
	"multihop":                     {"Over 5 hops", "the sum of its segments", "that of 1 hop"},
	"multihop-far":                 {"Over 5 hops", "the sum of its segments"},
	"offload":                      {"Segmentation offload", "TCP throughput", "UDP"},
	"overlay-cost":                 {"The overlay", "throughput"},
	"overlay-hook":                 {"Bridge-nf", "throughput"},
	"overlay-in-guests":            {"An overlay between virtual machines", "throughput", "response time"},
	"overlay-vs-ovs":               {"compared with those on vxlan-overlay", "ovs-vxlan", "docker-overlay"},
	"overlay-vs-ovs-one-host":      {"Compared with a bridge", "ends pod-pod"},
	"policy-rules":                 {"rules-0", "rules-10000"},
	"quick":                        {"a VXLAN overlay keeps", "TCP throughput", "UDP packet rate", "response time"},
	"scaling":                      {"a VXLAN overlay keeps", "streams 1", "streams 8"},
	"services":                     {"A Service of iptables rules", "iptables-10000"},
	"spread-flows":                 {"rps on ÷ off", "streams 4"},
	"star":                         {"One of several clients", "throughput"},
	"terway-zones":                 {"across zones"},
	"tool-agreement":               {"The tools agree", "VXLAN overlay", "and disagree in UDP throughput"},
	"udp-vs-tcp":                   {"TCP has", "the throughput of UDP", "shared passes through the kernel", "the protocol itself"},
	"vxlan-and-kvm":                {"A guest", "response time"},
	"vxlan-and-kvm-load":           {"A ping under byte load"},
}

// The first sentence of a run of each shipped study answers the study's question, and is short enough to read at once.
func TestFirstSentence(t *testing.T) {
	files, err := fs.Glob(studies.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(name, func(t *testing.T) {
			src, err := fs.ReadFile(studies.FS, file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := study.Load(src, file)
			if err != nil {
				t.Fatal(err)
			}
			answer := lang.In(nil, Answers(simulated(s)))
			t.Logf("%s\n%s", s.Question, strings.Join(answer, "\n"))
			if asked[name] == nil {
				t.Fatal("say in asked what its question is about")
			}
			for _, want := range asked[name] {
				if !strings.Contains(answer[0], want) {
					t.Errorf("%q lacks %q", answer[0], want)
				}
			}
			for _, text := range answer[:1] {
				if n := words(text); n > mostWords {
					t.Errorf("%d words, want %d at most: %s", n, mostWords, text)
				}
			}
		})
	}
	if len(asked) != len(files) {
		t.Errorf("%d studies in asked, %d shipped", len(asked), len(files))
	}
}

// The intervals of steps hold apart from those of the networks, and the answer says so.
func TestReachOfSteps(t *testing.T) {
	r := gapRun(12)
	r.Question = "Why?"
	d := Report(reporttest.Analyzed(r))
	if text := strings.Join(lang.In(nil, d.Sections[0].Notes), " "); !strings.Contains(text, "hold with 95 % confidence. Those of each network's steps from UDP to TCP do so by themselves.") {
		t.Error(text)
	}
	if got := lang.In(nil, d.Answer)[0]; !strings.HasPrefix(got, "Over host, TCP has ") || !strings.Contains(got, "from shared passes through the kernel") {
		t.Error(got)
	}
}
