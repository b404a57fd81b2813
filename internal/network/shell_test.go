package network

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// The commands that a plan is printed as are run here for real, in namespaces of
// this test's own. The test starts itself again twice: inside, as root of a new
// user namespace, and as the programs that exchange packets.
const modeVar = "WEIR_NETWORK_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(modeVar) {
	case "echo":
		exit(echo(os.Args[1]))
	case "ask":
		exit(ask(os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestShellBuilds(t *testing.T) {
	for _, tool := range []string{"ip", "bridge", "ethtool", "mount", "sh", "sysctl", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v", err)
		}
	}
	if testing.Short() {
		t.Skip("builds networks, which takes seconds")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestInside$", "-test.v")
	cmd.Env = append(os.Environ(), modeVar+"=inside")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("no user namespaces: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out.String(), "--- PASS: TestInside/") {
		t.Fatalf("nothing was built:\n%s", out)
	}
	t.Logf("%s", out)
}

// TestInside builds every network that has a plan, sends packets of the path's
// full size, and looks at what the plan expects.
func TestInside(t *testing.T) {
	if os.Getenv(modeVar) != "inside" {
		t.Skip("started by TestShellBuilds")
	}
	for _, d := range slices.Sorted(maps.Keys(drivers)) {
		for _, s := range slices.Sorted(maps.Keys(specs)) {
			tp := topology(t, specs[s])
			tp.NoOffload = s == "2hosts-2pods"
			if s == "ipv6" || s == "3hosts" {
				tp.Rate, tp.NIC = 1e9, "none"
			}
			p, err := Build(drivers[d], tp)
			if err != nil {
				continue
			}
			t.Run(d+"/"+s, func(t *testing.T) { buildAndTry(t, p, Places(tp)) })
		}
	}
}

func buildAndTry(t *testing.T, p plan.Plan, places []string) {
	// A fresh /run holds the names of the namespaces; they go away with it.
	run(t, nil, "mount", "-t", "tmpfs", "weir", "/run")
	defer func() {
		for _, place := range places {
			run(t, nil, "ip", "netns", "del", place)
		}
		run(t, nil, "umount", "-l", "/run")
	}()
	var script bytes.Buffer
	if err := p.Shell(&script, places); err != nil {
		t.Fatal(err)
	}
	run(t, &script, "sh", "-e")
	first, last := p.Ends[0], p.Ends[len(p.Ends)-1]
	if first == last && p.Path.MTU != loMTU {
		return // nobody to talk to
	}
	exchange(t, first, last, p.Path.MTU)
	exchange(t, last, first, p.Path.MTU)
	for _, e := range p.Expect {
		if e.Dev == "" {
			continue
		}
		mtu, bytes := device(t, e)
		checkOffload(t, e)
		if e.MTU != 0 && mtu != e.MTU {
			t.Errorf("%s in %s has MTU %d, expected %d", e.Dev, e.In, mtu, e.MTU)
		}
		in := []string{first.Node, first.Host, last.Node, last.Host}
		if judged := slices.Contains(in, e.In) && (!e.Across || first.Host != last.Host); judged && e.Carries && bytes < 2*p.Path.MTU {
			t.Errorf("%s in %s carried %d bytes, less than the probes sent", e.Dev, e.In, bytes)
		}
	}
}

// exchange sends a packet of mtu bytes, not to be fragmented, there and back.
func exchange(t *testing.T, client, server plan.End, mtu int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	srv := exec.Command("ip", "netns", "exec", server.Node, self, netip.AddrPortFrom(server.Addr, 7).String())
	srv.Env = append(os.Environ(), modeVar+"=echo")
	srv.Stderr = os.Stderr
	stdin, err := srv.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := srv.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close() // ends it
		if err := srv.Wait(); err != nil {
			t.Errorf("echo in %s: %v", server.Node, err)
		}
	}()
	if _, err := io.ReadFull(stdout, make([]byte, len("ready"))); err != nil {
		t.Fatalf("echo in %s: %v", server.Node, err)
	}
	cli := exec.Command("ip", "netns", "exec", client.Node, self, netip.AddrPortFrom(server.Addr, 7).String(), strconv.Itoa(mtu))
	cli.Env = append(os.Environ(), modeVar+"=ask")
	if out, err := cli.CombinedOutput(); err != nil {
		t.Errorf("%s to %s: %v: %s", client.Node, server.Node, err, out)
	}
}

// device returns the MTU of e's device and the bytes that it moved.
func device(t *testing.T, e plan.Expect) (mtu, bytes int) {
	t.Helper()
	var links []struct {
		MTU   int
		Stats struct{ RX, TX struct{ Bytes int } } `json:"stats64"`
	}
	out := run(t, nil, "ip", "-n", e.In, "-s", "-j", "link", "show", "dev", e.Dev)
	if err := json.Unmarshal(out, &links); err != nil || len(links) != 1 {
		t.Fatalf("%s in %s: %v: %s", e.Dev, e.In, err, out)
	}
	return links[0].MTU, links[0].Stats.RX.Bytes + links[0].Stats.TX.Bytes
}

func checkOffload(t *testing.T, e plan.Expect) {
	t.Helper()
	if len(e.Offload) == 0 {
		return
	}
	// ethtool(8) prints these by a name of its own.
	renamed := map[string]string{"tx-generic-segmentation": "generic-segmentation-offload", "rx-gro": "generic-receive-offload"}
	is := map[string]bool{}
	for line := range strings.Lines(string(run(t, nil, "ip", "netns", "exec", e.In, "ethtool", "-k", e.Dev))) {
		if name, state, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			is[name] = strings.HasPrefix(state, "on")
		}
	}
	for name, want := range e.Offload {
		if other, ok := renamed[name]; ok {
			name = other
		}
		if got, ok := is[name]; !ok || got != want {
			t.Errorf("%s in %s: feature %s is %v (known: %v), expected %v", e.Dev, e.In, name, got, ok, want)
		}
	}
}

func run(t *testing.T, stdin io.Reader, argv ...string) []byte {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return out
}

// echo sends datagrams back until its standard input ends.
func echo(addr string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if _, err := conn.WriteToUDPAddrPort(buf[:n], from); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	fmt.Print("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, conn.Close())
}

// ask sends one packet of size bytes with its headers, waits for it to come
// back, and makes sure that the network takes no larger one.
func ask(addr, size string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return err
	}
	mtu, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
	if err != nil {
		return err
	}
	defer conn.Close()
	headers := 20 + 8
	if at.Addr().Is6() {
		headers = 40 + 8
	}
	if err := dontFragment(conn, at.Addr().Is6()); err != nil {
		return err
	}
	msg := make([]byte, min(mtu-headers, 65507))
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(msg); err != nil {
		return fmt.Errorf("send %d bytes: %w", len(msg), err)
	}
	if n, err := conn.Read(make([]byte, 1<<16)); err != nil || n != len(msg) {
		return fmt.Errorf("sent %d bytes, got %d back: %w", len(msg), n, err)
	}
	if _, err := conn.Write(append(msg, 0)); !errors.Is(err, syscall.EMSGSIZE) {
		return fmt.Errorf("sent a packet larger than MTU %d: %v", mtu, err)
	}
	return nil
}

func dontFragment(conn *net.UDPConn, v6 bool) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	level, option := syscall.IPPROTO_IP, syscall.IP_MTU_DISCOVER
	if v6 {
		level, option = syscall.IPPROTO_IPV6, syscall.IPV6_MTU_DISCOVER
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = syscall.SetsockoptInt(int(fd), level, option, syscall.IP_PMTUDISC_DO)
	})
	return errors.Join(err, set)
}
