package network

import (
	"fmt"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/topo"
)

// etcdAddr returns the address of the store that all hosts share, on the first host.
func etcdAddr(t topo.Topology) string { return fmt.Sprintf("%v:2379", t.Hosts[0].Addr.Addr()) }

// etcd starts the store, with args as additional arguments.
func etcd(t topo.Topology, args ...string) []plan.Step {
	h, url := t.Hosts[0], "http://"+etcdAddr(t)
	argv := append([]string{"etcd", "--data-dir", plan.Dir + "/etcd",
		"--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", "http://127.0.0.1:2380"}, args...)
	return []plan.Step{
		{In: h.Name, Service: &plan.Service{Name: "etcd", Argv: argv,
			Ready: plan.Ready{Line: "ready to serve client requests", Timeout: 30}}}, // seconds, for a busy machine
		find(h, "etcd.version", "etcd", "--version"),
	}
}

func etcdPut(t topo.Topology, key, value string) []string {
	return []string{"etcdctl", "--endpoints=http://" + etcdAddr(t), "put", key, value}
}
