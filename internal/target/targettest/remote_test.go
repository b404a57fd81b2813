package targettest

import (
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/sample"
	"github.com/weir-bench/weir/internal/target"
)

// A mark's reading is taken where the program runs, when it prints the line: a coordinator that asked
// for it would get it two journeys later.
func TestMarkFarAway(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	fail := nstest.Judge(t)
	const delay = 500 * time.Millisecond
	s := behindFrames(delay)(t)
	defer s.Close()
	asked, err := s.node().Sample(t.Context(), sample.OfStat) // taken one journey before it returns
	if err != nil {
		t.Fatal(err)
	}
	var taken []target.Reading
	err = s.node().Run(t.Context(), target.Cmd{Argv: []string{"echo", "begin"},
		Mark: &target.Mark{Lines: []string{"begin"}, Sources: []string{sample.OfStat}, Take: func(r target.Reading) { taken = append(taken, r) }}})
	if err != nil || len(taken) != 1 {
		t.Fatalf("%d readings, %v", len(taken), err)
	}
	if later := taken[0].At - asked.At; later < 2*delay || later > 7*delay/2 {
		fail("the mark's reading is %v later than the one before, want %v and the start of a program", later, 2*delay)
	}
}

// An idle agent, heartbeats included, uses less than 1 % of a CPU.
func TestIdleAgent(t *testing.T) {
	nstest.Need(t)
	if testing.Short() {
		t.Skip("slow: run without -short")
	}
	s := pushed(t)
	defer s.Close()
	read := func() target.Reading {
		r, err := s.node().Sample(t.Context(), sample.OfStat)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	read() // what happens once
	from := read()
	time.Sleep(6 * time.Second) // spans a heartbeat of each end
	to := read()
	if own, took := to.Own-from.Own, (to.At - from.At).Seconds(); own > took/100 {
		t.Errorf("the agent used %.1f ms of CPU time in %.1f s", own*1000, took)
	}
}
