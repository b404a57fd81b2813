package imported

import (
	"errors"
	"fmt"
	"testing"
)

func TestReasons(t *testing.T) {
	var all []Refusal
	for i := range 3 {
		all = append(all, Refusal{fmt.Sprint("lost-", i), fmt.Errorf("impossible: %d of %d packets were lost", 10+i, i)})
	}
	for i := range 4 {
		all = append(all, Refusal{fmt.Sprint("copy-", i), fmt.Errorf("the same bytes as dir/%d.json, which is imported", i)})
	}
	all = append(all, Refusal{"a", errors.New(`it begins with "a \" b"`)}, Refusal{"b", errors.New(`it begins with "b"`)}, Refusal{"c", errors.New("empty")})
	got := ""
	for _, r := range Reasons(all) {
		got += fmt.Sprint(r.Files, " ", r.Path, ": ", r.Reason, "\n")
	}
	if want := "4 copy-0: the same bytes as dir/0.json, which is imported\n3 lost-0: impossible: 10 of 0 packets were lost\n2 a: it begins with \"a \\\" b\"\n1 c: empty\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
