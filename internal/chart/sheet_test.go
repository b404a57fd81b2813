package chart

import (
	"strings"
	"testing"
)

func TestChineseWraps(t *testing.T) {
	caption := strings.Repeat("跨主机时，各容器网络插件的数据路径开销多大？", 6) + " tcp-stream"
	lines := wrap(caption, sheetWidth, 16)
	for _, l := range lines {
		if w := textWidth(l, 16); w > sheetWidth {
			t.Errorf("a line of %.0f in a sheet of %.0f: %s", w, sheetWidth, l)
		}
		if strings.HasPrefix(l, "，") || strings.HasPrefix(l, "？") {
			t.Errorf("a line begins with a mark: %s", l)
		}
	}
	if got := strings.Join(lines, ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(caption, " ", "") {
		t.Errorf("wrapping changed the text: %s", got)
	}
}
