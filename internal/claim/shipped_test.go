package claim

import "testing"

func TestX(t *testing.T) {
	cs, err := Shipped()
	t.Log(len(cs))
	if err != nil {
		t.Fatal(err)
	}
}
