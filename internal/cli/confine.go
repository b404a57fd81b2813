package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-bench/weir/internal/confine"
	"github.com/weir-bench/weir/internal/facts"
	"github.com/weir-bench/weir/internal/lang"
)

// readers are the commands that only read results, which can be somebody else's, and write reports.
var readers = []string{"cite", "compare", "explain", "import", "index", "package", "pool", "report"}

// readsOnly reports whether the command line only reads results: explain does, unless it tests.
func readsOnly(root *cobra.Command, args []string) bool {
	c, _, err := root.Find(args) // cobra reports a wrong command
	tests := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--test") })
	return err == nil && !tests && c.Parent() == root && slices.Contains(readers, c.Name())
}

// confineReader confines this process if the command line only reads results.
func confineReader(root *cobra.Command, args []string) error {
	if !readsOnly(root, args) {
		return nil
	}
	return confine.Reader()
}

// confineEngine confines this process, which measures over sockets. A token's file can belong to the user who
// called sudo(8).
func confineEngine(args []string) error {
	return confine.Engine(slices.ContainsFunc(args, func(a string) bool { return strings.Contains(a, "token-file") }))
}

// ownPath removes from PATH the directories in which another user could plant a program for root.
func ownPath() error {
	kept, foreign := facts.OwnPath(os.Getenv("PATH"))
	if len(foreign) == 0 {
		return nil
	}
	tell.Warn(lang.T("root runs no programs from %s of PATH: other users can change them", strings.Join(foreign, ", ")))
	return os.Setenv("PATH", kept)
}
