package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/hostns"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/terminal"
)

// hostCommand holds the helpers that weir runs in hosts under test.
func hostCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "host",
		Short:  "Internal: helpers for hosts and programs under test",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return usage("internal command; weir starts it itself")
		},
	}
	c.AddCommand(&cobra.Command{
		Use:                "init NAME PEER...",
		Short:              "Hold the namespaces of a host with daemons",
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, as []string) error { return failure.Usage.Of(hostns.Main(as)) },
	})
	c.AddCommand(&cobra.Command{
		Use:                "rsh CPUS NAMESPACE HOST COMMAND...",
		Short:              "Run a shell command in another namespace of the lab",
		DisableFlagParsing: true, // everything that follows belongs to the command
		RunE: func(_ *cobra.Command, as []string) error {
			if len(as) < 4 {
				return usage("weir host rsh CPUS NAMESPACE HOST COMMAND...")
			}
			// The namespace is the place; HOST is the caller's name for it.
			return failure.Environment.Of(lab.Rsh(as[0], as[1], as[3:]))
		},
	})
	c.AddCommand(&cobra.Command{
		Use:                "pty COLSxROWS KEY TEXT... -- COMMAND...",
		Short:              "Run a program on a terminal, and type KEY when it draws TEXT",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, as []string) error {
			var s terminal.Script
			dashes := slices.Index(as, "--")
			if dashes < 3 || dashes+1 == len(as) {
				return usage("weir host pty COLSxROWS KEY TEXT... -- COMMAND...")
			}
			if n, err := fmt.Sscanf(as[0], "%dx%d", &s.Cols, &s.Rows); n != 2 || err != nil {
				return usage("invalid terminal size %q: want COLSxROWS, such as 100x40", as[0])
			}
			s.Key, s.Texts = as[1], as[2:dashes]
			argv := as[dashes+1:]
			if path := facts.Find(argv[0]); path != "" {
				argv[0] = path // make can have built it outside of PATH
			}
			status, err := terminal.Run(c.Context(), s, argv, os.Stdout)
			if err != nil {
				return failure.Environment.Of(err)
			}
			return failure.Ended(status)
		},
	})
	c.AddCommand(privateCommand())
	return c
}
