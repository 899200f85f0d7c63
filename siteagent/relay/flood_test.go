package relay

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// from sends the beginning of a call from a loopback address of its own.
func from(t *testing.T, address, server, text string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func heartbeat(length int) string {
	return fmt.Sprintf("POST /v1/heartbeat/%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", uuid, length)
}

// Many calls whose body never ends, from one address and of both sizes, do not hold
// up another ramdisk.
func TestSlowBodiesHoldUpNobody(t *testing.T) {
	const slow = 70
	for name, c := range map[string]struct{ begun, honest string }{
		"short, another address": {heartbeat(1000) + "{", "127.0.0.1"},
		"long, another address":  {heartbeat(maxHeartbeat) + strings.Repeat(" ", 2*maxSmall), "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(func(_ context.Context, r *http.Request) (*http.Response, error) {
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return nil, err
				}
				return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody}, nil
			}, anywhere, slog.New(slog.DiscardHandler))
			arrived := make(chan struct{}, slow+1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				h.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			t.Cleanup(server.CloseClientConnections)
			at := server.Listener.Addr().String()
			for range slow {
				from(t, "127.0.0.2", at, c.begun)
			}
			for range slow {
				<-arrived
			}
			conn := from(t, c.honest, at, heartbeat(2)+"{}")
			// Far less than what the slow ones are given, far more than it takes.
			_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			head := make([]byte, len("HTTP/1.1 202"))
			if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 202" {
				t.Errorf("the honest call got %q, %v", head, err)
			}
		})
	}
}

func TestOnePeerLeavesPlacesToTheOthers(t *testing.T) {
	l := newLimit(3, 2)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	first, _ := l.take(t.Context(), "a")
	second, _ := l.take(t.Context(), "a")
	if _, err := l.take(gone, "a"); err == nil {
		t.Error("a peer takes more than its share")
	}
	third, err := l.take(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.take(gone, "c"); err == nil {
		t.Error("more is taken than there is")
	}
	for _, leave := range []func(){first, second, third} {
		leave()
	}
	if len(l.peers) != 0 || len(l.places) != 0 {
		t.Errorf("%d peers and %d places are left", len(l.peers), len(l.places))
	}
}
