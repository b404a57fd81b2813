package trial

import (
	"context"
	"fmt"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/record"
)

// streamed is the engine's output for a tcp-stream of 8000 bit/s.
const streamed = `{"event":"result","workload":"tcp-stream","engine":1,"size":1,"server":"","window":1,"bytes":1000,"streamBytes":[],"zerocopySends":0,"zerocopyCopied":0,"sndbuf":1,"retransmits":0,"silence":0,"streams":1,` +
	`"mss":1,"congestion":"","serverCongestion":"","rcvbuf":1,"send":"","recv":"","dscp":0}`

// The values are the sum over all clients and the shares of that sum. A client that is delivered
// nothing has a share of 0; a missing report invalidates the trial.
func TestClients(t *testing.T) {
	const counted = `{"event":"count","at":1000000000,"bytes":0}` + "\n" + `{"event":"count","at":2000000000,"bytes":%d}` + "\n"
	for _, c := range []struct {
		name               string
		says               []string // of the other clients
		status             record.Status
		total, least, most float64
	}{
		{"one", nil, record.OK, 8000, 1, 1},
		{"three", []string{fmt.Sprintf(counted, 500), fmt.Sprintf(counted, 2500)}, record.OK, 32000, 0.125, 0.625},
		{"one is starved", []string{fmt.Sprintf(counted, 0)}, record.OK, 8000, 0, 1},
		{"one goes backwards", []string{fmt.Sprintf(counted, -1), fmt.Sprintf(counted, 1)}, record.Invalid, 0, 0, 0},
		{"one is silent", []string{"", fmt.Sprintf(counted, 1)}, record.Invalid, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, srv, _ := setup()
				start(t, &s)
				s.Probe = &probe.TCPStream{}
				cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
					fmt.Fprintln(stdout, event.MarkBegin)
					time.Sleep(time.Second)
					srv.add(0, 1000, 0)
					fmt.Fprintf(stdout, "%s\n%s\n", event.MarkEnd, streamed)
					return nil
				}
				s.Clients = 1 + len(c.says)
				for i, says := range c.says {
					other := &Background{name: fmt.Sprintf("client h%d", i+3), client: true, questions: silent{}, values: func(from, to count) []record.Value {
						return []record.Value{to.delivered(from, "delivered", s.Probe)}
					}}
					other.counter.done, other.driver.done = make(chan struct{}), make(chan struct{})
					if _, err := other.counter.stdout.Write([]byte(says)); err != nil {
						t.Fatal(err)
					}
					s.Background = append(s.Background, other)
				}
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != c.status {
					t.Fatalf("%s: %s, %v", r.Status, r.Reason, err)
				}
				for name, want := range map[record.Quantity]float64{"clients.delivered": c.total, "clients.least": c.least, "clients.most": c.most} {
					v, ok := r.Get(name)
					if ok != (c.status == record.OK) || math.Abs(v.Value-want) > 1e-9 {
						t.Errorf("%s is %+v, want %g", name, v, want)
					}
				}
				if includes := r.Observed["cpu.includes"]; includes != "" != (len(c.says) > 0) {
					t.Errorf("the CPU time includes %q", includes)
				}
			})
		})
	}
}
