package relay

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// limit bounds something that calls take: how much of it is taken in all, and how
// much by one peer, so that no peer takes what the others need.
type limit struct {
	places chan struct{}
	each   int

	mu    sync.Mutex
	peers map[string]*share
}

// share is what one peer takes, and how many of its calls are about it.
type share struct {
	places chan struct{}
	calls  int
}

func newLimit(all, each int) *limit {
	return &limit{places: make(chan struct{}, all), each: each, peers: map[string]*share{}}
}

// take waits for a place. Call leave to give it back.
func (l *limit) take(ctx context.Context, peer string) (leave func(), err error) {
	own := l.join(peer)
	select {
	case own.places <- struct{}{}:
	case <-ctx.Done():
		l.part(peer)
		return nil, ctx.Err()
	}
	leaveOwn := func() {
		<-own.places
		l.part(peer)
	}
	select {
	case l.places <- struct{}{}:
	case <-ctx.Done():
		leaveOwn()
		return nil, ctx.Err()
	}
	return func() {
		<-l.places
		leaveOwn()
	}, nil
}

func (l *limit) join(peer string) *share {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.peers[peer]
	if !ok {
		s = &share{places: make(chan struct{}, l.each)}
		l.peers[peer] = s
	}
	s.calls++
	return s
}

func (l *limit) part(peer string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.peers[peer]; s.calls > 1 {
		s.calls--
	} else {
		delete(l.peers, peer)
	}
}

// peerOf is the address that a call comes from.
func peerOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
