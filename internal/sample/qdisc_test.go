package sample

import "testing"

func TestQdiscCounter(t *testing.T) {
	c := OfQdiscs([]Qdisc{{"eth0.7", "fq_codel", 1, 2, 3, 4, 5}})
	got := Qdisc{}
	for name, v := range c {
		dev, kind, counter, ok := QdiscCounter(name)
		if !ok {
			t.Fatalf("%s is not split", name)
		}
		got.Dev, got.Kind = dev, kind
		*map[string]*uint64{"packets": &got.Packets, "bytes": &got.Bytes, "drops": &got.Drops, "overlimits": &got.Overlimits, "requeues": &got.Requeues}[counter] = uint64(v)
	}
	if want := (Qdisc{"eth0.7", "fq_codel", 1, 2, 3, 4, 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, name := range []string{"dev.eth0.rx_bytes", "qdisc.", "qdisc.packets", "qdisc.tbf.packets", ""} {
		if _, _, _, ok := QdiscCounter(name); ok {
			t.Errorf("%q is split", name)
		}
	}
}
