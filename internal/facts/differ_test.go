package facts

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestDiffer(t *testing.T) {
	run := func(local, study string) map[string][]byte {
		return map[string][]byte{"local": []byte(local), "study": []byte(study)}
	}
	for _, c := range []struct {
		name string
		runs []map[string][]byte
		want []Difference
	}{
		{"nothing", nil, nil},
		{"one run", []map[string][]byte{run(`{"kernel":"6.1"}`, `{}`)}, nil},
		{"equal but for the load", []map[string][]byte{run(`{"kernel":"6.1","cpus":2,"load":[1,2,3]}`, `{}`), run(`{"load":[0,0,0],"cpus":2,"kernel":"6.1"}`, `{}`)}, nil},
		{"kernel, a sysctl, a list, a number", []map[string][]byte{
			run(`{"kernel":"6.1","memory":25276510208,"sysctls":{"net.core.rmem_max":"1"},"list":[1,2]}`, `{"duration":"1s"}`),
			run(`{"kernel":"6.18","memory":25276510209,"sysctls":{},"list":[1,3]}`, `{"duration":"1s"}`),
		}, []Difference{
			{"local.kernel", []string{"6.1", "6.18"}}, {"local.list", []string{"1 2", "1 3"}},
			{"local.memory", []string{"25276510208", "25276510209"}}, {"local.sysctls.net.core.rmem_max", []string{"1", ""}},
		}},
		{"in the middle", []map[string][]byte{run(`{"a":true}`, `{}`), run(`{"a":false}`, `{}`), run(`{"a":true}`, `{}`)}, []Difference{{"local.a", []string{"true", "false", "true"}}}},
		{"a host more", []map[string][]byte{run(`{"a":1}`, `{}`), {"local": []byte(`{"a":1}`), "study": []byte(`{}`), "guest": []byte(`{"b":1}`)}},
			[]Difference{{"guest", []string{"", "recorded"}}}},
		{"settings", []map[string][]byte{
			run(`{"settings":{"net.core.busy_poll":{"value":"50","default":"0"}},"sysctls":{"a":"1"}}`, `{}`), run(`{"settings":{},"sysctls":{"a":"2"}}`, `{}`),
		}, []Difference{{"local.settings.net.core.busy_poll", []string{"50", "default"}}}},
		{"settings that an older version did not record", []map[string][]byte{
			run(`{"settings":{"net.core.busy_poll":{"value":"50","default":"0"}}}`, `{}`), run(`{"settings":null,"sysctls":{"a":"1"}}`, `{}`),
		}, []Difference{{"local.settings.net.core.busy_poll", []string{"50", ""}}}},
		{"paths", []map[string][]byte{
			{Paths: []byte(`{"a h1":{"rules":0},"a h1 eth0":{"mtu":1500,"features":{"tx":true,"new":true}},"a h2 eth0":{"mtu":1500,"features":{"tx":true}},"b h1 eth0":{"mtu":1}}`)},
			{Paths: []byte(`{"a h1":{"rules":2},"a h1 eth0":{"mtu":1400,"features":{"tx":false}},"a h2 eth0":{"mtu":1500,"features":{"tx":false}}}`)},
		}, []Difference{{"paths.a h1 eth0.features.tx", []string{"true", "false"}}, {"paths.a h1 eth0.mtu", []string{"1500", "1400"}}, {"paths.a h1.rules", []string{"0", "2"}}}},
		{"unreadable", []map[string][]byte{run(`{"a":1}`, `{}`), run(`x`, `{}`)}, []Difference{{"local.a", []string{"1", ""}}}},
	} {
		if got := Differ(c.runs); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func FuzzDiffer(f *testing.F) {
	f.Add(`{"kernel":"6.1","sysctls":{"a":"b"}}`, `{"kernel":["6.1",{"x":null}]}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		runs := []map[string][]byte{{"h": []byte(a)}, {"h": []byte(b)}}
		for _, d := range Differ(runs) {
			if len(d.Values) != 2 || d.Values[0] == d.Values[1] {
				t.Errorf("%+v is no difference", d)
			}
		}
		if json.Valid([]byte(a)) && len(Differ([]map[string][]byte{runs[0], runs[0]})) > 0 {
			t.Error("a run differs from itself")
		}
	})
}
