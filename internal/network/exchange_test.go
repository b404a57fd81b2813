package network_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/plan"
)

// exchange sends a packet of mtu bytes to the server and back, without fragmentation.
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
		stdin.Close() // echo ends with its input
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

// ask sends packets of size bytes including headers until an echo comes back, and checks that the
// network refuses a larger one. A new network can lose the first packets: its routers do not answer
// before their IPv6 addresses have passed duplicate address detection (RFC 4862, section 5.4).
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
	begin, next := time.Now(), time.Tick(askEvery)
	for err := echoed(conn, msg); err != nil; err = echoed(conn, msg) {
		if errors.Is(err, syscall.EMSGSIZE) || time.Since(begin) > askTime {
			return err
		}
		<-next // a network refuses at once while a neighbor does not answer
	}
	if _, err := conn.Write(append(msg, 0)); !errors.Is(err, syscall.EMSGSIZE) {
		return fmt.Errorf("sent a packet larger than MTU %d: %v", mtu, err)
	}
	return nil
}

const (
	askEvery = 500 * time.Millisecond
	askTime  = 30 * time.Second // for duplicate address detection on a busy machine
)

// echoed sends msg and waits for its echo.
func echoed(conn *net.UDPConn, msg []byte) error {
	if err := conn.SetDeadline(time.Now().Add(askEvery)); err != nil {
		return err
	}
	if _, err := conn.Write(msg); err != nil {
		return fmt.Errorf("send %d bytes: %w", len(msg), err)
	}
	if n, err := conn.Read(make([]byte, 1<<16)); err != nil || n != len(msg) {
		return fmt.Errorf("sent %d bytes, got %d back: %w", len(msg), n, err)
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
