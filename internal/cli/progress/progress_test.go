package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/weir-bench/weir/internal/lang"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct{ done, total, full int }{{0, 0, 0}, {0, 10, 0}, {5, 10, 10}, {10, 10, 20}, {30, 10, 20}} {
		got := bar(c.done, c.total)
		if strings.Count(got, "█") != c.full || len([]rune(got)) != 20 {
			t.Errorf("%d of %d: %s", c.done, c.total, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "", -time.Second: "", 90 * time.Second: ", 1m30s left"} {
		if got := new(Progress).left(d).In(nil); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	p := Progress{name: "run 2 of 5", series: func(d time.Duration) time.Duration { return d + time.Hour }}
	if got, want := (p.prefix() + "x" + p.left(time.Minute)).In(nil), "run 2 of 5, x, 1m0s left, 1h1m0s for all runs"; got != want {
		t.Errorf("in a series: %q, want %q", got, want)
	}
}

func TestProgressInChinese(t *testing.T) {
	var b bytes.Buffer
	p := Progress{out: &b, lang: lang.Chinese, name: lang.T("run %d of %d", 2, 5)}
	p.line(3, 7, 12, 90e9)
	if got, want := b.String(), "第 2 次运行（共 5 次），区组 3：已完成 7/12 个试次，剩余 1m30s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for in, want := range map[string]string{
		"block 3: tcp-stream over bridge":                        "区组 3：tcp-stream，网络 bridge",
		"block 9 (repeats block 2): udp-rr over host, pod1-pod2": "区组 9（重测区组 2）：udp-rr，网络 host, pod1-pod2",
	} {
		if got := lang.Stored(in).In(lang.Chinese); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := lang.Fit("区组 3", 3); got != "区" { // a character that would be cut in half is left out
		t.Errorf("fit = %q", got)
	}
}
