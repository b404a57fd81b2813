package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/failure"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/vm"
)

// guestCommand runs as process 1 of a virtual machine. Its subcommand makes a virtual machine a pod
// of a lab.
func guestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:    "guest",
		Hidden: true,
		Args:   args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			vm.Init(lab.Actor)
			return nil
		},
	}
	c.AddCommand(guestPod(), guestContainer())
	return c
}

// guestPod runs a guest as a daemon on a host.
func guestPod() *cobra.Command {
	var nic vm.NIC
	f := vmFlags{}
	c := &cobra.Command{
		Use:   "pod NAME SOCKET --tap DEVICE --mac ADDRESS",
		Short: "Run a virtual machine as a pod, until SIGTERM or the end of a connection to the socket",
		Args:  args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, as []string) error {
			m, err := f.machine()
			if err != nil {
				return err
			}
			m.Name, m.NIC, m.Console = as[0], &nic, os.Stdout
			return failure.Environment.Of(vm.ServePod(c.Context(), m, as[1]))
		},
	}
	f.registerMachine(c)
	c.Flags().StringVar(&nic.Tap, "tap", "", "TAP device")
	c.Flags().StringVar(&nic.MAC, "mac", "", "MAC address of its network device")
	c.Flags().IntVar(&nic.Queues, "queues", 1, "queues of its network device")
	c.Flags().StringVar(&nic.VHost, "vhost", vm.VHostAuto, "auto, on or off")
	return c
}

// guestContainer runs the agent of a container in a guest, on standard input and output.
func guestContainer() *cobra.Command {
	const inside = "inside"
	return &cobra.Command{
		Use:   "container NAME",
		Short: "Serve as the agent of a network namespace in a virtual machine",
		Args:  args(cobra.RangeArgs(1, 2)),
		RunE: func(_ *cobra.Command, as []string) error {
			if len(as) == 2 && as[1] == inside {
				return failure.Environment.Of(lab.ServeContainer())
			}
			return failure.Environment.Of(lab.Container(as[0], []string{"weir", "guest", "container", as[0], inside}))
		},
	}
}
