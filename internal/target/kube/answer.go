package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weir-bench/weir/internal/bounds"
)

// maxQuoted bounds what an error quotes of what kubectl printed, bytes.
const maxQuoted = 80

// get decodes what `kubectl get ARGS -o json` prints: what args name, in the call's namespace.
func (k kubectl) get(ctx context.Context, into any, args ...string) error {
	args = append(append([]string{"get"}, args...), "-o", "json")
	b, err := k.call(ctx, nil, args...)
	if err != nil {
		return err
	}
	if err = decode(b, into); err == nil {
		err = k.asked(b, into, args)
	}
	return k.nonsense(err, b, args)
}

// create makes objects and returns them as the cluster stored them, in order.
func (k kubectl) create(ctx context.Context, objects []any, flags ...string) ([]stored, error) {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return nil, err
	}
	args := append([]string{"create", "-f", "-", "-o", "json"}, flags...)
	b, err := k.call(ctx, list, args...)
	if err != nil {
		return nil, err
	}
	made, err := decodeStored(b)
	if err == nil && len(made) != len(objects) {
		err = fmt.Errorf("%d objects, although weir made %d", len(made), len(objects))
	}
	for _, m := range made {
		if err == nil {
			err = k.here(m.Metadata.Namespace)
		}
	}
	return made, k.nonsense(err, b, args)
}

// asked returns an error unless an answer is about what was asked for: a list, or the object of a name, in the call's
// namespace. Another program called kubectl, or a proxy, can print anything.
func (k kubectl) asked(b []byte, into any, args []string) error {
	l, isList := into.(interface{ missing() bool })
	switch {
	case isList && l.missing():
		return errors.New("no list of " + args[1])
	case isList && k.namespace == "": // nodes can be many
		return nil
	}
	type named struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	var all struct {
		named
		Items []named `json:"items"`
	}
	if err := json.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("no valid JSON: %w", err)
	}
	if !isList && all.Metadata.Name != args[2] {
		return fmt.Errorf("no %s called %s", args[1], args[2])
	}
	for _, one := range append(all.Items, all.named) {
		if err := k.here(one.Metadata.Namespace); err != nil {
			return err
		}
	}
	return nil
}

// here returns an error if an object's namespace, where the answer names it, is not the call's.
func (k kubectl) here(namespace string) error {
	if k.namespace != "" && namespace != "" && namespace != k.namespace {
		return fmt.Errorf("an object of the namespace %s, although weir asked for those of %s", oneLine(namespace), k.namespace)
	}
	return nil
}

// nonsense is the error of a call that succeeded and whose output is not an answer: why, what it printed, and what to do.
// Asking again would not help. It is nil if why is nil.
func (k kubectl) nonsense(why error, b []byte, args []string) error {
	if why == nil {
		return nil
	}
	printed := "it printed nothing"
	if b = bytes.TrimSpace(b); len(b) > 0 {
		printed = fmt.Sprintf("it begins with %.*q", maxQuoted, b)
	}
	fix := "see what answers: " + k.typed(args...)
	if args[0] == "create" { // it read objects, which a user would have to type
		fix = "see what answers: " + k.typed("version")
	}
	return never{advise(fix, "kubectl %s printed %s; %s", called(args), oneLine(why.Error()), printed)}
}

// called names a call in an error.
func called(args []string) string {
	what, _, _ := strings.Cut(strings.Join(args[:min(2, len(args))], " "), " -")
	return what
}

func decode(b []byte, into any) error {
	if err := bounds.List(b, maxValues, maxItems); err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("no valid JSON: %w", err)
	}
	return nil
}

// decodeStored reads objects that follow each other, as create prints them, or a List of them.
func decodeStored(b []byte) (all []stored, err error) {
	if err := bounds.List(b, maxValues, maxItems); err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var s struct {
			stored
			Items []stored `json:"items"`
		}
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("no valid JSON: %w", err)
		case len(all) > maxItems:
			return nil, fmt.Errorf("more than %d objects", maxItems)
		case s.Kind == "List":
			all = append(all, s.Items...)
		default:
			all = append(all, s.stored)
		}
	}
}
