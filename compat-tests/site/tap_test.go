package site_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"ferrule/compat-tests/plane"
)

// tap stands in a line of TCP, keeps all that passes, and can cut the line.
type tap struct {
	listener net.Listener
	work     sync.WaitGroup

	mu    sync.Mutex
	to    string
	seen  bytes.Buffer
	open  map[net.Conn]bool
	isCut bool
}

// newTap listens; link says where the line leads.
func newTap(t *testing.T) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{listener: listener, open: map[net.Conn]bool{}}
	p.work.Go(p.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		p.cut()
		p.work.Wait()
	})
	return p
}

// link leads the line to the listener for agents of a ferrule that is given
// these flags; its join codes then lead agents through the tap.
func (p *tap) link(t *testing.T) []string {
	t.Helper()
	ports, err := plane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = fmt.Sprintf("127.0.0.1:%d", ports[0])
	return []string{
		"--set", fmt.Sprintf("link.port=%d", ports[0]), "--set", "link.public_address=" + p.listener.Addr().String(),
	}
}

// cut ends every connection, and each new one at once, until mend.
func (p *tap) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for c := range p.open {
		_ = c.Close()
	}
}

func (p *tap) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = false
}

// passed is all that has passed so far, both ways.
func (p *tap) passed() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.seen.Bytes())
}

func (p *tap) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.work.Go(func() { p.carry(near) })
	}
}

// keep notes an open connection, and reports whether it may be.
func (p *tap) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isCut {
		_ = c.Close()
		return false
	}
	p.open[c] = true
	return true
}

func (p *tap) drop(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close()
}

func (p *tap) carry(near net.Conn) {
	if !p.keep(near) {
		return
	}
	defer p.drop(near)
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	far, err := net.Dial("tcp", to)
	if err != nil || !p.keep(far) {
		return
	}
	defer p.drop(far)
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], io.TeeReader(way[0], p)) // a line that breaks is the tap's purpose
			_ = way[0].Close()
			_ = way[1].Close()
		})
	}
	both.Wait()
}

// Write keeps what passes.
func (p *tap) Write(piece []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(piece)
}

// answers stands before an API and keeps every answer, its headers too.
type answers struct {
	server *httptest.Server

	mu   sync.Mutex
	seen bytes.Buffer
}

func keepAnswers(t *testing.T, api string) *answers {
	t.Helper()
	to, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	a := &answers{}
	a.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: &http.Transport{DisableKeepAlives: true},
		ModifyResponse: func(response *http.Response) error {
			head, err := httputil.DumpResponse(response, true)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.seen.Write(head)
			return err
		},
	})
	t.Cleanup(a.server.Close)
	return a
}

func (a *answers) all() []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return bytes.Clone(a.seen.Bytes())
}
