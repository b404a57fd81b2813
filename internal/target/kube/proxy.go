package kube

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/target"
)

const unknownProxy = "unknown"

// proxy returns the mode of kube-proxy where it can be read: as kubeadm and others store it.
func (t *Target) proxy(ctx context.Context, sets []daemonSet) string {
	for _, name := range []string{"kube-proxy", "kube-proxy-config"} {
		var m struct {
			Data map[string]string `json:"data"`
		}
		if err := t.outside().get(ctx, &m, "configmap", name, "--namespace=kube-system"); err == nil {
			for _, key := range []string{"config.conf", "config", "kube-proxy.conf"} {
				if mode := proxyMode(m.Data[key]); mode != "" {
					return mode
				}
			}
		}
	}
	for _, s := range sets {
		if s.Metadata.Name == "kube-proxy" {
			return unknownProxy + ": its configuration cannot be read"
		}
	}
	return unknownProxy
}

// proxyMode finds the mode in a KubeProxyConfiguration; "" if conf is something else. An empty mode is
// iptables on Linux (pkg/proxy/apis/config).
func proxyMode(conf string) string {
	if !strings.Contains(conf, "KubeProxyConfiguration") {
		return ""
	}
	for line := range strings.Lines(conf) {
		if mode, ok := strings.CutPrefix(line, "mode:"); ok {
			if mode = strings.Trim(oneLine(mode), `"' `); mode != "" {
				return bounded(mode)
			}
		}
	}
	return "iptables"
}

const (
	// ProxyAddr is where kube-proxy states its mode, on its own node alone (metricsBindAddress of
	// KubeProxyConfiguration, by default).
	ProxyAddr = "127.0.0.1:10249"
	// proxyTime bounds the connection attempt, and the answer.
	proxyTime = 2 * time.Second
)

// AskProxy asks the kube-proxy of this machine for its mode. Another program can have the port, so an answer counts
// only if it is a mode that kube-proxy has.
func AskProxy(ctx context.Context, addr string) (mode string, err error) {
	conn, err := (&net.Dialer{Timeout: proxyTime}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(proxyTime)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "GET /proxyMode HTTP/1.0\r\nHost: %s\r\n\r\n", addr); err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(conn, 4<<10))
	if err != nil {
		return "", err
	}
	head, body, _ := bytes.Cut(b, []byte("\r\n\r\n"))
	if status := strings.Fields(string(head)); len(status) < 2 || status[1] != "200" || !modes[string(body)] {
		return "", fmt.Errorf("%s is not kube-proxy: it answers %.80q", addr, b)
	}
	return string(body), nil
}

// modes are those of kube-proxy on Linux (ProxyMode in pkg/proxy/apis/config/types.go).
var modes = map[string]bool{"iptables": true, "ipvs": true, "nftables": true}

// nodeModes asks the kube-proxy of each node with an agent in its network, where the API does not say. It
// returns what the API says if no node answers. Nodes can differ.
func (t *Target) nodeModes(ctx context.Context, api string) string {
	var each []string
	nodes := map[string]int{} // by mode
	for _, m := range t.machines {
		s := t.seats[(&seat{at: m, host: true}).component()]
		if s == nil || s.agent == nil {
			continue
		}
		if m.proxy == "" {
			var out bytes.Buffer
			err := s.agent.node.Run(ctx, target.Cmd{Argv: []string{"weir", "agent", "--kube-proxy"}, Stdout: &out})
			if err == nil && modes[out.String()] {
				m.proxy = out.String()
			}
		}
		mode := cmp.Or(m.proxy, unknownProxy)
		nodes[mode]++
		each = append(each, m.Name+": "+mode)
	}
	switch {
	case nodes[unknownProxy] == len(each):
		return api
	case len(nodes) == 1:
		return slices.Collect(maps.Keys(nodes))[0]
	}
	return strings.Join(each, ", ")
}
