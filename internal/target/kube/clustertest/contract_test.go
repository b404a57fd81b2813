package clustertest

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/kube"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/target/targettest"
	"github.com/weir-bench/weir/internal/topo"
)

// A pod behind kubectl attach is a node like any other. Its image has a shell, into which weir is sent.
func TestContract(t *testing.T) {
	need(t)
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		t.Fatal(err)
	}
	machine := unix.ByteSliceToString(uts.Machine[:])
	cluster := &kube.Target{Programs: remote.Programs{Files: map[string]string{machine: filepath.Join(os.Getenv(dirEnv), "weir")}}}
	defer func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	}()
	want, err := topo.New(topo.Spec{Hosts: 1, Find: topo.Find{Kind: topo.PodNet}})
	if err != nil {
		t.Fatal(err)
	}
	open := func(t *testing.T) (*target.Site, string, func()) {
		site, err := cluster.Open(t.Context(), want, "")
		if err != nil {
			t.Fatal(err)
		}
		return site, site.Topology.Hosts[0].Pods[0].Name, func() { kill(t, os.Getpid()) }
	}
	if site, _, _ := open(t); site.Topology.MTU != 1430 || !site.Topology.Exists {
		t.Errorf("found %+v", site.Topology)
	}
	targettest.Contract(t, open)
}
