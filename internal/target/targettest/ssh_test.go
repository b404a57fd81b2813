package targettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/agent"
	"github.com/weir-bench/weir/internal/target/remote"
	"github.com/weir-bench/weir/internal/target/ssh"
	"github.com/weir-bench/weir/internal/topo"
)

// overSSH starts machines with SSH servers.
func overSSH(t *testing.T) func(*testing.T) subject {
	nstest.Hosts(t, "a,b")
	return machines(t)
}

// machines connects once to a and b of the ssh on PATH, for all tests.
func machines(t *testing.T) func(*testing.T) subject {
	ms, err := ssh.New([]string{"a", "b"}, target.Ports{}, remote.Programs{})
	if err == nil {
		err = ms.Connect(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ms.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(t *testing.T) subject {
		site, err := ms.Open(t.Context(), topo.Topology{Hosts: make([]topo.Host, 2)}, "")
		if err != nil {
			t.Fatal(err)
		}
		return subject{site, "a", func() { _ = site.Nodes["a"].(*agent.Node).Close() }}
	}
}

// withoutServers puts an ssh first on PATH whose machines are network namespaces.
func withoutServers(t *testing.T) func(*testing.T) subject {
	for _, tool := range []string{"ip", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s: not found: install iproute2 and util-linux", tool)
		}
	}
	dir := t.TempDir()
	script := `#!/bin/sh
while [ "$1" != -- ]; do shift; done
echo Welcome to $2
case $2 in a) addr=10.0.0.1 ;; b) addr=10.0.0.2 ;; esac
exec unshare --net sh -c 'ip link set lo up; ip addr add "$0/24" dev lo
	SSH_CONNECTION="10.0.0.9 50000 $0 22" exec sh -c "$1"' $addr "$3"
`
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return machines(t)
}
