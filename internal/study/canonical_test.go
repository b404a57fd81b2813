package study

import "testing"

// A level is one number however it is written, in factors and in comparisons.
func TestCanonicalLevels(t *testing.T) {
	s, err := Load([]byte("networks: [host, bridge]\nprobes: [udp-rr]\nfactors: {size: [1, 010]}\ncompare:\n- {of: {size: 10}, to: {size: +1}}\n- {to: {network: host}, in: {size: [1, 0010]}}\n"), "s")
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Compare; s.Factors["size"][1] != "10" || c[0].To["size"] != "1" || c[1].In["size"][1] != "10" {
		t.Errorf("%v, %+v", s.Factors, c)
	}
	c, err := s.ParseContrast("size=+1/010")
	if err != nil || c.To["size"] != "10" || c.Of["size"][0] != "1" {
		t.Errorf("%+v, %v", c, err)
	}
}
