package sample

import (
	"fmt"
	"maps"
	"testing"
	"testing/fstest"
)

func TestOthers(t *testing.T) {
	stat := func(pid int, name string, ppid, flags, ticks int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "%d (%s) S %d 1 1 0 -1 %d 0 0 0 0 %d 50 0 0 20 0 8 0 17 0 0\n", pid, name, ppid, flags, ticks)}
	}
	proc := fstest.MapFS{
		"1/stat":    stat(1, "init", 0, 0, 50),
		"2/stat":    stat(2, "kthreadd", 0, kernelThread, 0),
		"9/stat":    stat(9, "ksoftirqd/0", 2, kernelThread|0x40, 900),
		"100/stat":  stat(100, "bash", 1, 0, 0),
		"101/stat":  stat(101, "weir", 100, 0, 100),
		"102/stat":  stat(102, "weir", 101, 0, 100),
		"103/stat":  stat(103, "engine", 102, 0, 900),
		"104/stat":  stat(104, "iperf3", 103, 0, 900),
		"4242/stat": stat(4242, "Web Content", 1, 0, 6050),
		"5000/stat": stat(5000, "a circle", 5001, 0, 0),
		"5001/stat": stat(5001, "a circle", 5000, 0, 0),
		"self/stat": stat(102, "weir", 101, 0, 100),
		"stat":      &fstest.MapFile{Data: []byte("nonsense")},
	}
	c, err := Others(proc)
	want := Counters{"1 init": 1, "100 bash": 0.5, "4242 Web_Content": 61, "5000 a_circle": 0.5, "5001 a_circle": 0.5}
	if err != nil || !maps.Equal(c, want) {
		t.Errorf("%v, %v; want %v", c, err, want)
	}
	delete(proc, "self/stat")
	if c, err := Others(proc); err == nil {
		t.Errorf("%v without this process", c)
	}
}
