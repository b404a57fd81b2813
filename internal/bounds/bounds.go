// Package bounds limits what texts of others take in memory once they are decoded. It must not know what they mean.
package bounds

import (
	"encoding/json"
	"fmt"
)

const (
	// MaxFile bounds a file that is decoded as a whole, such as the facts of a machine, bytes.
	MaxFile = 16 << 20
	// maxFileValues bounds its values and keys: an empty one can take 600 bytes.
	maxFileValues = 100_000
)

// File returns an error if a JSON file has too many values to be decoded.
func File(b []byte) error { return Values(b, maxFileValues) }

// JSON is json.Unmarshal of a file that others can have written.
func JSON(b []byte, v any) error {
	if err := File(b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// maxDepth is how deep JSON of others can be nested: ten times as deep as weir's own.
const maxDepth = 100

// Values returns an error if a JSON text has more than so many values or keys: decoded, an empty one that took three
// bytes can take hundreds. It allocates nothing, and leaves syntax errors to the decoder.
func Values(b []byte, most int) error { return within(b, most, 0, most) }

// List returns an error if a JSON text has more than so many values or keys, or an object with a list of objects, as
// {"items": [{}, {}]}, more than so many of those.
func List(b []byte, most, items int) error { return within(b, most, 2, items) }

// within bounds all values, and those that follow another one so many levels deep.
func within(b []byte, most, level, mostThere int) error {
	n, there, depth := 1, 1, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case ',', ':':
			n++
			if depth == level && b[i] == ',' {
				there++
			}
		case '{', '[':
			n++
			depth++
		case '}', ']':
			depth--
		}
		if n > most {
			return fmt.Errorf("more than %d values", most)
		}
		if there > mostThere {
			return fmt.Errorf("more than %d objects", mostThere)
		}
		if depth > maxDepth {
			return fmt.Errorf("more than %d levels", maxDepth)
		}
	}
	return nil
}
