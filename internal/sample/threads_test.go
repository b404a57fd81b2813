package sample

import (
	"os"
	"testing"
)

func BenchmarkThreadsRead(b *testing.B) {
	t := NewThreads(os.DirFS("/"), nil)
	if err := t.Find(); err != nil {
		b.Fatal(err)
	}
	defer t.Forget()
	b.ReportMetric(float64(len(t.open)), "threads")
	b.ReportAllocs()
	for b.Loop() {
		t.Read()
	}
}

func BenchmarkThreadsFind(b *testing.B) {
	t := NewThreads(os.DirFS("/"), nil)
	defer t.Forget()
	b.ReportAllocs()
	for b.Loop() {
		if err := t.find(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStat(b *testing.B) {
	for b.Loop() {
		if _, errs := Named(os.DirFS("/"), OfStat); errs != nil {
			b.Fatal(errs)
		}
	}
}

func TestX(t *testing.T) {
	th := NewThreads(os.DirFS("/"), nil)
	t.Log(th.Find())
	for k, v := range th.Read() {
		t.Log(k, v)
	}
}
