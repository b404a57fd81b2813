package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/weir-bench/weir/internal/netns"
	"github.com/weir-bench/weir/internal/plan"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/internal/target/vm"
)

// An order is one line to the program that acts inside a guest (ServeOrders), an
// answer what it says to that.
type (
	order struct {
		Step   *plan.Step   `json:"step,omitempty"`
		Expect *plan.Expect `json:"expect,omitempty"`
	}
	answer struct {
		Error string `json:"error,omitempty"`
	}
)

// inside is a pod that is a virtual machine: programs run there, and steps and
// expectations are done there by this program.
type inside struct {
	*vm.Node

	mu      sync.Mutex // of orders and answers
	orders  *io.PipeWriter
	answers *json.Decoder
	said    *io.PipeReader // what answers are read from
	ended   chan struct{}
}

// enter makes p the guest that a service runs.
func (l *lab) enter(ctx context.Context, p *place, g *plan.Guest) error {
	host, err := l.at(g.Host)
	if err != nil {
		return err
	}
	if host.host == nil {
		return fmt.Errorf("guest %s: no service runs on %s", p.name, g.Host)
	}
	socket := fmt.Sprintf("/proc/%d/root%s", host.host.PID(), plan.Expand(l.values, g.Socket)[0])
	n, err := vm.Connect(ctx, p.name, socket)
	if err != nil {
		return err
	}
	p.guest = newInside(n)
	for name, found := range n.About {
		if was := l.found[name]; was != "" && was != found { // guests of one network may differ
			found = was + ", " + found
		}
		l.found[name] = found
	}
	return nil
}

func newInside(n *vm.Node) *inside {
	in, orders := io.Pipe()
	said, out := io.Pipe()
	g := &inside{Node: n, orders: orders, answers: json.NewDecoder(said), said: said, ended: make(chan struct{})}
	go func() {
		defer close(g.ended)
		var stderr strings.Builder
		err := n.Run(context.Background(), target.Cmd{Argv: []string{"weir", "guest", "orders", n.Name()}, Stdin: in, Stdout: out, Stderr: &stderr})
		if err == nil {
			err = errors.New("it takes no more orders")
		}
		err = fmt.Errorf("%w%s", err, quoted(stderr.String()))
		out.CloseWithError(err)
		in.CloseWithError(err)
	}()
	return g
}

// orderTime is how long the guest may take for an order. Where it is emulated, a
// module that an order needs takes a second to load.
const orderTime = 30 * time.Second

// ask gives an order and returns what the guest says to it.
func (g *inside) ask(o order) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	defer time.AfterFunc(orderTime, func() {
		g.said.CloseWithError(fmt.Errorf("guest %s: no answer within %v", g.Name(), orderTime))
	}).Stop()
	if err := json.NewEncoder(g.orders).Encode(o); err != nil {
		return err
	}
	var a answer
	if err := g.answers.Decode(&a); err != nil {
		return err
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

func (g *inside) close() {
	g.orders.Close()
	g.Close()
	<-g.ended
}

// ServeOrders does the steps, and checks the expectations, that come as lines of
// JSON, in the place called name: the network namespace of this process, which is
// that of a whole guest. It answers with a line to each.
func ServeOrders(name string, in io.Reader, out io.Writer) error {
	ns, err := netns.Current()
	if err != nil {
		return err
	}
	p, err := newPlace(name, ns)
	if err != nil {
		return err
	}
	l := &lab{places: map[string]*place{name: p}, found: map[string]string{}, keys: map[[2]string]wgtypes.Key{}}
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return l.close()
		} else if err != nil {
			return errors.Join(err, l.close())
		}
		var a answer
		if err := l.obey(p, o); err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return errors.Join(err, l.close())
		}
	}
}

func (l *lab) obey(p *place, o order) error {
	switch {
	case o.Expect != nil:
		return p.verify(*o.Expect)
	case o.Step == nil:
		return errors.New("the order is empty")
	case o.Step.Service != nil, o.Step.Exec != nil, o.Step.File != nil:
		return errors.New("daemons in guests are not supported")
	}
	return l.step(context.Background(), *o.Step)
}
