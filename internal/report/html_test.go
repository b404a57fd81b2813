package report

import (
	"os"
	"testing"
)

func run(t *testing.T) Run {
	t.Helper()
	study, err := os.ReadFile("testdata/study.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return Run{
		Name: "udp-vs-tcp (synthetic)", Question: "Why is UDP so much slower than TCP on the overlay? These numbers are synthetic: nobody measured them.",
		Study: study, Results: load(t), Baseline: "host", Networks: []string{"host", "bridge", "vxlan-overlay"},
		Hosts:   map[string][]byte{"bench-1": []byte(`{"kernel":"6.12.9","cpu":"Example 3 GHz","cpus":8,"arch":"amd64","os":"Example Linux 1","sysctl":{"net.core.rmem_max":"212992","net.ipv4.tcp_congestion_control":"cubic"},"tools":{"iperf3":"3.18","ping":"20240905"}}`)},
		Command: []string{"weir", "run", "studies/udp-vs-tcp.yaml", "--blocks", "12"},
		Seed:    "20240607", Dir: "results/2024-06-07-udp-vs-tcp",
		Problems: []string{"results.jsonl: line 145 is cut off: the run was killed while it was written"},
	}
}
