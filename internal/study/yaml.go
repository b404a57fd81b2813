package study

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of a file. They keep the parser, which recurses, away from its limits.
const (
	maxSource = 64 << 10 // bytes
	maxDepth  = 50       // of nested lists and mappings
)

// A node is YAML reduced to what a study may use: text, lists and mappings.
// Whether text is a number is for whoever reads it to say, so that a level 1.10
// stays 1.10.
type node struct {
	line  int
	kind  kind
	text  string
	items []*node // of a list
	keys  []entry // of a mapping, as in the file
}

type kind string

const (
	text    kind = "text"
	null    kind = "nothing"
	list    kind = "a list"
	mapping kind = "a mapping"
)

type entry struct {
	key   string
	line  int
	value *node
}

// get returns the value of key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.keys {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// An Error is something wrong in a file.
type Error struct {
	File string // empty when the text did not come from a file
	Line int    // counted from 1; 0 when no line is to blame
	Err  error
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0 && e.File == "":
		return e.Err.Error()
	case e.Line == 0:
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	case e.File == "":
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// parse reads the only document in src; nil means that there is none.
func parse(src []byte) (*node, *Error) {
	if len(src) > maxSource {
		return nil, &Error{Err: fmt.Errorf("%d bytes are more than the %d that a study may have", len(src), maxSource)}
	}
	if !utf8.Valid(src) {
		return nil, &Error{Err: errors.New("not UTF-8 text")}
	}
	f, err := parser.ParseBytes(src, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &Error{Line: lineOf(d.Body), Err: errors.New("a second document: a file holds one study")}
		}
		body = d.Body
	}
	if body == nil {
		return nil, nil
	}
	return convert(body, 0)
}

func yamlError(err error) *Error {
	var ye yaml.Error
	if errors.As(err, &ye) && ye.GetToken() != nil && ye.GetToken().Position != nil {
		return &Error{Line: ye.GetToken().Position.Line, Err: errors.New(ye.GetMessage())}
	}
	return &Error{Err: err}
}

func lineOf(n ast.Node) int {
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		return tk.Position.Line
	}
	return 0
}

func convert(a ast.Node, depth int) (*node, *Error) {
	n := &node{line: lineOf(a), kind: text}
	if depth > maxDepth {
		return nil, &Error{Line: n.line, Err: fmt.Errorf("nested more than %d levels deep", maxDepth)}
	}
	switch a := a.(type) {
	case *ast.NullNode:
		n.kind = null
	case *ast.StringNode:
		n.text = a.Value
	case *ast.LiteralNode:
		n.text = a.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.text = a.GetToken().Value
	case *ast.SequenceNode:
		n.kind = list
		for _, v := range a.Values {
			item, err := convert(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, item)
		}
	case *ast.MappingNode:
		return convertMapping(n, a, depth)
	default:
		// Anchors, aliases, merges and tags give one text several meanings.
		return nil, &Error{Line: n.line, Err: fmt.Errorf("YAML's %s is not used in studies: write the value out", strings.ToLower(a.Type().String()))}
	}
	return n, nil
}

func convertMapping(n *node, a *ast.MappingNode, depth int) (*node, *Error) {
	n.kind = mapping
	for _, v := range a.Values {
		key, err := convert(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if len(n.keys) == 0 {
			n.line = key.line // the token of a mapping is its first colon
		}
		if key.kind != text {
			return nil, &Error{Line: key.line, Err: fmt.Errorf("a key must be text, not %s", key.kind)}
		}
		if n.get(key.text) != nil {
			return nil, &Error{Line: key.line, Err: fmt.Errorf("key %q is there twice", key.text)}
		}
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		n.keys = append(n.keys, entry{key.text, key.line, value})
	}
	return n, nil
}

// flow writes n on one line. It is canonical: equal nodes give equal text, and
// parse reads the same node back.
func (n *node) flow() string {
	var b strings.Builder
	switch n.kind {
	case text:
		return quote(n.text)
	case null:
		return "null"
	case list:
		b.WriteString("[")
		for i, it := range n.items {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(it.flow())
		}
		b.WriteString("]")
	case mapping:
		b.WriteString("{")
		for i, e := range n.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quote(e.key) + ": " + e.value.flow())
		}
		b.WriteString("}")
	}
	return b.String()
}

// quote writes s as one YAML scalar, without quotes when nobody could read it
// as anything else.
func quote(s string) string {
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

// plain reports whether s is letters, digits and . / _ + - between single
// spaces, begins with a letter or digit, and is not YAML's word for nothing.
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
