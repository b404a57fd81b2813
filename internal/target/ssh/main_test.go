package ssh

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/lab"
	"github.com/weir-bench/weir/internal/target/remote"
)

// The test binary stands in for weir, on the machines and as a coordinator to be killed.
func TestMain(m *testing.M) {
	nstest.Main(m, func(args []string) int {
		var err error
		switch args[0] {
		case "--version":
			fmt.Println("weir", remote.Version)
		case "agent": // --remove DIR
			err = remote.ServeChanging(os.Stdin, os.Stdout, args[2], &lab.Machine{})
		case "coordinate":
			err = coordinate(args[1:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}

// coordinate runs sleepers on machines until it is killed.
func coordinate(names []string) error {
	t, err := New(names, target.Ports{}, remote.Programs{})
	if err == nil {
		err = t.Connect(context.Background())
	}
	if err != nil {
		return err
	}
	for _, m := range t.machines {
		go m.node.Run(context.Background(), target.Cmd{Argv: []string{"sh", "-c", "echo ready; setsid sleep 1000 & sleep 1000"}, Stdout: os.Stdout})
	}
	select {}
}
