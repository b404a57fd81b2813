package lab

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
)

// Orders are done in this process's own network namespace, each with an answer.
func TestServeOrders(t *testing.T) {
	nstest.Need(t)
	orders := []struct{ order, answer string }{
		{`{"step":{"in":"g","link":{"name":"br7","kind":"bridge","mtu":1400}}}`, `{}`},
		{`{"expect":{"in":"g","dev":"br7","mtu":1400}}`, `{}`},
		{`{"expect":{"in":"g","dev":"br7","mtu":1500}}`, `{"error":"g: MTU of br7 is 1400, expected 1500"}`},
		{`{"step":{"in":"g","addr":{"dev":"none","prefix":"10.64.1.1/10"}}}`, `{"error":"address 10.64.1.1/10 on none: no such device"}`},
		{`{"step":{"in":"elsewhere","set":{"dev":"br7","mtu":1500}}}`, `{"error":"set MTU of br7 to 1500: no place is called \"elsewhere\", there are [g]"}`},
		{`{"step":{"in":"g","exec":{"argv":["true"]}}}`, `{"error":"daemons in guests are not supported"}`},
		{`{"step":{"in":"g"}}`, `{"error":"the step is empty"}`},
		{`{}`, `{"error":"the order is empty"}`},
	}
	var in, want, got bytes.Buffer
	for _, o := range orders {
		in.WriteString(o.order + "\n")
		want.WriteString(o.answer + "\n")
	}
	if err := ServeOrders("g", &in, &got); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("answers:\n%swant:\n%s", &got, &want)
	}
	if err := ServeOrders("g", strings.NewReader("no order"), &got); err == nil {
		t.Error("what is no order is taken")
	}
}

// A pod cannot be a guest of a host that runs no service, or of one whose service
// does not answer.
func TestNoGuest(t *testing.T) {
	nstest.Need(t)
	site, err := Open(t.Context(), []string{"h1", "p1"}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}()
	step := plan.Step{In: "p1", Guest: &plan.Guest{Host: "h1", Socket: plan.Dir + "/none.sock"}}
	for _, c := range []struct {
		before []plan.Step
		want   string
	}{
		{nil, "guest p1: no service runs on h1"},
		{[]plan.Step{{In: "h1", File: &plan.File{Name: "x"}}}, "no such file or directory"},
	} {
		if err := site.Apply(t.Context(), append(c.before, step)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}
