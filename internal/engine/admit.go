package engine

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A server that is not open admits who holds its token. The client shows that it
// does, and never the token: it answers the server's challenge with a MAC over the
// challenge and over what it asks for. This is the two-pass unilateral
// authentication of ISO/IEC 9798-4 with HMAC-SHA-256 (RFC 2104). A challenge is
// good for one connection, so an answer that was overheard is worth nothing, and
// neither is one to another request. Who overhears can try tokens at home, which
// is why a token has minToken characters or more.
const (
	minToken = 16
	maxToken = 256
	// tokenVariable is the environment variable with the token. Unlike an
	// argument, other users of the machine cannot read it (proc(5), environ).
	tokenVariable = "WEIR_TOKEN"
)

// prove returns the answer to a challenge for a hello line, without its newline.
func prove(token, challenge string, hello []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "weir engine %d\n%s\n", wire.Version, challenge) // neither holds a newline
	mac.Write(hello)
	return hex.EncodeToString(mac.Sum(nil))
}

// errToken is what a client learns that has another token, or none.
var errToken = fmt.Errorf("the token is not this server's: set %s to the one that it printed, without blanks", tokenVariable)

// challenge lets a connection go on whose client holds the token.
func (s *server) challenge(fd int, hello []byte, deadline int64) error {
	if s.token == "" {
		return nil
	}
	nonce := rand.Text() // at least 128 bits
	if err := sock.WriteJSON(fd, wire.Accepted{Weir: wire.Version, Challenge: nonce}, deadline, s.stop); err != nil {
		return err
	}
	var a wire.Admission
	if err := sock.ReadJSON(fd, &a, deadline, s.stop); err != nil {
		return err
	}
	if !hmac.Equal([]byte(a.Proof), []byte(prove(s.token, nonce, hello))) {
		return errToken
	}
	return nil
}

// A tokenSource is where a token comes from: at most one of the two, or else the
// environment.
type tokenSource struct{ word, file string }

// read returns the token, "" when there is none anywhere.
func (t tokenSource) read() (string, error) {
	token, from := os.Getenv(tokenVariable), tokenVariable
	switch {
	case t.word != "" && t.file != "":
		return "", errors.New("--token and --token-file are two tokens: give one")
	case t.word != "":
		token, from = t.word, "--token"
	case t.file != "":
		b, err := os.ReadFile(t.file)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, from = strings.TrimSpace(string(b)), t.file
		if token == "" {
			return "", fmt.Errorf("%s holds no token", from)
		}
	}
	if token == "" {
		return "", nil
	}
	if len(token) < minToken || len(token) > maxToken {
		return "", fmt.Errorf("the token of %s has %d characters, outside %d..%d: leave it out, and the server makes a good one", from, len(token), minToken, maxToken)
	}
	for _, r := range token {
		if r <= ' ' || r > '~' {
			return "", fmt.Errorf("the token of %s has a character other than printable ASCII without blanks", from)
		}
	}
	return token, nil
}

// A grant lets one UDP client take part: the one that was admitted over TCP, and
// told a secret there. Until it has shown that in its hello nothing is answered,
// and from then on nothing that comes from elsewhere. So a forged source address
// makes the server send to nobody but the client that it waits for.
type grant struct {
	wire.Params
	peer   netip.Addr
	secret string

	greeted bool
	from    unix.RawSockaddrAny // of the greeting
}

// admits reports whether the n bytes in u.msg may be answered.
func (u *udpServer) admits(h wire.Header, n int) bool {
	g := u.only
	switch {
	case g == nil: // an open server
		return true
	case h.Run != g.Run:
		return false
	case g.greeted:
		return u.msg.Name == g.from
	case h.Kind != wire.KindHello:
		return false
	}
	var p wire.Params
	if wire.StrictJSON(u.msg.Buf[wire.HeaderSize:n], &p) != nil || subtle.ConstantTimeCompare([]byte(p.Secret), []byte(g.secret)) != 1 {
		return false
	}
	p.Secret = ""
	g.greeted = p == g.Params && u.msg.From() == g.peer.WithZone("")
	g.from = u.msg.Name
	return g.greeted
}
