package remote

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
)

// The test binary stands in for weir at the far end, and for the whole near end where a test kills it.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // parallel tests wait
	nstest.Main(m, func(args []string) int {
		var err error
		switch {
		case args[0] == "--version":
		case args[0] == "agent" && len(args) == 3:
			err = Serve(os.Stdin, os.Stdout, args[2])
		case args[0] == "again" && len(args) == 1: // a fresh start of a program that is already started anew
			cmd := exec.Command("/proc/self/exe")
			cmd.Args, cmd.Stdout = []string{"weir", "again", "and again"}, os.Stdout
			err = cmd.Run()
		case args[0] == "again":
			fmt.Println("again")
		case args[0] == "near":
			err = near(args[1:])
		default:
			err = fmt.Errorf("unexpected arguments %q", args)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	})
}
