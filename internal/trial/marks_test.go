package trial

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/target"
	"github.com/weir-bench/weir/record"
)

// A server that prints the marks of two windows, as one that ends an earlier run late does, is no
// reason to end weir.
func TestMarksTwice(t *testing.T) {
	var e edges
	e.mark(nil)
	for range 2 {
		e.line(event.MarkBegin)
		e.line(event.MarkEnd)
	}
	e.wait(t.Context(), time.Hour)
}

// Where the server has a machine of its own, that machine's readings are those at its engine's marks:
// work outside its own window does not count, whenever the client's marks come. Without its marks
// the coordinator's readings stand, and the result says so.
func TestServerMarks(t *testing.T) {
	const busy = 40 // ticks of 10 ms in the server's window of 1 s
	for _, c := range []struct {
		name   string
		marks  bool // the server prints them
		late   bool // marks of an earlier window come first
		warned bool
	}{
		{"its own", true, false, false}, {"late ones", true, true, false}, {"none", false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, cli, srv, _ := setup()
				s.Site.Private, s.Site.Token = false, "a-token-of-the-site"
				srv.host = hostOf(srv)
				var say io.Writer
				srv.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
					if !slices.Contains(argv, "--marks") {
						t.Errorf("the server is not asked for marks: %v", argv)
					}
					say = stdout
					return serve(ctx, argv, stdout, stderr)
				}
				cli.run = func(_ context.Context, _ []string, stdout, _ io.Writer) error {
					fmt.Fprintln(stdout, event.MarkBegin)
					srv.add(10, 0, 0) // before its window
					if c.late {
						fmt.Fprintln(say, event.MarkEnd)
					}
					if c.marks {
						fmt.Fprintln(say, event.MarkBegin)
					}
					time.Sleep(time.Second)
					srv.add(busy, 1000, 0)
					fmt.Fprintln(stdout, event.MarkEnd)
					fmt.Fprintln(stdout, rate)
					if c.marks {
						go func() {
							time.Sleep(50 * time.Millisecond) // its way is longer
							fmt.Fprintln(say, event.MarkEnd)
							srv.add(10, 0, 0) // after its window
						}()
					}
					return nil
				}
				start(t, &s)
				r, err := Run(t.Context(), s)
				if err != nil || r.Status != record.OK {
					t.Fatalf("%s %s, %v", r.Status, r.Reason, err)
				}
				want := float64(busy) / 100 / 1.05
				if c.warned {
					want = float64(busy+10) / 100
				}
				if got, _ := r.Get("cpu.busy"); math.Abs(got.Value-want) > 0.01 {
					t.Errorf("cpu.busy %v, want %v", got.Value, want)
				}
				if warned := strings.Contains(fmt.Sprint(r.Notes), "the server's marks did not arrive"); warned != c.warned {
					t.Errorf("notes %q", r.Notes)
				}
			})
		})
	}
}

// In the lab, and without a token, servers print no marks.
func TestNoServerMarks(t *testing.T) {
	for _, spoil := range []func(s *target.Site, srv *node){
		func(s *target.Site, _ *node) { s.Private = false; s.Token = "a-token-of-the-site" }, // one machine
		func(s *target.Site, srv *node) { srv.host = hostOf(srv); s.Token = "a-token-of-the-site" },
		func(s *target.Site, srv *node) { srv.host = hostOf(srv); s.Private = false },
	} {
		s, _, srv, _ := setup()
		spoil(s.Site, srv)
		srv.run = func(ctx context.Context, argv []string, stdout, stderr io.Writer) error {
			if slices.Contains(argv, "--marks") {
				t.Errorf("%v", argv)
			}
			return serve(ctx, argv, stdout, stderr)
		}
		e, err := StartEngines(t.Context(), s.Site, s.Client, s.Server, 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = e.Stop()
	}
}
