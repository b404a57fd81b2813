package strictyaml

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of a file, within the recursive parser's limits.
const (
	MaxSource = 64 << 10 // bytes
	maxDepth  = 50       // of nested lists and mappings
)

// A Node is YAML reduced to text, lists and mappings. The reader decides whether a text is a
// number, so 1.10 stays 1.10.
type Node struct {
	Line  int // counted from 1; 0 when the node does not come from a file
	Kind  Kind
	Text  string
	Items []*Node // of a list
	Keys  []Entry // of a mapping, in the order of the file
}

type Kind string

const (
	Text    Kind = "text"
	Null    Kind = "nothing"
	List    Kind = "a list"
	Mapping Kind = "a mapping"
)

type Entry struct {
	Key   string
	Line  int
	Value *Node
}

func (n *Node) Get(key string) *Node {
	for _, e := range n.Keys {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

type Error struct {
	File string // empty when the text did not come from a file
	Line int    // counted from 1; 0 when the mistake has no line
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

var errDeep = fmt.Errorf("nested more than %d levels deep", maxDepth)

// Parse reads the only document in src, or nil if there is none.
func Parse(src []byte) (*Node, *Error) {
	if len(src) > MaxSource {
		return nil, &Error{Err: fmt.Errorf("file has %d bytes: want at most %d", len(src), MaxSource)}
	}
	if !utf8.Valid(src) {
		return nil, &Error{Err: errors.New("not UTF-8 text")}
	}
	tokens := lexer.Tokenize(string(src))
	if line := deep(tokens); line > 0 {
		return nil, &Error{Line: line, Err: errDeep}
	}
	f, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, yamlError(err)
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, &Error{Line: lineOf(d.Body), Err: errors.New("second YAML document: a file holds only one")}
		}
		body = d.Body
	}
	if body == nil {
		return nil, nil
	}
	return convert(body, 0)
}

// deep returns the line in which brackets, or entries of a list within each other, are nested too deep; 0 if none are.
// The parser's time and memory grow with the square of the depth: 60 kB of brackets took 3.6 GB.
func deep(tokens token.Tokens) int {
	open, entries, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			if t.Position.Line != line {
				entries, line = 0, t.Position.Line
			}
			entries++
		}
		if max(open, entries) > maxDepth+1 {
			return t.Position.Line
		}
	}
	return 0
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

func convert(a ast.Node, depth int) (*Node, *Error) {
	n := &Node{Line: lineOf(a), Kind: Text}
	if depth > maxDepth {
		return nil, &Error{Line: n.Line, Err: errDeep}
	}
	switch a := a.(type) {
	case *ast.NullNode:
		n.Kind = Null
	case *ast.StringNode:
		n.Text = a.Value
	case *ast.LiteralNode:
		n.Text = a.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.Text = a.GetToken().Value
	case *ast.SequenceNode:
		n.Kind = List
		for _, v := range a.Values {
			item, err := convert(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, item)
		}
	case *ast.MappingNode:
		return convertMapping(n, a, depth)
	default:
		// Anchors, aliases, merges and tags give one text several meanings.
		return nil, &Error{Line: n.Line, Err: fmt.Errorf("YAML %s is not supported: write the value out", strings.ToLower(a.Type().String()))}
	}
	return n, nil
}

func convertMapping(n *Node, a *ast.MappingNode, depth int) (*Node, *Error) {
	n.Kind = Mapping
	for _, v := range a.Values {
		key, err := convert(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if len(n.Keys) == 0 {
			n.Line = key.Line // the token of a mapping is its first colon
		}
		if key.Kind != Text {
			return nil, &Error{Line: key.Line, Err: fmt.Errorf("a key must be text, not %s", key.Kind)}
		}
		if n.Get(key.Text) != nil {
			return nil, &Error{Line: key.Line, Err: fmt.Errorf("duplicate key %q", key.Text)}
		}
		value, err := convert(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		n.Keys = append(n.Keys, Entry{key.Text, key.Line, value})
	}
	return n, nil
}
