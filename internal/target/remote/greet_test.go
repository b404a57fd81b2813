package remote

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-bench/weir/internal/nstest"
	"github.com/weir-bench/weir/internal/plan"
)

// far answers a greeting: it says what respond makes of the nonce.
func far(conn net.Conn, respond func(nonce string) string) {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if words := strings.Fields(line); err == nil && len(words) > 1 {
		_, _ = io.WriteString(conn, respond(words[1])) // a failed write fails the near end
	}
	_, _ = io.Copy(io.Discard, conn) // until the near end gives up
	conn.Close()
}

func TestGreetings(t *testing.T) {
	for name, c := range map[string]struct {
		respond func(nonce string) string
		want    string
	}{
		"another version":   {func(n string) string { return "weir-agent " + n + " 1 v0.9\n" }, "far: the machine has weir v0.9 (protocol 1) and this is weir devel (protocol 1); use one version on both"},
		"another protocol":  {func(n string) string { return "weir-agent " + n + " 2 devel\n" }, "weir devel (protocol 2)"},
		"another nonce":     {func(string) string { return "weir-agent ABC 1 devel\n" }, "no answer within 1m0s; it printed: weir-agent ABC 1 devel"},
		"a question":        {func(string) string { return "Password: " }, "no answer within 1m0s; it printed: Password:"},
		"an echo":           {func(n string) string { return "weir-hello " + n + " 1 devel\n" }, "no answer within 1m0s"},
		"an endless banner": {func(string) string { return strings.Repeat("Welcome!\n", maxBanner/9+1) }, "65536 bytes arrived and none of them from weir"},
		"an endless line":   {func(string) string { return strings.Repeat("W", maxBanner+1) }, "none of them from weir"},
		"a terminal":        {func(n string) string { return "weir-agent " + n + " 1 devel\r\n" }, "a terminal in the connection changes bytes"},
		"silence":           {func(string) string { return "" }, "no answer within 1m0s; a firewall or a proxy on the way"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				go far(theirs, c.respond)
				if _, _, err := Dial(t.Context(), "far", ours, nil); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("error %v, want %s", err, c.want)
				}
				if _, err := ours.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("the connection is open: %v", err)
				}
			})
		})
	}
}

// A far end that goes away is explained with what it printed.
func TestNoAgent(t *testing.T) {
	p := started(t, "sh", "-c", `read greeting; printf 'This account is \033[1mnot available.\n'; echo reason >&2; exit 1`)
	_, _, err := Dial(t.Context(), "far", p, nil)
	if want := "far: sh ended with exit status 1: reason; it printed: This account is \\x1b[1mnot available."; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Dial gives up with its context, and names the cause.
func TestDialCanceled(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = theirs.Read(make([]byte, 1)) // the greeting has begun
		cancel(why)
	}()
	if _, _, err := Dial(ctx, "far", ours, nil); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
}

// banner prints before the agent does.
type banner struct {
	io.Writer
	text string
}

func (b *banner) Write(p []byte) (int, error) {
	if b.text != "" {
		if _, err := io.WriteString(b.Writer, b.text); err != nil {
			return 0, err
		}
		b.text = ""
	}
	return b.Writer.Write(p)
}

// Banners do no harm, not even one without a line end, or one that looks like weir's.
func TestBanners(t *testing.T) {
	for _, text := range []string{"Welcome to far!\r\nLast login: today\n", "no line end: ", "weir-agent ABC 1 other\n", strings.Repeat("\x00\xff\n", 10_000)} {
		ours, theirs := net.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- Serve(theirs, &banner{theirs, text}, "") }()
		n, hello, err := Dial(t.Context(), "far", ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		if hello.Weir != Version || hello.Machine == "" || !strings.HasPrefix(hello.Network, "net:") {
			t.Errorf("hello %+v", hello)
		}
		if b, err := fs.ReadFile(n.FS(), "proc/sys/kernel/ostype"); err != nil || string(b) != "Linux\n" {
			t.Errorf("%q, %v", b, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// The far end refuses what is not a greeting, and waits for one in silence.
func TestNotGreeted(t *testing.T) {
	for said, want := range map[string]string{"": "EOF", "GET / HTTP/1.1\r\n": `got "GET / HTTP/1.1\r\n"`, strings.Repeat("x", 10_000): "buffer full"} {
		var out strings.Builder
		if err := Serve(strings.NewReader(said), &out, ""); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("%.20q: %v and %q, want %s and nothing", said, err, out.String(), want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		in, silent := io.Pipe()
		begin := time.Now()
		if err := Serve(in, io.Discard, ""); err == nil || time.Since(begin) != farTimes.greet {
			t.Errorf("it ended after %v with %v", time.Since(begin), err)
		}
		silent.Close()
	})
}

// A machine that is not weir's is not changed.
func TestWatcher(t *testing.T) {
	var w watcher
	if err := w.Step(t.Context(), plan.Step{}); err == nil {
		t.Error("a step was applied")
	}
	for _, c := range []struct {
		state plan.State
		want  string
	}{
		{plan.State{Dev: "lo", MTU: 1}, "MTU of lo is "},
		{plan.State{Dev: "none", MTU: 1}, "device none: "},
		{plan.State{Dev: "lo", MTU: 65536, Offload: map[string]bool{"x": true}}, "cannot check"},
	} {
		if err := w.Check(c.state); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.state, err, c.want)
		}
	}
}

// Whatever arrives before the answer, an answer is only what follows the word and the nonce.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("Welcome!\nweir-bootstrap N machine x86_64\n"))
	f.Add([]byte("x weir-bootstrap N \r\n"))
	f.Add([]byte("weir-bootstrap M machine\nweir-bootstrap N directory /tmp/\x1b[1m\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		text, err := (&talk{in: bufio.NewReader(strings.NewReader(string(b))), nonce: "N"}).answer(bootWord)
		if err == nil && (!strings.Contains(string(b), bootWord+" N ") || strings.ContainsAny(text, "\n\r\x1b")) {
			t.Errorf("the answer is %q", text)
		}
	})
}

// A node lists its devices, and explains why there is no route.
func TestDevices(t *testing.T) {
	nstest.Need(t)
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(theirs, theirs, "") }()
	n, _, err := Dial(t.Context(), "far", ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { n.Close(); <-ended }()
	links, err := Links(t.Context(), n)
	if err != nil || len(links) == 0 || links[0].Name != "lo" || links[0].MTU == 0 {
		t.Errorf("devices %+v, %v, want the loopback device first", links, err)
	}
	want := "far: find the route to 192.0.2.1: network is unreachable"
	if from, dev, err := Source(t.Context(), n, netip.MustParseAddr("192.0.2.1")); err == nil || err.Error() != want || !errors.Is(err, syscall.ENETUNREACH) {
		t.Errorf("from %v on %q, %v, want %s", from, dev, err, want)
	}
}
