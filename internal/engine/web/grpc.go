package web

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-bench/weir/internal/engine/event"
)

// Unary gRPC over the HTTP/2 of net/http (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). A call's message is a
// google.protobuf.UInt32Value, the bytes asked for, and its answer's a google.protobuf.BytesValue of as many: clients and servers of
// grpc-go understand both.
const (
	grpcMethod = "/weir.Bench/Answer"
	grpcType   = "application/grpc"
	grpcPrefix = 5 // bytes: whether the message is compressed, and its length

	grpcInvalid, grpcUnimplemented = 3, 12 // google.golang.org/grpc/codes
)

// frame returns the beginning of a message with one field, number 1 (key: its number and wire type); field is what follows the key
// before rest bytes. Of a field with its default value nothing is sent.
func frame(key byte, field uint64, rest int) []byte {
	b := make([]byte, grpcPrefix, 16)
	if field > 0 {
		b = binary.AppendUvarint(append(b, key), field)
	}
	binary.BigEndian.PutUint32(b[1:], uint32(len(b)-grpcPrefix+rest))
	return b
}

func grpcCall(size int) []byte   { return frame(1<<3, uint64(size), 0) }      // field 1, a varint
func grpcAnswer(size int) []byte { return frame(1<<3|2, uint64(size), size) } // field 1, bytes

// called returns how many bytes a call asks for.
func called(r io.Reader) (int, error) {
	b, err := io.ReadAll(io.LimitReader(r, 16))
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	if len(b) > grpcPrefix+1 {
		n, _ = binary.Uvarint(b[grpcPrefix+1:])
	}
	if n > event.MaxBody || !bytes.Equal(b, grpcCall(int(n))) {
		return 0, fmt.Errorf("message %x: want a UInt32Value of 0 to %d, not compressed", b, event.MaxBody)
	}
	return int(n), nil
}

// serveGRPC answers a call; body has zeros for the longest answer.
func serveGRPC(w http.ResponseWriter, r *http.Request, body []byte, answered func(bytes int)) {
	status := func(code int, why string) {
		h := w.Header()
		h["Content-Type"], h["Grpc-Status"], h["Grpc-Message"] = []string{grpcType}, []string{strconv.Itoa(code)}, []string{why}
	}
	if r.URL.Path != grpcMethod {
		status(grpcUnimplemented, fmt.Sprintf("no method %.100q", r.URL.Path))
		return
	}
	n, err := called(r.Body)
	if err != nil {
		status(grpcInvalid, err.Error())
		return
	}
	h := w.Header()
	h["Content-Type"] = []string{grpcType}
	_, _ = w.Write(grpcAnswer(n)) // the client reports it
	_, _ = w.Write(body[:n])
	h[http.TrailerPrefix+"Grpc-Status"] = []string{"0"}
	answered(n)
}

// A call asks for a message of one size.
type call struct {
	request *http.Request
	message []byte
	begins  []byte // the answer
	seen    []byte
	size    int
}

// NewCall returns the call for size bytes.
func NewCall(size int) (Ask, error) {
	r, err := http.NewRequest(http.MethodPost, "https://"+name+grpcMethod, nil)
	if err != nil {
		return nil, err
	}
	r.Header = http.Header{"Content-Type": {grpcType}, "Te": {"trailers"}}
	c := &call{request: r, message: grpcCall(size), begins: grpcAnswer(size), size: size}
	c.seen, r.ContentLength = make([]byte, len(c.begins)), int64(len(c.message))
	return c, nil
}

func (c *call) Request() *http.Request {
	c.request.Body = io.NopCloser(bytes.NewReader(c.message))
	return c.request
}

func (c *call) Check(r *http.Response) error {
	defer r.Body.Close()
	if t := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || !strings.HasPrefix(t, grpcType) {
		said, _ := io.ReadAll(io.LimitReader(r.Body, 200)) // whoever answered can say why
		return fmt.Errorf("response: %s, of type %q, want 200 OK of %s: %q", r.Status, t, grpcType, said)
	}
	begun, err := io.ReadFull(r.Body, c.seen)
	n := int64(0)
	if err == nil {
		n, err = io.Copy(io.Discard, r.Body)
	}
	of := r.Trailer
	if r.Header.Get("Grpc-Status") != "" { // without a message, which is an error
		of = r.Header
	}
	switch status := of.Get("Grpc-Status"); {
	case status != "" && status != "0":
		return fmt.Errorf("response: grpc-status %s: %.200q", status, of.Get("Grpc-Message"))
	case err != nil:
		return fmt.Errorf("response: after %d bytes of %d: %w", int64(begun)+n, len(c.begins)+c.size, err)
	case !bytes.Equal(c.seen, c.begins) || n != int64(c.size):
		return fmt.Errorf("response: %d bytes that begin with %x, want %d that begin with %x", int64(begun)+n, c.seen, len(c.begins)+c.size, c.begins)
	case status == "":
		return fmt.Errorf("response: it ended without a grpc-status")
	}
	return nil
}
