// Package unit reads and prints quantities. Inside the program every number is
// in a base unit (bit/s, packet/s, 1/s, s, s/bit, s/packet, core, byte, 1);
// numbers are scaled where a person reads or writes them, and nowhere else.
//
// It must not compute with quantities.
package unit

// ParseRate reads a rate in bit/s.
func ParseRate(s string) (float64, error) { return 0, nil }

// ParseBytes reads a size in bytes.
func ParseBytes(s string) (int, error) { return 0, nil }

// ParsePercent reads a share: "2%" and "0.02" are 0.02.
func ParsePercent(s string) (float64, error) { return 0, nil }

// Format prints v, which is in a base unit, with three significant digits.
func Format(v float64, unit string) string { return "" }

// Scale chooses the prefix for an axis or a column whose largest value is max:
// value*factor is in label.
func Scale(max float64, unit string) (factor float64, label string) { return 1, unit }
