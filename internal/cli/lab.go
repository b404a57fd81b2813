package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/job"
	"github.com/weir-bench/weir/internal/lang"
	"github.com/weir-bench/weir/internal/place"
	"github.com/weir-bench/weir/internal/rootless"
	"github.com/weir-bench/weir/internal/session"
)

const defaultLab = "lab"

func labCommand() *cobra.Command {
	name := defaultLab
	c := &cobra.Command{
		Use:   "lab up|exec|down",
		Short: "Keep a network up and look around in it",
		Args:  args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("missing up, exec or down; see %s --help", c.CommandPath())
		},
		Example: `  weir lab up -n vxlan-overlay
  weir lab exec h1p1 ip addr
  weir lab down`,
	}
	c.PersistentFlags().StringVar(&name, "name", name, "name of the lab, to have several")
	c.AddCommand(labUp(&name), labExec(&name), labDown(&name), labHold())
	return c
}

func labUp(name *string) *cobra.Command {
	var t oneNetwork
	c := &cobra.Command{
		Use:   "up -n NETWORK",
		Short: "Build a network and keep it until `weir lab down`",
		Args:  args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if _, _, err := t.build(c); err != nil {
				return err
			}
			socket, err := socketOf(*name)
			if err != nil {
				return err
			}
			hold := []string{"lab", "hold", "--socket", socket}
			c.Flags().Visit(func(f *pflag.Flag) { hold = append(hold, "--"+f.Name+"="+f.Value.String()) })
			if err := rootless.Basics(); err != nil {
				return failure.Environment.Of(err)
			}
			nodes, err := session.Start(c.Context(), socket, hold)
			if errors.Is(err, session.ErrUp) {
				return usage("%s: %w; end it with weir lab down%s, or use another --name", *name, err, named(*name))
			}
			if err != nil {
				return failure.Environment.Of(err)
			}
			for _, line := range []lang.Text{lang.T("%s is up: %s", *name, strings.Join(nodes, ", ")),
				lang.T("look around: weir lab exec%s %s ip addr", named(*name), nodes[0]), lang.T("end it:      weir lab down%s", named(*name))} {
				fmt.Println(said(line))
			}
			return nil
		},
	}
	t.register(c)
	return c
}

// named returns the flag that names the lab in a command, unless it is the default.
func named(name string) string {
	if name == defaultLab {
		return ""
	}
	return " --name " + name
}

func socketOf(name string) (string, error) {
	socket, err := session.Socket(name)
	if errors.Is(err, session.ErrName) {
		return "", failure.Usage.Of(err)
	}
	return socket, failure.Environment.Of(err)
}

// labHold is the process behind `weir lab up`. The socket is a flag because the user ID differs in
// its namespaces.
func labHold() *cobra.Command {
	var t oneNetwork
	var socket string
	c := &cobra.Command{
		Use:    "hold",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return place.Lab.Enter(c.Context(), func() error {
				topology, p, err := t.build(c)
				if err != nil {
					return err
				}
				return job.HoldLab(c.Context(), socket, topology, p)
			})
		},
	}
	t.register(c)
	c.Flags().StringVar(&socket, "socket", "", "")
	return c
}

func labExec(name *string) *cobra.Command {
	c := &cobra.Command{
		Use:   "exec NODE [--] COMMAND...",
		Short: "Run a command in a host or pod of the lab",
		Args:  args(cobra.MinimumNArgs(2)),
		RunE: func(c *cobra.Command, as []string) error {
			socket, err := socketOf(*name)
			if err != nil {
				return err
			}
			argv := as[1:]
			if argv[0] == "--" && len(argv) > 1 {
				argv = argv[1:]
			}
			status, err := job.LabExec(c.Context(), socket, as[0], argv)
			if errors.Is(err, session.ErrDown) {
				err = failure.Environment.Errorf("%w; start one with weir lab up -n NETWORK%s", err, named(*name))
			}
			if err != nil {
				return err
			}
			return failure.Ended(status)
		},
	}
	c.Flags().SetInterspersed(false) // everything that follows NODE belongs to the command
	return c
}

func labDown(name *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Remove the lab and end everything in it",
		Args:  args(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			socket, err := socketOf(*name)
			if err != nil {
				return err
			}
			return failure.Environment.Of(session.Down(c.Context(), socket))
		},
	}
}
