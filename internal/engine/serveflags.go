package engine

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"time"
)

type serveConfig struct {
	at       netip.AddrPort
	open     bool          // no token: serve all clients
	token    string        // "" if open
	made     string        // the token, unless it was given
	count    bool          // answer every line of stdin with the counts so far
	marks    bool          // print the beginning and the end of each run's window
	idle     time.Duration // end after this long without a run; 0: never
	patience time.Duration
	validFor time.Duration // certificates; 0: defaultValid
	cpus     []int
}

// defaultIdle is long enough to walk to the other machine, and short enough that a forgotten server
// is gone by the evening.
const defaultIdle = 10 * time.Minute

func parseServe(args []string, help io.Writer) (serveConfig, error) {
	c := serveConfig{patience: idleTimeout}
	var source tokenSource
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.BoolVar(&c.open, "open", false, "serve all clients, without a token, until stopped; for test networks only; needs an address")
	fs.DurationVar(&c.idle, "idle", defaultIdle, "end after this long without a run; 0: never")
	fs.BoolVar(&c.count, "count", false, "print the counts so far for every line of standard input")
	fs.BoolVar(&c.marks, "marks", false, "print the beginning and the end of each run's measured window; needs a token")
	fs.StringVar(&source.word, "token", "", "`token` that clients must hold; other users of this machine can read it in the process list")
	fs.StringVar(&source.file, "token-file", "", "`file` with the token (default $"+tokenVariable+", otherwise the server makes and prints one)")
	cpuFlag(fs, &c.cpus, "run the server only on these CPUs")
	pos, err := parseFlags(fs, args, help, "Answer the measurements of other machines that hold the token.", "[ADDR][:PORT]")
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
		c.made = rand.Text()
		c.token = c.made
	}
	switch {
	case err != nil:
	case c.open && given:
		err = errors.New("an open server has no token and does not end by itself: --open cannot be combined with --token, --token-file or --idle")
	case c.open && c.at.Addr().IsUnspecified():
		err = fmt.Errorf("--open needs an address: on %v it would serve every client that can reach this machine", c.at)
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
