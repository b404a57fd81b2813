package trial

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-bench/weir/internal/target"
)

// asked records the programs that a node runs.
type asked struct {
	*node
	mu   *sync.Mutex
	cmds *[]target.Cmd
}

func (a asked) Run(ctx context.Context, c target.Cmd) error {
	a.mu.Lock()
	*a.cmds = append(*a.cmds, c)
	a.mu.Unlock()
	return a.node.Run(ctx, c)
}

// The site decides whether servers are open. A token never appears in the list of processes.
func TestToken(t *testing.T) {
	for _, token := range []string{"", "a-token-of-the-site"} {
		s, cli, srv, _ := setup()
		var mu sync.Mutex
		var cmds []target.Cmd
		s.Site.Token = token
		s.Site.Nodes = map[string]target.Node{"h1": asked{cli, &mu, &cmds}, "h2": asked{srv, &mu, &cmds}}
		e, err := StartEngines(t.Context(), s.Site, s.Client, s.Server, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = e.Stop()
		for _, c := range cmds {
			if open := slices.Contains(c.Argv, "--open"); c.Argv[2] == "serve" && open != (token == "") {
				t.Errorf("with the token %q: %v", token, c.Argv)
			}
			if !slices.Contains(c.Env, "WEIR_TOKEN="+token) { // an empty one hides the user's
				t.Errorf("with the token %q: environment %v", token, c.Env)
			}
			if stays := slices.Contains(c.Argv, "--idle"); c.Argv[2] == "serve" && stays != (token != "") {
				t.Errorf("with the token %q the server ends or stays: %v", token, c.Argv)
			}
			if token != "" && strings.Contains(strings.Join(c.Argv, " "), token) {
				t.Errorf("the token is among the arguments: %v", c.Argv)
			}
		}
		if len(cmds) != 2 {
			t.Errorf("%d programs, want both engines", len(cmds))
		}
	}
}
