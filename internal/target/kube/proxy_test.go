package kube

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What listens on kube-proxy's port counts as kube-proxy only if it answers with a mode.
func TestAskProxy(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\niptables": "iptables",
		"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nnftables":        "nftables",
		"HTTP/1.0 200 OK\r\n\r\nipvs":                                 "ipvs",
		"HTTP/1.0 404 Not Found\r\n\r\niptables":                      "",
		"HTTP/1.0 200 OK\r\n\r\n<html>iptables</html>":                "",
		"iptables": "",
		"":         "",
		"HTTP/1.0 200 OK\r\n\r\n" + strings.Repeat("iptables", 100_000): "",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan string, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				asked <- err.Error()
				return
			}
			defer conn.Close()
			line, _ := bufio.NewReader(conn).ReadString('\n') // the test sees what is missing
			_, _ = io.WriteString(conn, answer)               // the end is closed once it has read enough
			asked <- line
		}()
		mode, err := AskProxy(t.Context(), l.Addr().String())
		if mode != want || (err == nil) != (want != "") {
			t.Errorf("%.60q: %q, %v", answer, mode, err)
		}
		if line := <-asked; line != "GET /proxyMode HTTP/1.0\r\n" {
			t.Errorf("it asked %q", line)
		}
		l.Close()
	}
}

// A port that says nothing costs a bounded time.
func TestAskSilentProxy(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	late := time.AfterFunc(10*proxyTime, func() { t.Error("it still waits"); l.Close() })
	defer late.Stop()
	if mode, err := AskProxy(t.Context(), l.Addr().String()); err == nil {
		t.Errorf("mode %q", mode)
	}
}
