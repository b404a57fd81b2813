package record

import "strings"

// About says what a value is about. Fields that do not apply are empty; a value of a whole trial has
// none. Names are those of the study, the machine or the program: they can contain any character.
type About struct {
	Host    string `json:"host,omitempty"`    // machine, where others can use it too
	Place   string `json:"place,omitempty"`   // host, pod or guest whose network namespace it is; of a thread without one, the machine's own
	End     string `json:"end,omitempty"`     // client, server, sender or receiver
	Program string `json:"program,omitempty"` // name of a process, without its arguments
	Thread  string `json:"thread,omitempty"`  // name of a thread in it
	Goal    string `json:"goal,omitempty"`    // largest share lost that a search tolerates, such as 0.5%
}

// A Key identifies a value of a trial.
type Key struct {
	Name Quantity `json:"name"`
	About
}

// Whole is the key of a value of a whole trial.
func (q Quantity) Whole() Key { return Key{Name: q} }

// At is the key of a value of an end.
func (q Quantity) At(end string) Key { return Key{q, About{End: end}} }

// On is the key of a value of a machine; the whole trial's for "".
func (q Quantity) On(host string) Key { return Key{q, About{Host: host}} }

// Goal is the key of what a search found for a goal on loss.
func (q Quantity) Goal(loss string) Key { return Key{q, About{Goal: loss}} }

// Thread is the key of a value of a thread, or of a program without one.
func (q Quantity) Thread(place, program, thread string) Key {
	return Key{q, About{Place: place, Program: program, Thread: thread}}
}

// Value is a value with the key.
func (k Key) Value(unit string, v float64) Value {
	return Value{Name: k.Name, About: k.about(), Unit: unit, Value: v}
}

// about is nil for a whole trial.
func (k Key) about() *About {
	if k.About == (About{}) {
		return nil
	}
	return &k.About
}

// String prints a key as Prometheus does: cpu.own{end=client}.
func (k Key) String() string {
	var labels []string
	for _, l := range [][2]string{{"host", k.Host}, {"place", k.Place}, {"end", k.End}, {"program", k.Program}, {"thread", k.Thread}, {"goal", k.Goal}} {
		if l[1] != "" {
			labels = append(labels, l[0]+"="+l[1])
		}
	}
	if labels == nil {
		return string(k.Name)
	}
	return string(k.Name) + "{" + strings.Join(labels, ",") + "}"
}

// Compare orders keys by quantity, then by what they are about.
func (k Key) Compare(o Key) int { return strings.Compare(k.String(), o.String()) }

// A Value is one number in a base unit.
type Value struct {
	Name Quantity `json:"name"`
	// About is nil for a whole trial, and values share it: read it by Key, and do not change it.
	*About
	Unit  string  `json:"unit"` // bit/s, packet/s, 1/s, s, s/bit, s/packet, core, byte, 1
	Value float64 `json:"value"`
	// Hist is the distribution whose median is Value: an HDR histogram of ns in the V2 compressed,
	// base64 encoding (hdrhistogram.org). Histograms are merged; percentiles are never averaged.
	Hist string `json:"hist,omitempty"`
}

// Key identifies v in its trial.
func (v Value) Key() Key {
	if v.About == nil {
		return v.Name.Whole()
	}
	return Key{v.Name, *v.About}
}

// Get returns the value of q of the whole trial.
func (r *Result) Get(q Quantity) (Value, bool) { return r.Value(q.Whole()) }

// Value returns the value with a key.
func (r *Result) Value(k Key) (Value, bool) {
	for i := range r.Values {
		if v := &r.Values[i]; v.Name == k.Name && v.Key() == k {
			return *v, true
		}
	}
	return Value{}, false
}
