package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"time"

	"github.com/weir-bench/weir/internal/caught"
)

// Where one machine cannot keep a pipe to every agent, the agents dial a coordinator. Both ends prove
// that they hold the run's token: with mutual TLS 1.3, whose certificates each end derives from the
// token. The token is never sent, an agent obeys nobody else, and nobody between the two reads or
// changes what they say. Then the agent states its place in a line of JSON, and the coordinator greets
// it like an agent behind any other pipe.

// The roles of the two ends. Each has a key of its own, so that none can pass for the other.
const (
	coordinatorRole = "coordinator"
	agentRole       = "agent"
)

// identity returns the certificate of a role for holders of the token.
func identity(token, role string) (tls.Certificate, error) {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "weir join %d\n%s", protocol, role)
	key := ed25519.NewKeyFromSeed(mac.Sum(nil))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// errToken refuses an end that lacks the token.
var errToken = errors.New("the other end does not hold the token of this run")

// proving returns how an end in the role own meets one in the role other.
func proving(token, own, other string) (*tls.Config, error) {
	mine, err := identity(token, own)
	if err != nil {
		return nil, err
	}
	theirs, err := identity(token, other)
	if err != nil {
		return nil, err
	}
	want, _ := theirs.PrivateKey.(ed25519.PrivateKey) // identity makes no other
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{mine},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		InsecureSkipVerify:     true, // there are no names or authorities: the key decides
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 {
				return errToken
			}
			key, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
			if !ok || !key.Equal(want.Public()) {
				return errToken
			}
			return nil
		},
	}, nil
}

const (
	// joinTime bounds a connection attempt and its proofs.
	joinTime = 10 * time.Second
	// joinAgain is the pause between attempts.
	joinAgain = 2 * time.Second
	// joinWithin is how long an agent tries to reach the coordinator, at first and after a loss.
	joinWithin = 5 * time.Minute
	// maxPlace bounds what an agent says about its place, bytes.
	maxPlace = 64 << 10
	// joining is how many agents can be proving themselves at once.
	joining = 64
)

// Join is the body of an agent that dials the coordinator at addr (HOST:PORT): it proves that it holds
// the token, states its place, and serves until the coordinator ends the connection. Then it
// returns nil. It dials again when the connection breaks, for five minutes.
func Join(ctx context.Context, addr, token string, place any) error {
	return JoinAs(ctx, addr, token, place, watch)
}

// JoinAs is Join for another agent than package agent's: serve gets the messages of package agent.
// Simulations of many machines have one.
func JoinAs(ctx context.Context, addr, token string, place any, serve func(io.ReadWriter) error) error {
	conf, err := proving(token, agentRole, coordinatorRole)
	if err != nil {
		return err
	}
	line, err := json.Marshal(place)
	if err != nil {
		return err
	}
	for since := time.Now(); ; {
		served, err := join(ctx, addr, conf, append(line, '\n'), serve)
		switch {
		case served && err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case served:
			since = time.Now()
		case time.Since(since) > joinWithin:
			return fmt.Errorf("cannot join the coordinator at %s: %w; a NetworkPolicy or a firewall must let TCP from weir's agents through to this port, or the coordinator has ended", addr, err)
		}
		select {
		case <-time.After(joinAgain):
		case <-ctx.Done():
		}
	}
}

// uncut is the TCP connection below TLS, whose end is an error: TLS ends with a message of its own, close_notify
// (RFC 8446, section 6.1). Package crypto/tls forgives its lack between two records.
type uncut struct{ net.Conn }

var errCut = errors.New("the connection broke: TCP ended before TLS did")

func (c uncut) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return n, err
}

// join joins once. served means that the coordinator has taken the agent.
func join(ctx context.Context, addr string, conf *tls.Config, place []byte, serve func(io.ReadWriter) error) (served bool, err error) {
	near, cancel := context.WithTimeoutCause(ctx, joinTime, fmt.Errorf("no answer within %v", joinTime))
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(near, "tcp", addr)
	if err != nil {
		return false, err
	}
	conn := tls.Client(uncut{raw}, conf)
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := conn.HandshakeContext(near); err != nil {
		return false, err
	}
	if _, err := conn.Write(place); err != nil {
		return false, err
	}
	// A coordinator that refuses the agent says so only now: in TLS 1.3 the client is done first.
	in := bufio.NewReader(conn)
	err = conn.SetReadDeadline(time.Now().Add(farTimes.greet))
	if err == nil {
		_, err = in.Peek(1)
	}
	if err = errors.Join(err, conn.SetReadDeadline(time.Time{})); err != nil {
		return false, err
	}
	return true, obey(in, conn, farTimes, serve)
}

// Admit accepts agents on l until it is closed, and calls joined in a goroutine for each that proves that
// it holds the token. joined owns the connection, which remote.Dial continues. refused hears of others;
// they cost a bounded time and memory, and never more than some at once.
func Admit(l net.Listener, token string, joined func(conn net.Conn, place []byte), refused func(error)) error {
	conf, err := proving(token, coordinatorRole, agentRole)
	if err != nil {
		return err
	}
	slots := make(chan struct{}, joining)
	for {
		slots <- struct{}{}
		raw, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			<-slots
			refused(err)
			time.Sleep(joinAgain / 10) // such as too many open files
			continue
		}
		go func() {
			var conn net.Conn
			var place []byte
			err := caught.Error(func() (err error) { conn, place, err = admit(raw, conf); return err })
			<-slots
			if err != nil {
				_ = raw.Close() // the failure matters more
				refused(fmt.Errorf("%v: %w", raw.RemoteAddr(), err))
				return
			}
			joined(conn, place)
		}()
	}
}

// admit checks the agent at the other end of a connection and returns what it says about its place.
func admit(raw net.Conn, conf *tls.Config) (net.Conn, []byte, error) {
	if err := raw.SetDeadline(time.Now().Add(joinTime)); err != nil {
		return nil, nil, err
	}
	conn := tls.Server(uncut{raw}, conf)
	// The agent is silent after this line, until it is greeted: the buffer swallows nothing.
	place, err := bufio.NewReaderSize(conn, maxPlace).ReadSlice('\n')
	if err != nil {
		return nil, nil, err
	}
	return conn, bytes.Clone(place), raw.SetDeadline(time.Time{})
}
