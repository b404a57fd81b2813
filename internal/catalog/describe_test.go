package catalog

import (
	"regexp"
	"testing"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/study"
)

func TestDescribe(t *testing.T) {
	ds := Describe(study.Study{Probes: []study.Use{
		{Name: "udp-rr", Kind: "udp-rr"}, {Name: "quick", Kind: "tcp-rr"}, {Name: "gone", Kind: "gone"},
		{Name: "udp-gso", Kind: "udp-gso"}, {Name: "udp-stream", Kind: "udp-stream", Options: map[string]string{"send": "gso"}},
	}})
	want := []struct{ name, title, unit string }{
		{"udp-rr", "UDP request/response", "s"},
		{"quick", "quick", "s"}, // not the title of its kind, which others can have
		{"udp-gso", "UDP stream (GSO, GRO)", "bit/s"},
		{"udp-stream", "udp-stream", "bit/s"}, // whose title udp-gso has
	}
	if len(ds) != len(want) {
		t.Fatalf("%+v, want %+v", ds, want)
	}
	for i, w := range want {
		if d := ds[i]; d.Name != w.name || d.Title != w.title || d.Unit != w.unit {
			t.Errorf("%+v, want %+v", d, w)
		}
	}
}

// Every probe tool with a version reports it, as recorded from Debian 12.
func TestToolVersions(t *testing.T) {
	printed := map[string][2]string{
		"fping":             {"fping: Version 5.1\nfping: comments to david@schweikert.ch", "5.1"},
		"iperf":             {"iperf version 2.1.8 (12 August 2022) pthreads", "2.1.8"},
		"iperf3":            {"iperf 3.12 (cJSON 1.7.15)\nLinux vm 6.18.44", "3.12"},
		"mpirun.openmpi":    {"mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/", "4.1.4"},
		"netperf":           {"Netperf version 2.7.0", "2.7.0"},
		"netserver":         {"Netperf version 2.7.0", "2.7.0"},
		"nuttcp":            {"nuttcp-6.1.2", "6.1.2"},
		"qperf":             {"qperf 0.4.11", "0.4.11"},
		"dnsperf":           {"DNS Performance Testing Tool\nVersion 2.10.0\n", "2.10.0"},
		"h2load":            {"h2load nghttp2/1.52.0", "1.52.0"},
		"initdb":            {"initdb (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"},
		"memcached":         {"memcached 1.6.18", "1.6.18"},
		"memcaslap":         {"memaslap v1.0\n", "1.0"},
		"nats-server":       {"nats-server: v2.9.10\n", "2.9.10"},
		"nginx":             {"nginx version: nginx/1.22.1", "1.22.1"},
		"pgbench":           {"pgbench (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"},
		"postgres":          {"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15.18"},
		"unbound":           {"Version 1.17.1\n\nConfigure line: --build=x86_64-linux-gnu", "1.17.1"},
		"wrk":               {"wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0-3+b2"},
		"redis-benchmark":   {"redis-benchmark 7.0.15", "7.0.15"},
		"redis-server":      {"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0", "7.0.15"},
		"sockperf":          {"sockperf, version 3.7-no.git", "3.7-no.git"},
		"sparkyfish":        {"sparkyfish dev", "dev"},
		"sparkyfish-server": {"sparkyfish-server dev", "dev"},
	}
	for name, fresh := range Probes {
		for _, tool := range fresh().Info().Tools {
			out := printed[tool.Program]
			m := regexp.MustCompile(tool.Version).FindStringSubmatch(out[0])
			if tool.VersionArgs != nil && (len(m) != 2 || m[1] != out[1]) {
				t.Errorf("%s: %s: version %q in %q", name, tool.Program, m, out[0])
			}
		}
	}
	if i := (probe.MPI{Program: "/opt/osu/osu_latency", Tool: "osu"}).Info(); i.Tools[1].Program != "/opt/osu/osu_latency" {
		t.Errorf("%+v: not the program of the option", i.Tools)
	}
}
