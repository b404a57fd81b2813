package engine

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
)

type serveConfig struct {
	at       netip.AddrPort
	open     bool   // no token: serve all clients
	token    string // "" if open
	own      bool   // the token was given, not made here
	once     bool
	count    bool          // answer every line of stdin with the counts so far
	marks    bool          // print the begin and the end of each run's window
	idle     time.Duration // end after this long without a run; 0: never
	patience time.Duration
	cpus     []int
}

// defaultIdle is long enough to walk to the other machine, and short enough that a forgotten server
// is gone by the evening.
const defaultIdle = 10 * time.Minute

func parseServe(args []string, out *events, help io.Writer) (serveConfig, error) {
	c := serveConfig{patience: idleTimeout}
	var source tokenSource
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	jsonFlag(fs, out)
	fs.BoolVar(&c.open, "open", false, "serve all clients, without a token, until stopped; for test networks only; needs an address")
	fs.DurationVar(&c.idle, "idle", defaultIdle, "end after this long without a run; 0: never")
	fs.BoolVar(&c.once, "once", false, "end after one run")
	fs.BoolVar(&c.count, "count", false, "print the counts so far, as a JSON line, for every line of standard input; needs --json")
	fs.BoolVar(&c.marks, "marks", false, "print the begin and the end of each run's measured window, as JSON lines; needs --json and a token")
	fs.StringVar(&source.word, "token", "", "`token` that clients must hold; other users of this machine can read it in the process list")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+", otherwise the server makes and prints one)")
	cpuFlag(fs, &c.cpus, "run the server only on these CPUs")
	pos, err := parseFlags(fs, out, args, serveHelp(help, fs), "[ADDR:PORT]")
	if err != nil {
		return c, err
	}
	if c.at, err = parseListen(pos[0]); err != nil {
		return c, err
	}
	given := source != tokenSource{}
	if c.open {
		fs.Visit(func(f *flag.Flag) { given = given || f.Name == "idle" })
		c.idle = 0
	} else if c.token, err = source.read(); c.token == "" && err == nil {
		c.token = rand.Text()
	} else {
		c.own = true
	}
	switch {
	case err != nil:
	case c.open && given:
		err = errors.New("an open server has no token and does not end by itself: --open cannot be combined with --token, --token-file or --idle")
	case c.open && c.at.Addr().IsUnspecified():
		err = fmt.Errorf("--open needs an address: on %v it would serve every client that can reach this machine", c.at)
	case c.count && out.console != nil:
		err = errors.New("--count needs --json")
	case c.marks && out.console != nil:
		err = errors.New("--marks needs --json")
	case c.marks && c.open:
		err = errors.New("--marks needs a token: an open server serves several runs at once, whose marks nobody could tell apart")
	case c.idle < 0:
		err = fmt.Errorf("idle time %v is negative", c.idle)
	}
	if err != nil {
		return c, fmt.Errorf("%w: serve: %w", ErrUsage, err)
	}
	return c, nil
}

// maxHints bounds the commands that ready prints, one per address.
const maxHints = 4

// ready reports that the server listens; on a console it also prints the command for clients.
func (c serveConfig) ready(out events, at netip.AddrPort) error {
	if out.console == nil {
		made := c.token
		if c.own {
			made = ""
		}
		return out.print(event.Ready{Event: event.KindReady, Address: at.String(), Token: made})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "listening on %v, TCP and UDP", at)
	if c.open {
		fmt.Fprintf(&b, ", open to all clients\n")
		return out.write(b.String())
	}
	if c.idle > 0 {
		fmt.Fprintf(&b, "; ends after %v without a run", c.idle)
	}
	fmt.Fprintf(&b, "\ntype on the other machine:\n\n")
	for _, host := range hosts(at) {
		if !c.own {
			fmt.Fprintf(&b, "    %s=%s weir engine run tcp-stream %s\n", tokenVariable, c.token, host)
			continue
		}
		fmt.Fprintf(&b, "    weir engine run tcp-stream %s    # with the same token in %s\n", host, tokenVariable)
	}
	fmt.Fprintf(&b, "\n")
	return out.write(b.String())
}

// hosts returns the server's address as clients can write it, or those of this machine.
func hosts(at netip.AddrPort) []string {
	var hosts []string
	add := func(a netip.Addr) {
		host := a.String()
		if at.Port() != DefaultPort {
			host = netip.AddrPortFrom(a, at.Port()).String()
		}
		hosts = append(hosts, host)
	}
	if !at.Addr().IsUnspecified() {
		add(at.Addr())
		return hosts
	}
	addrs, _ := net.InterfaceAddrs() // without them print an example
	for _, v6 := range []bool{false, true} {
		for _, x := range addrs {
			p, err := netip.ParsePrefix(x.String())
			if err == nil && p.Addr().IsGlobalUnicast() && p.Addr().Is6() == v6 && len(hosts) < maxHints && (!v6 || at.Addr().Is6()) {
				add(p.Addr())
			}
		}
	}
	if len(hosts) == 0 {
		add(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return hosts
}
