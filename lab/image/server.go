package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves files by name over plain HTTP, with ranges and HEAD, and
// counts the requests for each.
type Server struct {
	mu       sync.Mutex
	files    map[string][]byte
	requests map[string]int

	http *http.Server
	url  string
	done chan struct{}
}

// Serve starts a server on address, "127.0.0.1:0" for any free port. It holds
// stand-ins named "kernel" and "ramdisk".
func Serve(address string) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving images: %w", err)
	}
	s := &Server{
		files: map[string][]byte{
			"kernel":  []byte("kernel of the lab\n"),
			"ramdisk": []byte("ramdisk of the lab\n"),
		},
		requests: map[string]int{},
		url:      "http://" + l.Addr().String(),
		done:     make(chan struct{}),
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return // the listener failed: requests will say so
		}
	}()
	return s, nil
}

// Add serves content under name and returns its URL.
func (s *Server) Add(name string, content []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[name] = content
	return s.url + "/" + name
}

// URL is where the file named can be fetched.
func (s *Server) URL(name string) string { return s.url + "/" + name }

// Requests is how often the file named was asked for.
func (s *Server) Requests(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[name]
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[1:]
	s.mu.Lock()
	content, ok := s.files[name]
	if ok {
		s.requests[name]++
	}
	s.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// Close stops the server and waits for it.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		s.http.Close()
	}
	<-s.done
	return nil
}
