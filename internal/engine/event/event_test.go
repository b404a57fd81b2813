package event

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRoundTrip(t *testing.T) {
	cpu, wait := 0, 0.0 // a wait of 0 is known
	head := func(workload string) Head { return NewHead(workload, "10.0.0.1:5202", 64, time.Second) }
	for _, r := range []any{
		&TCPStream{Head: head("tcp-stream"), StreamBytes: []int64{1}, Bytes: 1, Own: Own{ClientTime: 0.5, ServerTime: 0.25, ClientWait: &wait, ClientTCP: &TCP{Busy: 0.1, SegmentsOut: 7}}},
		&UDPStream{Head: head("udp-stream"), SendErrors: map[string]int64{"EAGAIN": 2}},
		&UDPStream{Head: head("udp-stream"), Streams: 2, StreamBytes: []int64{0, 3}, SendErrors: map[string]int64{}},
		&UDPSearch{Head: head("udp-search"), Found: Found{Lower: 1, Limit: LimitPath}, Phases: []Phase{{Sent: 1}}},
		&RR{Head: head("udp-rr"), CPU: &cpu, Split: Split{Stamps: NoStamps + "why", PathHist: "HIST"}},
		&Open{RR: RR{Head: head("udp-open")}, Rate: 20},
		&Outages{Head: head("udp-outage"), Back: Gaps{Count: 1, Total: 5, Longest: 5, List: []Gap{{Begin: 1, End: 7, Length: 5, After: true}}}, Timeline: Timeline{Bin: 1, Replies: []int64{3}}},
		&TCPOutages{Outages: Outages{Head: head("tcp-outage"), Timeline: Timeline{Bin: 1, Replies: []int64{3}}}, Broken: &Broken{5, "ECONNRESET"}, Timers: &Timers{1, 1, 0.2}},
		&ConnectOutages{Outages: Outages{Head: head("connect-outage"), Timeline: Timeline{Bin: 1, Replies: []int64{3}}}, Errors: map[string]int64{"ECONNREFUSED": 2}},
		&CRR{RR: RR{Head: head("tcp-crr")}, ConnectHist: "HIST"},
		&Web{RR: RR{Head: head("http-connect")}, HandshakeHist: "HIST", Resumed: 1},
		&Ping{Head: head("ping"), Socket: "raw"},
		&Reach{Head: head("reach"), Tries: 1},
	} {
		line, err := Line(r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(line), MarkResult) {
			t.Errorf("%s does not begin with %s", line, MarkResult)
		}
		workload := reflect.ValueOf(r).Elem().FieldByName("Workload").String()
		got := reflect.New(reflect.TypeOf(r).Elem()).Interface()
		if err := Read([]byte(MarkBegin+"\n"+MarkEnd+"\n"+string(line)), workload, got); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: read %+v (%v)", line, got, err)
		}
	}
}

func TestLines(t *testing.T) {
	for _, tc := range []struct {
		v          any
		mark, want string
	}{
		{Ready{Event: KindReady, Address: "10.0.0.1:5202"}, MarkReady, `{"event":"ready","address":"10.0.0.1:5202"}`},
		{Ready{Event: KindReady, Address: "x", Token: "secret"}, MarkReady, `{"event":"ready","address":"x","token":"secret"}`},
		{Ready{Event: KindReady, CPUs: []int{0, 1}}, MarkReady, `{"event":"ready","cpus":[0,1]}`},
		{Error{Event: KindError, Error: "no"}, MarkError, `{"event":"error","error":"no"}`},
		{Error{KindError, "no", &Blocked{Carries: 1450, Not: 1451}}, MarkError, `{"event":"error","error":"no","blocked":{"carries":1450,"not":1451}}`},
		{Count{Event: KindCount, At: 5}, MarkCount, `{"event":"count","at":5}`},
		{Count{Event: KindCount, At: 5, Bytes: 1, Messages: 2, CPU: 3}, MarkCount, `{"event":"count","at":5,"bytes":1,"messages":2,"cpu":3}`},
	} {
		line, err := Line(tc.v)
		if err != nil || string(line) != tc.want+"\n" || !strings.HasPrefix(string(line), tc.mark) {
			t.Errorf("%+v: %s (%v), want %s", tc.v, line, err, tc.want)
		}
	}
	if MarkBegin != `{"event":"begin"}` || MarkEnd != `{"event":"end"}` {
		t.Errorf("marks %s and %s", MarkBegin, MarkEnd)
	}
}

// Recorded outputs print again byte for byte.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("../../probe/testdata/native/*.out")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded output (%v)", err)
	}
	for _, file := range files {
		out, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		last := out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]
		var head Head
		if err := json.Unmarshal(last, &head); err != nil {
			t.Fatal(err)
		}
		if head.Event == KindError {
			continue
		}
		r := map[string]any{"tcp-stream": &TCPStream{}, "udp-stream": &UDPStream{}, "udp-search": &UDPSearch{}, "tcp-rr": &RR{},
			"udp-rr": &RR{}, "udp-open": &Open{}, "udp-outage": &Outages{}, "tcp-outage": &TCPOutages{}, "connect-outage": &ConnectOutages{}, "tcp-crr": &CRR{}, "ping": &Ping{},
			"http-rr": &Web{}, "http-connect": &Web{}, "h2-rr": &Web{}, "grpc-rr": &Web{}, "quic-rr": &Web{}, "dns-rr": &Web{}, "dns-lookup": &Web{}}[head.Workload]
		if err := Read(out, head.Workload, r); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if line, err := Line(r); err != nil || string(line) != string(last) {
			t.Errorf("%s: printed again as %.300s (%v)", file, line, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	line, err := Line(UDPStream{Head: NewHead("udp-stream", "x", 1, 1), SendErrors: map[string]int64{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(MarkBegin + "\n" + MarkEnd + "\n" + string(line)))
	f.Add([]byte(`{"event":"error","error":"engine: no"}`))
	f.Fuzz(func(t *testing.T, out []byte) {
		var r UDPStream
		if err := Read(out, "udp-stream", &r); err == nil && (r.Engine != Version || r.Workload != "udp-stream" || r.Bytes < 0 || r.Jitter < 0) {
			t.Errorf("%q: %+v", out, r)
		}
	})
}
