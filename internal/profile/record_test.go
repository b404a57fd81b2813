package profile

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A ring is read from where it was read last, also over its end, and a full one has lost samples.
func TestRing(t *testing.T) {
	data := make([]byte, 4096)
	for i := range data {
		data[i] = byte(i / 16)
	}
	r := ring{page: &unix.PerfEventMmapPage{}, data: data}
	for _, c := range []struct {
		tail, head uint64
		want       string
	}{
		{0, 48, string(data[:48])},
		{4080, 4128, string(data[4080:]) + string(data[:32])},
		{8192, 8192, ""},
		{4096, 4096 + 2000, string(data[:2000])},
	} {
		r.page.Data_tail, r.page.Data_head = c.tail, c.head
		got, err := r.take()
		if err != nil || string(got) != c.want {
			t.Errorf("%d to %d: %d bytes, want %d (error %v)", c.tail, c.head, len(got), len(c.want), err)
		}
		if r.page.Data_tail != c.head {
			t.Errorf("%d to %d: not given back", c.tail, c.head)
		}
	}
	r.page.Data_tail, r.page.Data_head = 0, 4000
	if _, err := r.take(); err == nil || !strings.Contains(err.Error(), "samples were lost") {
		t.Errorf("a full ring: error %v", err)
	}
}

func TestRefused(t *testing.T) {
	for err, want := range map[error]string{
		unix.EACCES: "sysctl -w kernel.perf_event_paranoid=0",
		unix.EPERM:  "run as root",
		unix.ENOSYS: "CONFIG_PERF_EVENTS",
		unix.EMFILE: "perf_event_open",
	} {
		if got := refused(err); !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %v, want %q", err, got, want)
		}
	}
}

func TestRecorder(t *testing.T) {
	if err := Check([]int{0}); err != nil {
		t.Skipf("no profiles: %v", err)
	}
	r, err := NewRecorder([]int{0})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 2 { // it can be used again
		if err := r.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := r.Stop()
		if err != nil || p.Duration <= 0 || p.Period != period {
			t.Fatalf("%v, %v", p, err)
		}
	}
}
