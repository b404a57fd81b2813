package trial

import (
	"context"
	"sync"

	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
)

// A Fleet keeps at most one serving and one asking engine per node of a site, for all pairs of nodes: each
// server admits every client that holds the site's token, and each asking engine calls any server.
// Otherwise the pairs of many machines would spend their time starting engines. The zero value is empty.
//
// A node can be the client of one trial at a time, and the server of one. Fleet's engines run on any CPU;
// StartEngines keeps two ends on one machine apart.
type Fleet struct {
	mu      sync.Mutex
	asking  map[string]*asker // by node
	serving map[string]*responder
}

// Engines returns the engines of two ends and starts those that do not run.
func (f *Fleet) Engines(ctx context.Context, site *target.Site, client, server plan.End) (*Engines, error) {
	f.mu.Lock()
	a, r := f.asking[client.Node], f.serving[server.Node]
	f.mu.Unlock()
	remote := site.Token != "" // an open server prints no marks
	if a == nil || !a.alive() {
		a = startAsker(ctx, site, client, nil, remote)
	}
	var err error
	if r == nil || !r.alive() {
		r, err = startResponder(ctx, site, server, nil, 0, remote)
	}
	e := engines(site, client, server, a, r)
	if err != nil {
		_ = e.Stop() // the failed start matters more
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking == nil {
		f.asking, f.serving = map[string]*asker{}, map[string]*responder{}
	}
	f.asking[client.Node], f.serving[server.Node] = a, r
	return e, nil
}
