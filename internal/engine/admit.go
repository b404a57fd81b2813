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
	"github.com/weir-bench/weir/internal/foreign"
)

// A server that is not open admits only clients that hold its token. A client proves that it holds
// the token without sending it: it answers the server's challenge with a MAC over the challenge and
// its own request (two-pass unilateral authentication, ISO/IEC 9798-4, with HMAC-SHA-256,
// RFC 2104). A challenge is valid for one connection, so an overheard answer is worthless. An
// eavesdropper can try tokens offline; hence minToken characters.
const (
	minToken = 16
	maxToken = 256
	// tokenVariable names an environment variable: other users cannot read it (proc(5), environ),
	// unlike an argument.
	tokenVariable = "WEIR_TOKEN"
)

// prove returns the answer to a challenge for a hello line, without its newline.
func prove(token, challenge string, hello []byte) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "weir engine %d\n%s\n", wire.Version, challenge) // neither contains a newline
	mac.Write(hello)
	return hex.EncodeToString(mac.Sum(nil))
}

// errToken refuses a client with another token, or none.
var errToken = fmt.Errorf("not this server's token: set %s to the one that the server printed, without spaces", tokenVariable)

// challenge returns nil if the client holds the token.
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

// maxTokenFile bounds the file of a token, bytes.
const maxTokenFile = 4 << 10

// A tokenSource is at most one of the two flags, otherwise the environment.
type tokenSource struct{ word, file string }

// read returns the token, "" if there is none.
func (t tokenSource) read() (string, error) {
	token, from := os.Getenv(tokenVariable), tokenVariable
	switch {
	case t.word != "" && t.file != "":
		return "", errors.New("--token and --token-file cannot be combined; use one")
	case t.word != "":
		token, from = t.word, "--token"
	case t.file != "":
		b, err := foreign.ReadFile(t.file, maxTokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		token, from = strings.TrimSpace(string(b)), t.file
		if token == "" {
			return "", fmt.Errorf("%s is empty: want a token", from)
		}
	}
	if token == "" {
		return "", nil
	}
	if len(token) < minToken || len(token) > maxToken {
		return "", fmt.Errorf("the token of %s has %d characters, outside %d..%d; omit it and the server makes one", from, len(token), minToken, maxToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the token of %s has a character that is not printable ASCII, or a space", from)
	}
	return token, nil
}

// A grant lets one UDP client take part: the one that was admitted over TCP and received a secret
// there. Until a hello shows the secret the server answers nothing, and afterwards only its sender.
// So a forged source address makes the server send only to the client that it expects.
type grant struct {
	wire.Params
	peer   netip.Addr
	secret string

	greeted bool
	from    unix.RawSockaddrAny // of the greeting
}

// admits reports whether the server may answer the n bytes in u.msg.
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
