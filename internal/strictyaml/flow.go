package strictyaml

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseFlow reads one value on one line.
func ParseFlow(s string) (*Node, error) {
	// A list around it keeps the parser from seeing documents or comments.
	n, err := Parse([]byte("[" + s + "]"))
	switch {
	case err != nil:
		return nil, err.Err
	case n == nil || n.Kind != List || len(n.Items) != 1 || strings.Contains(s, "\n"):
		return nil, fmt.Errorf("%q is not one YAML value on one line", s)
	}
	return n.Items[0], nil
}

// Flow returns n on one line in canonical form: equal nodes give equal text, and ParseFlow reads
// the same node back.
func (n *Node) Flow() string {
	var parts []string
	switch n.Kind {
	case Text:
		return Quote(n.Text)
	case List:
		for _, it := range n.Items {
			parts = append(parts, it.Flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Mapping:
		for _, e := range n.Keys {
			parts = append(parts, Quote(e.Key)+": "+e.Value.Flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "null"
}

// NewText returns s as a node, for Flow to write.
func NewText(s string) *Node { return &Node{Kind: Text, Text: s} }

// NewList returns texts as a list.
func NewList(texts []string) *Node {
	n := &Node{Kind: List}
	for _, s := range texts {
		n.Items = append(n.Items, NewText(s))
	}
	return n
}

// Add adds a key to a mapping, unless its value is empty text or an empty list.
func (n *Node) Add(key string, value *Node) {
	if value.Kind == Mapping || value.Text != "" || len(value.Items) > 0 {
		n.Keys = append(n.Keys, Entry{Key: key, Value: value})
	}
}

// Quote returns s as one YAML scalar, unquoted if no YAML reader could misread it.
func Quote(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plain reports whether s is letters, digits and . / _ + - between single spaces, begins with a
// letter or digit, and is not null.
func plain(s string) bool {
	if s == "" || strings.EqualFold(s, "null") {
		return false
	}
	before := ' '
	for _, r := range s {
		letter := r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))
		switch {
		case letter:
		case before == ' ': // neither a sign, nor a second space, at the start of a word
			return false
		case r != ' ' && !strings.ContainsRune("./_+-", r):
			return false
		}
		before = r
	}
	return before != ' '
}
