package record_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weir-bench/weir/record"
)

var update = flag.Bool("update", false, "write docs/values.md")

// TestValuesPage compares docs/values.md with the vocabulary.
func TestValuesPage(t *testing.T) {
	const name = "../docs/values.md"
	page := valuesPage()
	if *update {
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil || string(b) != page {
		t.Errorf("%s is not up to date (%v): run make golden", name, err)
	}
}

func valuesPage() string {
	var b strings.Builder
	b.WriteString(`# Values

A results directory has a line of JSON per trial in results.jsonl ([package record](../record), format ` + fmt.Sprint(record.Format) + `). Its values are in base
units. ` + "`name`" + ` says what was measured. What it is about stands in fields beside it, and a value of the whole trial has none:

| field | what it names |
|---|---|
| host | the machine, where others can use it too |
| place | the host, pod or guest whose network namespace it is; a thread without one is the machine's own |
| end | client, server, sender or receiver |
| program | the name of a process, without its arguments |
| thread | the name of a thread in it |
| goal | the largest share lost that a search tolerates |

    {"name":"cpu.own","end":"client","unit":"core","value":0.93}
    {"name":"cpu.thread","place":"h1","program":"ovs-vswitchd","thread":"handler","unit":"core","value":0.41}

` + "`weir report DIR --format csv`" + ` has the same fields as columns. The first value of a trial is its probe's metric, which compares
networks. weir compares names and never takes them apart: a dot in a name separates nothing. It also reads format 1, which glued the
fields to the name (` + "`" + `cpu.own.client` + "`" + `, ` + "`" + `thread.h1.ovs-vswitchd/handler` + "`" + `), and turns it into this form.

| name | unit | better | in words | definition |
|---|---|---|---|---|
`)
	for _, d := range record.Quantities() {
		better := map[record.Direction]string{record.Higher: "higher", record.Lower: "lower"}[d.Better]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s, %s | %s |\n", d.ID, d.Unit, better, d.Word, d.Chinese, d.Doc)
	}
	b.WriteString(`
## Observations

` + "`found`" + ` holds what a trial saw but the study did not set, as text by key. Lists are separated by spaces. Besides these keys,
it has the versions of programs (` + "`version.PROGRAM`, `PRODUCT.version`" + `) and properties of a cluster (` + "`cluster.PROPERTY`" + `).

| key | type | what it is |
|---|---|---|
`)
	for _, f := range record.Facts() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Key, f.Type, f.Doc)
	}
	b.WriteString(`
## Notes

` + "`notes`" + ` holds what a reader of a trial's numbers must know, as codes with arguments (%s).

| code | words |
|---|---|
`)
	formats := record.NoteFormats()
	for _, code := range slices.Sorted(maps.Keys(formats)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", code, strings.ReplaceAll(formats[code], "%%", "%"))
	}
	return b.String()
}
