package catalog

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-bench/weir/internal/probe"
	"github.com/weir-bench/weir/internal/strictyaml"
)

const probesPage = "../../docs/probes.md"

// docs/probes.md matches the code, and describes every option.
func TestProbesPage(t *testing.T) {
	got := describeProbes(t)
	if *update {
		if err := os.WriteFile(probesPage, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(probesPage)
	if err != nil {
		t.Fatalf("%v (make golden writes it)", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not match the code; run make golden and review the difference", probesPage)
	}
}

func describeProbes(t *testing.T) []byte {
	b := &bytes.Buffer{}
	says := typeDocs(t, "../probe")
	fmt.Fprint(b, "# Probes\n\nGenerated from the code by `make golden`; do not edit. A study sets options by name, a command line in the same form:\n\n"+
		"    weir run -n host,bridge -p 'tcp-stream,{use: tcp-stream, name: four, streams: 4}'\n\n"+
		"A probe with a tool is skipped where the tool is missing, and the result has the tool's version.\n\n"+
		"| probe | what it measures | tools |\n|---|---|---|\n")
	kinds := map[reflect.Type][]string{} // names of the probes of one type, which share options
	for _, name := range Names(Probes) {
		typ := reflect.TypeOf(Probes[name]())
		kinds[typ] = append(kinds[typ], name)
	}
	title := func(name string) string { return strings.Join(kinds[reflect.TypeOf(Probes[name]())], ", ") }
	for _, name := range Names(Probes) {
		i := Probes[name]().Info()
		var tools []string
		for _, tool := range i.Tools {
			tools = append(tools, tool.Program)
		}
		fmt.Fprintf(b, "| [%s](#%s) | %s | %s |\n", name, strings.ReplaceAll(title(name), ", ", "-"), strings.TrimSuffix(i.About, " (native)"), strings.Join(tools, ", "))
	}
	for _, name := range Names(Probes) {
		p := Probes[name]()
		names := kinds[reflect.TypeOf(p)]
		if name != names[0] {
			continue
		}
		fmt.Fprintf(b, "\n## %s\n\n", title(name))
		for _, one := range names {
			i := Probes[one]().Info()
			text := i.Method
			if i.Differs != "" && !strings.Contains(text, i.Differs) {
				text = strings.TrimSpace(text + " Peculiarities: " + i.Differs + ".")
			}
			if text != "" && len(names) > 1 {
				text = "* " + one + ": " + text
			}
			fmt.Fprintf(b, "%s\n", text)
		}
		keys := strictyaml.Keys(p)
		if len(keys) == 0 {
			continue
		}
		fmt.Fprint(b, "\n| option | |\n|---|---|\n")
		for _, key := range keys {
			about := says.probeOption(p, key)
			if about == "" {
				t.Errorf("%s: the option %s has no description", name, key)
			}
			fmt.Fprintf(b, "| `%s` | %s |\n", key, about)
		}
	}
	return b.Bytes()
}

// probeOption returns the comment on an option of a probe, which can be that of an embedded type.
func (d docs) probeOption(p probe.Probe, key string) string {
	typ := reflect.TypeOf(p).Elem()
	if about, ok := d.fields[typ.Name()+"."+key]; ok {
		return about
	}
	for i := range typ.NumField() {
		if f := typ.Field(i); f.Anonymous {
			if about, ok := d.fields[f.Type.Name()+"."+key]; ok {
				return about
			}
		}
	}
	return ""
}
