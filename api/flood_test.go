package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each of many senders sends most of a body, and then nothing. That must neither
// fill the memory nor keep anybody out.
func TestUnfinishedPostsKeepNobodyOut(t *testing.T) {
	const size, senders = 1 << 20, 30
	s := serve(t, "api.max_json_body_size_provision=1024", "api.max_json_body_size_inspection=1024")
	server := httptest.NewServer(s.api)
	defer server.Close()
	answers := make(chan string, senders)
	var readers sync.WaitGroup
	defer readers.Wait()
	for range senders {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "POST /v1/continue_inspection HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n", size)
		_, _ = io.WriteString(conn, strings.Repeat(" ", size-1)) // it may be cut off by now
		readers.Go(func() {
			head := make([]byte, 12)
			if _, err := io.ReadFull(conn, head); err == nil {
				answers <- string(head)
			}
		})
	}
	for range senders - 4 { // at most two have room
		select {
		case got := <-answers:
			if got != "HTTP/1.1 503" {
				t.Errorf("an unfinished post got %q", got)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("unfinished posts keep their memory")
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/heartbeat/none", strings.NewReader(`{"callback_url": "http://a"}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError {
		t.Errorf("an honest post got %s", response.Status)
	}
}
