package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// bare counts the goroutines of a file whose panic ends the process with a trace, and says why nothing better can
// be done there, or why nothing in them can panic.
var bare = map[string]struct {
	n   int
	why string
}{
	"internal/engine/sock/thread.go":            {1, "OnThread catches for its callers; the other one sets a flag"},
	"internal/engine/udpstream.go":              {1, "it waits for a thread of OnThread"},
	"internal/netns/netns.go":                   {1, "it recovers by itself, below package caught"},
	"internal/rootless/rootless.go":             {1, "it waits for signals and passes them on"},
	"internal/hostns/main.go":                   {1, "it waits for children"},
	"internal/cli/signal.go":                    {2, "they wait for signals, and print a line"},
	"internal/job/run.go":                       {1, "it prints a line"},
	"internal/place/machines.go":                {1, "it starts a process"},
	"internal/job/agent.go":                     {2, "they copy bytes and close a pipe"},
	"internal/cli/coordinate.go":                {1, "it copies bytes"},
	"internal/packettrace/tap.go":               {1, "it copies bytes"},
	"internal/terminal/terminal.go":             {1, "it copies bytes of a program that a study names, in a process of its own"},
	"internal/target/remote/bootstrap.go":       {1, "it copies bytes"},
	"internal/target/remote/pipe.go":            {1, "it waits for a process"},
	"internal/target/remote/serve.go":           {1, "it reads one line"},
	"internal/target/remote/remote.go":          {2, "they cancel or close"},
	"internal/target/remote/frame.go":           {1, "it ends the connection"},
	"internal/target/remote/join.go":            {1, "it closes the connection"},
	"internal/target/agent/client.go":           {1, "it copies bytes"},
	"internal/target/agent/agent.go":            {2, "they copy bytes, or wait for a process"},
	"internal/target/agent/message.go":          {1, "it closes the connection"},
	"internal/target/local/local.go":            {1, "it starts a process"},
	"internal/target/lab/service.go":            {1, "it waits for a process"},
	"internal/target/vm/guest.go":               {3, "they wait for QEMU, cancel or kill it"},
	"internal/target/vm/pod.go":                 {3, "they copy bytes, or close a socket"},
	"internal/target/vm/node.go":                {1, "it closes the connection"},
	"internal/target/kube/start.go":             {1, "it closes connections"},
	"internal/target/kube/fakekube/fakekube.go": {2, "a program of tests"},
	"internal/experiment/lost.go":               {1, "it cancels"},
	"internal/relay/link.go":                    {1, "a timer of a relay's own process, whose end fails its trials"},
	"internal/session/session.go":               {4, "they close a socket, set a deadline, watch for a file, or read the end of a connection"},
	"internal/session/start.go":                 {1, "it waits for a process"},
}

// Every goroutine turns its panic into an error, by package caught, or is in the list above.
func TestGoroutines(t *testing.T) {
	found := map[string]int{}
	goFiles(t, func(name string, _ []byte, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") || !strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "internal/target/targettest/") || strings.HasPrefix(name, "internal/nstest/") {
			return
		}
		safe := guards(file)
		ast.Inspect(file, func(n ast.Node) bool {
			var f ast.Node
			switch n := n.(type) {
			case *ast.GoStmt:
				f = n.Call
			case *ast.CallExpr:
				s, ok := n.Fun.(*ast.SelectorExpr)
				if ok && (s.Sel.Name == "Go" && len(n.Args) == 1 || s.Sel.Name == "AfterFunc" && len(n.Args) == 2) {
					f = n.Args[len(n.Args)-1]
				}
			}
			if f != nil && !catches(f, safe) {
				found[name]++
			}
			return true
		})
	})
	for name, n := range found {
		if b := bare[name]; b.n != n {
			t.Errorf("%s has %d goroutines that do not go through caught.Error, want %d", name, n, b.n)
		}
	}
	for name, b := range bare {
		if found[name] == 0 || b.why == "" {
			t.Errorf("%s: no such goroutine, or no reason", name)
		}
	}
}

// guards returns the names of a file's functions that call caught.Error themselves.
func guards(file *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && catches(f.Body, nil) {
			names[f.Name.Name] = true
		}
	}
	return names
}

// catches reports whether code calls caught.Error, or one of the functions in safe.
func catches(code ast.Node, safe map[string]bool) (yes bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, _ := s.X.(*ast.Ident)
			yes = yes || x != nil && x.Name == "caught" && s.Sel.Name == "Error" || safe[s.Sel.Name]
		}
		return true
	})
	return yes
}
