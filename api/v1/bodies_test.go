package v1

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// post is a request whose body comes through a pipe.
func post(t *testing.T) (*http.Request, *io.PipeWriter) {
	t.Helper()
	from, to := io.Pipe()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", from)
	r.ContentLength = -1
	return r, to
}

func TestUnfinishedBodiesGiveTheirRoomUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large, senders = 1 << 20, 20
		s := newBodies(large)
		ended := make(chan error, senders)
		for range senders {
			r, to := post(t)
			b := s.begin(httptest.NewRecorder())
			b.cut = func() { _ = to.CloseWithError(errors.New("deadline")) }
			go func() {
				_, err := b.read(r, large)
				b.end()
				ended <- err
			}()
			_, _ = to.Write(make([]byte, large-1)) // and never the last byte
			synctest.Wait()
			if s.used > s.most {
				t.Fatalf("%d bytes of %d are used", s.used, s.most)
			}
			t.Cleanup(func() { _ = to.Close() })
		}
		if len(ended) < senders-3 {
			t.Errorf("of %d unfinished bodies %d were cut off", senders, len(ended))
		}
		for range len(ended) {
			if err := <-ended; !errors.Is(err, errNoRoom) {
				t.Error(err)
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", large)))
		b := s.begin(httptest.NewRecorder())
		if raw, err := b.read(r, large); err != nil || len(raw) != large {
			t.Errorf("a whole body finds no room: %v", err)
		}
		b.end()
	})
}

func TestBodiesOfRequestsUnderWayAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 1 << 20
		s := newBodies(large)
		take := func() (*body, error) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(strings.Repeat("x", large)))
			b := s.begin(httptest.NewRecorder())
			_, err := b.read(r, large)
			return b, err
		}
		var held []*body
		for s.used+large <= s.most {
			b, err := take()
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, b)
		}
		third := make(chan error, 1)
		go func() {
			b, err := take()
			b.end()
			third <- err
		}()
		synctest.Wait()
		held[0].end()
		if err := <-third; err != nil {
			t.Errorf("the room came free: %v", err)
		}
		for _, b := range held[1:] {
			b.end()
		}
		if s.used != 0 || len(s.reading) != 0 {
			t.Errorf("%d bytes and %d bodies are left", s.used, len(s.reading))
		}
	})
}

// A sender of a byte now and then gives its room up to one that sends a whole
// body, however often its bytes come and however many such senders arrive.
func TestTricklingBodiesGiveWayToOnesThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large, piece = 1 << 20, 64 << 10
		s := newBodies(large)
		ctx, stop := context.WithCancel(t.Context())
		var senders sync.WaitGroup
		defer senders.Wait()
		defer stop()
		begin := func() (*http.Request, *io.PipeWriter, *body) {
			r, to := post(t)
			b := s.begin(httptest.NewRecorder())
			b.cut = func() { _ = to.CloseWithError(errors.New("deadline")) }
			return r, to, b
		}
		trickle := func() {
			r, to, b := begin()
			senders.Go(func() {
				_, _ = b.read(r, large)
				_ = r.Body.Close()
				b.end()
			})
			senders.Go(func() {
				defer to.Close()
				_, err := to.Write(make([]byte, large/4))
				for err == nil && ctx.Err() == nil {
					time.Sleep(10 * time.Millisecond)
					_, err = to.Write([]byte{0})
				}
			})
		}
		senders.Go(func() {
			for ctx.Err() == nil {
				trickle()
				time.Sleep(500 * time.Millisecond)
			}
		})
		time.Sleep(10 * time.Second)
		r, to, b := begin()
		senders.Go(func() {
			var err error
			for sent := 0; err == nil && sent < large; sent += piece {
				time.Sleep(200 * time.Millisecond)
				_, err = to.Write(make([]byte, piece))
			}
			_ = to.Close()
		})
		if raw, err := b.read(r, large); err != nil || len(raw) != large {
			t.Errorf("of the whole body %d bytes were taken: %v", len(raw), err)
		}
		_ = r.Body.Close()
		b.end()
	})
}
