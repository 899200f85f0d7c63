package v1

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"sync"
	"time"
)

// bodies bounds the memory of all request bodies together. Where a body finds no
// room, the unfinished body is cut off of which the least has arrived lately, for
// the memory that it holds. So slow senders keep nobody out.
type bodies struct {
	most int64

	mu      sync.Mutex
	used    int64
	reading map[*body]bool
	changed chan struct{} // closed, and made anew, when room may have come free
}

// body is the memory of one request's body, from its first byte to its answer.
type body struct {
	of      *bodies
	size    int64
	recent  float64   // bytes received lately, see receivedLately
	at      time.Time // when recent was set
	waiting bool      // for room: its sender is not to blame
	isCut   bool      // it has to give its room up
	cut     func()    // ends its reading
}

// leastBodies is the room for bodies where all limits on a body are very small.
const leastBodies = 1 << 20

// newBodies makes room for two of the largest bodies.
func newBodies(largest int64) *bodies {
	return &bodies{most: max(leastBodies, 2*largest), reading: map[*body]bool{}, changed: make(chan struct{})}
}

// errNoRoom ends the reading of a body.
var errNoRoom = errors.New("there is no room for the request body")

// roomPatience is how long a body waits for requests under way to free room.
const roomPatience = 10 * time.Second

// startCredit counts as received when a body begins, so that it is not cut off
// before its first bytes have arrived.
const startCredit = 64 << 10

// begin is for a request's body. End it when the request is answered.
func (s *bodies) begin(w http.ResponseWriter) *body {
	control := http.NewResponseController(w)
	b := &body{of: s, recent: startCredit, at: time.Now(), cut: func() {
		_ = control.SetReadDeadline(time.Unix(1, 0)) // a writer without deadlines is a test's
	}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reading[b] = true
	return b
}

// end frees the body's room.
func (b *body) end() {
	s := b.of
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reading, b)
	s.used -= b.size
	b.size = 0
	s.announce()
}

func (s *bodies) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// read reads at most one byte more than limit. Memory is taken as bytes come,
// whatever length the sender has announced.
func (b *body) read(r *http.Request, limit int64) ([]byte, error) {
	defer b.complete()
	size := min(r.ContentLength, 64<<10) + 1
	if r.ContentLength < 0 {
		size = 512
	}
	var raw []byte
	for {
		if len(raw) == cap(raw) {
			size = min(max(size, 2*int64(cap(raw))), limit+1)
			if err := b.grow(r.Context(), size-int64(cap(raw))); err != nil {
				return nil, err
			}
			raw = append(make([]byte, 0, size), raw...)
		}
		n, err := r.Body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch isCut := b.progress(n); {
		case isCut:
			return nil, errNoRoom
		case errors.Is(err, io.EOF), int64(len(raw)) > limit:
			return raw, nil
		case err != nil:
			return nil, err
		}
	}
}

// progress notes that bytes have come, and reports whether it is too late.
func (b *body) progress(n int) (isCut bool) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	now := time.Now()
	b.recent, b.at = b.receivedLately(now)+float64(n), now
	return b.isCut
}

// receivedLately is the number of bytes received, in which those of a second ago
// count half, those of two seconds ago a quarter, and so on.
func (b *body) receivedLately(now time.Time) float64 {
	return b.recent * math.Exp2(-now.Sub(b.at).Seconds())
}

// complete says that nothing more is read, so that it is not cut off any more.
func (b *body) complete() {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	delete(b.of.reading, b)
}

// pace is what has arrived lately for each byte of memory that the body holds.
func (b *body) pace(now time.Time) float64 { return b.receivedLately(now) / float64(b.size) }

// grow takes n bytes of room.
func (b *body) grow(ctx context.Context, n int64) error {
	s := b.of
	ctx, cancel := context.WithTimeout(ctx, roomPatience)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { b.waiting = false }()
	for s.used+n > s.most {
		b.waiting = true
		if !s.makeRoom(b) {
			return errNoRoom
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if b.isCut || ctx.Err() != nil {
			return errNoRoom
		}
	}
	s.used += n
	b.size += n
	return nil
}

// makeRoom cuts off the body of the slowest pace. It reports false where no room
// will come free.
func (s *bodies) makeRoom(asking *body) bool {
	var slowest *body
	now := time.Now()
	promised, unfinished := int64(0), int64(0)
	for b := range s.reading {
		unfinished += b.size
		switch {
		case b.isCut:
			promised += b.size
		case b != asking && !b.waiting && b.size > 0 && (slowest == nil || b.pace(now) < slowest.pace(now)):
			slowest = b
		}
	}
	if promised > 0 {
		return true
	}
	if slowest == nil {
		return s.used > unfinished // requests that are about to be answered
	}
	slowest.isCut = true
	slowest.cut()
	return true
}
