package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// Ports of servers in the lab. A node is in one network only, so all networks use the same numbers.
// On other sites each has the same distance from the beginning of the site's range, and those of
// clients from its end.
const (
	toolPort    = 5201 // of a foreign tool
	loadPort    = 5202 // of a load
	enginePort  = 5203 // and up: persistent engines, one for each pair of ends with this server
	clientsPort = 7001 // and up: the other clients, one each

	dataDistance = 10 // from a tool's port to its second one, see probe.Info.SecondPort
)

// mostPorts is how many ports a server tries.
const mostPorts = 32

// ports lists the ports that a server can have, in order of preference. usual is its port in the lab.
func ports(site *target.Site, usual int) []uint16 {
	if site.Ports == (target.Ports{}) {
		return []uint16{uint16(usual)}
	}
	n, from := size(site.Ports), usual-toolPort
	if usual >= clientsPort {
		from = max(n, 1) - 1 - (usual - clientsPort)
	}
	var list []uint16
	for i := range min(n, mostPorts) {
		list = append(list, at(site.Ports, from+i))
	}
	return list
}

func size(r target.Ports) int { return int(r.Last) - int(r.First) + 1 }

// at returns the ith port of a range that is not empty. The range wraps around at both ends.
func at(r target.Ports, i int) uint16 {
	n := size(r)
	return r.First + uint16((i%n+n)%n)
}

// listening reports whether a server waits on a port of node. It reads the node's socket tables,
// because a foreign server could take a connection for its client.
func listening(node target.Node, port uint16) bool {
	for _, proto := range []string{"tcp", "udp"} {
		if ok, err := sample.Listening(node.FS(), proto, port); err == nil && ok {
			return true
		}
	}
	return false
}

// listen starts a server on a port of the site and returns the port when up is true. usual is the
// port in the lab. Elsewhere others can have it: listen then tries the next one. argv is called
// before each attempt.
func (p *program) listen(ctx context.Context, site *target.Site, node target.Node, usual int, argv func(port uint16) []string, up func(port uint16) bool) (uint16, error) {
	given := site.Ports != target.Ports{}
	for _, port := range ports(site, usual) {
		if given && listening(node, port) {
			continue
		}
		p.start(ctx, node, argv(port))
		err := p.await(ctx, fmt.Sprintf("listen on port %d", port), func() bool { return up(port) })
		if err == nil || !given || !p.lacksPort(err) {
			return port, err
		}
		_ = p.stop() // it can still run, having said why it will not listen
		p.stdout.forget(p.stdout.on)
		p.stderr.forget(nil)
	}
	return 0, fmt.Errorf("no port for a server on %s: other programs listen on those that it tried from %d to %d; name another or a wider range with --port FIRST-LAST",
		node.Name(), site.Ports.First, site.Ports.Last)
}

// lacksPort reports whether a program ended because another one has its port (EADDRINUSE).
func (p *program) lacksPort(err error) bool {
	said := strings.ToLower(err.Error() + string(p.stdout.Bytes()))
	return strings.Contains(said, "address already in use") || strings.Contains(said, "address in use")
}

// dataPort returns the second port of a tool whose server listens on port; 0 lets the probe choose where
// the site does not say which ports it has.
func dataPort(site *target.Site, node target.Node, port uint16) (uint16, error) {
	if site.Ports == (target.Ports{}) {
		return 0, nil
	}
	from := int(port-site.Ports.First) + dataDistance
	for i := range min(size(site.Ports), mostPorts) {
		if other := at(site.Ports, from+i); other != port && !listening(node, other) {
			return other, nil
		}
	}
	return 0, fmt.Errorf("no second port for a server on %s: other programs listen on those that it tried from %d to %d; name another or a wider range with --port FIRST-LAST",
		node.Name(), site.Ports.First, site.Ports.Last)
}

// ErrCannot means that a probe cannot measure between two ends; see CanMeasure.
var ErrCannot = errors.New("the probe cannot measure these ends")

// CanMeasure returns an error, wrapping ErrCannot, if p cannot measure to server: if clients call another address, at
// which only the ports that a server listens on lead to it, one each, or if proxies on the path carry TCP alone.
func CanMeasure(p probe.Probe, site *target.Site, path plan.Path, server plan.End) error {
	info := p.Info()
	translated := server.Call.IsValid() || len(server.Ports) > 0
	switch {
	case path.TCPOnly && info.Datagrams:
		return fmt.Errorf("%w: the proxies of this network carry TCP alone; use probes over TCP", ErrCannot)
	case translated && info.SecondPort:
		return fmt.Errorf("%w: %s needs a second port, and clients call %v by another address or port (%v)", ErrCannot, info.Short, server, server.Dial(toolPort).Addr())
	case translated && info.Direct != "":
		return fmt.Errorf("%w: %s %s, and clients call %v by another address or port (%v)", ErrCannot, info.Short, info.Direct, server, server.Dial(toolPort).Addr())
	case info.SecondPort && site.Ports != target.Ports{} && size(site.Ports) < 2:
		return fmt.Errorf("%w: %s needs two ports, and the range is %d to %d; name a wider one with --port FIRST-LAST", ErrCannot, info.Short, site.Ports.First, site.Ports.Last)
	}
	return nil
}

// blocked adds the remedy to the engine's error about the path from client to server.
func (e *Engines) blocked(err error, size int) error {
	var failed refusal
	if !errors.As(err, &failed) || failed.said.Blocked == nil {
		return err
	}
	what := failed.said.Blocked
	if what.Protocol == "" {
		ends := strings.Join(slices.Compact([]string{e.from.Dev + " on " + e.from.Node, e.to.Dev + " on " + e.to.Node}), " and of ")
		return fmt.Errorf("packets above %d bytes do not pass between %v (%v) and %v (%v): a device there has a smaller MTU, or something drops them. Look at the MTUs (ip link) and the filters (nft list ruleset, tc filter show) there; if the path is meant to carry no more, set the MTU of %s, which takes %d, to %d or less: %w",
			what.Carries, e.from, e.from.Addr, e.to, e.dial.Addr(), ends, size, what.Carries, err)
	}
	first, last := e.server.port, e.server.port
	if e.ports != (target.Ports{}) {
		first, last = e.ports.First, e.ports.Last
	}
	called := ""
	if e.dial.Addr() != e.to.Addr {
		called = fmt.Sprintf(", which listens at %v", e.to.Addr)
	}
	return fmt.Errorf("%s does not get from %v (%v) to port %d of %v (%v%s): open ports %d-%d, TCP and UDP, from %v to %v in firewalls and network policies, or name open ones with --port: %w",
		strings.ToUpper(what.Protocol), e.from, e.from.Addr, e.dial.Port(), e.to, e.dial.Addr(), called, first, last, e.from.Addr, e.dial.Addr(), err)
}
