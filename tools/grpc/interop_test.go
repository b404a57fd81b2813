// Package grpc checks weir's unary gRPC against grpc-go, which is no dependency of weir.
package grpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/web"
)

var sizes = []int{0, 1, 64, 127, 128, 20_000, event.MaxBody}

const method = "/weir.Bench/Answer"

func ends(t *testing.T) (identity tls.Certificate, trust *tls.Config, l net.Listener) {
	t.Helper()
	identity, err := web.Identify(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err == nil {
		trust, err = web.Trust(identity.Certificate[0], false, "h2")
	}
	if err == nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	return identity, trust, l
}

// grpc-go's client reads the answers of weir's server, and its refusals.
func TestServer(t *testing.T) {
	identity, trust, l := ends(t)
	answered := make(chan int, 1)
	server := web.NewServer(identity, func(n int) { answered <- n })
	go func() { _ = server.ServeTLS(l, "", "") }()
	defer server.Close()
	c, err := grpc.NewClient("passthrough:///"+l.Addr().String(), grpc.WithTransportCredentials(credentials.NewTLS(trust)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, n := range sizes {
		var got wrapperspb.BytesValue
		if err := c.Invoke(t.Context(), method, wrapperspb.UInt32(uint32(n)), &got); err != nil || len(got.Value) != n || <-answered != n {
			t.Errorf("asked for %d bytes, got %d: %v", n, len(got.Value), err)
		}
	}
	for _, tc := range []struct {
		method string
		size   uint32
		want   codes.Code
	}{{"/weir.Bench/Nothing", 1, codes.Unimplemented}, {method, event.MaxBody + 1, codes.InvalidArgument}} {
		err := c.Invoke(t.Context(), tc.method, wrapperspb.UInt32(tc.size), &wrapperspb.BytesValue{})
		if status.Code(err) != tc.want {
			t.Errorf("%s of %d bytes: %v, want %v", tc.method, tc.size, err, tc.want)
		}
	}
}

// weir's client reads the answers of grpc-go's server, and its errors.
func TestClient(t *testing.T) {
	identity, trust, l := ends(t)
	answer := func(_ any, _ context.Context, read func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var n wrapperspb.UInt32Value
		if err := read(&n); err != nil {
			return nil, err
		}
		if n.Value == 7 {
			return nil, status.Error(codes.ResourceExhausted, "no sevens left")
		}
		return wrapperspb.Bytes(bytes.Repeat([]byte{'x'}, int(n.Value))), nil
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&identity)))
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "weir.Bench", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Answer", Handler: answer}}}, nil)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	client, err := web.NewH2(conn, trust, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	stream := client.Stream()
	ask := func(n int) error {
		c, err := web.NewCall(n)
		if err != nil {
			return err
		}
		r, err := stream.Do(c.Request())
		if err != nil {
			return err
		}
		return c.Check(r)
	}
	for _, n := range sizes {
		if err := ask(n); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if err := ask(7); err == nil || !strings.Contains(err.Error(), `grpc-status 8: "no sevens left"`) {
		t.Errorf("an error of the server is read as %v", err)
	}
}
