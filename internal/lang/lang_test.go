package lang

import (
	"encoding/json"
	"fmt"
	"testing"
)

// made is a language with a catalog made by a test.
func made(catalog map[string]string) *Language {
	return &Language{"zh-CN", func() map[string]string { return catalog }}
}

func TestEnglishIsWhatSprintfPrints(t *testing.T) {
	for _, x := range []struct {
		format string
		args   []any
	}{
		{"all %d intervals hold together with %s %% confidence", []any{3, "95"}},
		{"%.1f %%, at most %.2f %%", []any{1.25, 2.0}},
		{"%[2]s of %[1]s, %[1]s", []any{"a", "b"}},
		{"%s×%s", []any{"1.00", ""}},
		{"%v and %q", []any{fmt.Errorf("no %s", "file"), "x"}},
		{"%d", []any{7}},
	} {
		if got, want := T(x.format, x.args...).String(), fmt.Sprintf(x.format, x.args...); got != want {
			t.Errorf("T(%q).String() = %q, want %q", x.format, got, want)
		}
	}
	if got := T("100 % of it").String(); got != "100 % of it" {
		t.Errorf("a sentence without arguments became %q", got)
	}
}

func TestIn(t *testing.T) {
	zh := made(map[string]string{"throughput": "吞吐量", "%s of %d runs": "%[2]d 次运行的%[1]s", ", ": "，"})
	inner := T("throughput")
	for _, x := range []struct {
		text Text
		want string
	}{
		{"tcp-stream", "tcp-stream"},
		{T("%s of %d runs", inner, 5), "5 次运行的吞吐量"},
		{T("%s of %d runs", string(inner), 5), "5 次运行的吞吐量"}, // kept as a string in between
		{"host: " + T("%s of %d runs", inner, 5) + "!", "host: 5 次运行的吞吐量!"},
		{Join([]Text{inner, "b"}, T(", ")), "吞吐量，b"},
		{T("not in the catalog: %s", inner), "not in the catalog: 吞吐量"},
		{Capital("rate"), "Rate"},
		{Capital("gRPC response time"), "gRPC response time"},
		{Capital(inner), "吞吐量"},
		{Capital(""), ""},
	} {
		if got := x.text.In(zh); got != x.want {
			t.Errorf("%q.In(zh) = %q, want %q", x.text, got, x.want)
		}
	}
	if got := Capital(inner).String(); got != "Throughput" {
		t.Errorf("Capital in English = %q", got)
	}
}

func TestJSONIsEnglish(t *testing.T) {
	b, err := json.Marshal(struct {
		A Text `json:"a"`
		B Text `json:"b,omitempty"`
	}{A: T("%d runs", 2)})
	if err != nil || string(b) != `{"a":"2 runs"}` {
		t.Errorf("Marshal = %s, %v", b, err)
	}
}

func FuzzIn(f *testing.F) {
	f.Add(string(T("%s of %d runs", T("throughput"), 5)))
	f.Add(open + open + sep + shut)
	f.Add(open + "%s %[9]d %" + sep + "x")
	f.Fuzz(func(t *testing.T, s string) {
		_ = Text(s).In(made(nil)) // foreign text can hold marks: anything but a panic
		_ = T("%s", s).String()
	})
}

func TestChoice(t *testing.T) {
	for _, x := range []struct{ tag, code string }{
		{"zh", "zh-CN"}, {"zh-CN", "zh-CN"}, {"zh_CN.UTF-8", "zh-CN"}, {"zh-Hans", "zh-CN"}, {"zh-Hans-SG", "zh-CN"}, {"zh_CN@pinyin", "zh-CN"}, {"en", "en"}, {"en_GB.UTF-8", "en"},
	} {
		if l, err := Named(x.tag); err != nil || l.Code() != x.code {
			t.Errorf("Named(%q) = %s, %v; want %s", x.tag, l.Code(), err, x.code)
		}
	}
	for _, tag := range []string{"xx", "de", "", "C", "POSIX", "../zh"} {
		if l, err := Named(tag); err == nil {
			t.Errorf("Named(%q) = %s, want an error", tag, l.Code())
		}
	}
	for _, x := range []struct {
		env  map[string]string
		code string
	}{
		{map[string]string{}, "en"},
		{map[string]string{"LANG": "zh_CN.UTF-8"}, "zh-CN"},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"},
		{map[string]string{"LANG": "de_DE.UTF-8"}, "en"},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh-CN"},
	} {
		if l := Of(func(k string) string { return x.env[k] }); l.Code() != x.code {
			t.Errorf("Of(%v) = %s, want %s", x.env, l.Code(), x.code)
		}
	}
}

type drawn interface{ Draw() string }

type bars struct {
	Axis  string
	Parts [2]string
}

func (b bars) Draw() string { return b.Axis }

func TestInCopiesAValue(t *testing.T) {
	type page struct {
		Title  string
		Lines  []string
		Chart  drawn
		Data   any
		hidden string
	}
	word := string(T("throughput"))
	was := page{word, []string{"x", word}, bars{word, [2]string{"", word}}, word, word}
	got := In(made(map[string]string{"throughput": "吞吐量"}), was)
	if got.Title != "吞吐量" || got.Lines[1] != "吞吐量" || got.Chart.Draw() != "吞吐量" || got.Chart.(bars).Parts[1] != "吞吐量" {
		t.Errorf("got %+v", got)
	}
	if got.Data != word || got.hidden != word || was.Lines[1] != word {
		t.Errorf("In changed what it must not: %+v, %+v", got, was)
	}
}
