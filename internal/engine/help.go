package engine

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func jsonFlag(fs *flag.FlagSet, out *events) {
	fs.Bool("json", out.order, "print machine-readable output: JSON lines")
}

// A group is a set of flags that help shows together; of names their workloads, nil all.
type group struct {
	title string
	of    []string
	flags []string
}

var runGroups = []group{
	{"What is measured", nil, []string{"duration", "warmup", "size", "rate", "cc", "dscp"}},
	{"tcp-stream, udp-stream", []string{"tcp-stream", "udp-stream"}, []string{"streams"}},
	{"tcp-stream", []string{"tcp-stream"}, []string{"discard", "sendfile", "zerocopy"}},
	{"udp-search", []string{"udp-search"}, []string{"loss", "width", "phase"}},
	{"udp-stream, udp-search", []string{"udp-stream", "udp-search"}, []string{"send", "batch", "recv", "nap"}},
	{"Requests and replies", []string{"tcp-rr", "udp-rr", "udp-open"}, []string{"inflight", "spin", "stamp-every"}},
	{"This machine and the server", nil, []string{"token", "token-file", "timeout", "sndbuf", "rcvbuf", "cpu"}},
	{"Output", nil, []string{"interval", "json"}},
}

const runUsage = `Measure the path to a machine that runs ` + "`weir engine serve`" + `.

Usage:
  weir engine run WORKLOAD HOST[:PORT] [flags]

HOST is a name or an address. An IPv6 address can have a zone (fe80::1%eth0), and goes
in brackets if a port follows. The default port is 5202.

Workloads:
  tcp-stream   TCP throughput: bytes that arrive
  udp-stream   datagrams offered, sent, received and delivered; jitter
  udp-search   the highest rate of datagrams at which no more than --loss is lost
  tcp-rr       response times on one connection, each request after the previous reply
  udp-rr       the same over UDP
  udp-open     response times at a fixed request rate, corrected for coordinated omission
  tcp-crr      connect, request, reply, close: transactions of short connections

Examples:
  weir engine run tcp-stream 10.0.0.1
  weir engine run tcp-stream server1 --streams 4 --duration 30s
  weir engine run udp-stream server1 --rate 1e9 --size 1400
  weir engine run udp-search server1 --loss 0
  weir engine run udp-rr [fd00::1]:6000 --interval 0 --json
`

func runHelp(w io.Writer, fs *flag.FlagSet) func(pos []string) {
	return func(pos []string) {
		_, _ = io.WriteString(w, runUsage)
		for _, g := range runGroups {
			if len(pos) == 0 || g.of == nil || slices.Contains(g.of, pos[0]) {
				fmt.Fprintf(w, "\n%s:\n", g.title)
				printFlags(w, fs, g.flags)
			}
		}
	}
}

const serveUsage = `Answer the measurements of other machines.

Usage:
  weir engine serve [ADDR][:PORT] [flags]

It listens on TCP and UDP, by default on port 5202 of every address, and prints the
command to type on the other machine. The command contains a token, and the server
admits only clients that hold it. The token is never sent; traffic is not encrypted.

Examples:
  weir engine serve
  weir engine serve 10.0.0.1:6000 --once
  WEIR_TOKEN=$(cat secret) weir engine serve --idle 0

Flags:
`

func serveHelp(w io.Writer, fs *flag.FlagSet) func([]string) {
	return func([]string) {
		_, _ = io.WriteString(w, serveUsage)
		printFlags(w, fs, nil)
		fmt.Fprintf(w, `
A client that holds the token can ask for at most: one run at a time; %v of warm-up and
%v of measurement, and %v until the server gives up; %d streams; messages of %d
bytes and datagrams of %d; socket buffers of %d bytes. The server sends only replies,
and only to that client.
`, wire.MaxTime, wire.MaxTime, idleTimeout, wire.MaxStreams, event.MaxMessage, event.MaxDatagram, wire.MaxBuffer)
	}
}

func plainHelp(w io.Writer, fs *flag.FlagSet, usage string) func([]string) {
	return func([]string) {
		fmt.Fprintf(w, "%s\n\nFlags:\n", usage)
		printFlags(w, fs, nil)
	}
}

func printFlags(w io.Writer, fs *flag.FlagSet, names []string) {
	if names == nil {
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	}
	for _, name := range names {
		f := fs.Lookup(name)
		word, usage := flag.UnquoteUsage(f)
		if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) && !strings.Contains(usage, "(default ") {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(w, "  --%-22s %s\n", strings.TrimSpace(name+" "+word), usage)
	}
}
