package ramdisk

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxCommandBytes bounds a command: a config drive travels in one.
const maxCommandBytes = 128 << 20

// server is the agent's own API.
type server struct {
	agent       *agent
	ctx         context.Context
	url         string
	certificate string // PEM, "" over plain http
	done        chan error
}

// serve starts the API: with a certificate made for this boot when the control
// plane can be told of it, else over plain http.
func (a *agent) serve(ctx context.Context) (*server, error) {
	l, err := a.Listen()
	if err != nil {
		return nil, fmt.Errorf("starting the agent's API: %w", err)
	}
	s := &server{agent: a, ctx: ctx, url: "http://" + l.Addr().String(), done: make(chan error, 1)}
	if a.api.minor >= heartbeatMinor {
		host, _, _ := net.SplitHostPort(l.Addr().String())
		cert, pem, err := selfSigned(a.Hardware.Hostname, net.ParseIP(host))
		if err != nil {
			l.Close()
			return nil, err
		}
		least := uint16(tls.VersionTLS12)
		if a.tlsMin == "1.3" {
			least = tls.VersionTLS13
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: least})
		s.url, s.certificate = "https://"+l.Addr().String(), pem
	}
	h := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	stopped := context.AfterFunc(ctx, func() { h.Close() })
	go func() {
		defer stopped()
		err := h.Serve(l)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		s.done <- err
	}()
	return s, nil
}

func (s *server) wait() error { return <-s.done }

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.root)
	mux.HandleFunc("GET /v1/{$}", s.versionOne)
	mux.HandleFunc("GET /v1/status", s.status)
	mux.HandleFunc("GET /v1/commands/{$}", s.authorised(s.list))
	mux.HandleFunc("GET /v1/commands/{id}", s.authorised(s.show))
	mux.HandleFunc("POST /v1/commands/{$}", s.authorised(s.post))
	return mux
}

func (s *server) root(w http.ResponseWriter, _ *http.Request) {
	version := map[string]any{"id": "v1", "links": []any{map[string]string{"href": s.url + "/v1/", "rel": "self"}}}
	answer(w, http.StatusOK, map[string]any{
		"name": "OpenStack Ironic Python Agent API", "description": "Agent of an emulated machine",
		"versions": []any{version}, "default_version": version,
	})
}

func (s *server) versionOne(w http.ResponseWriter, _ *http.Request) {
	links := []any{map[string]string{"href": s.url + "/v1/commands/", "rel": "self"}}
	answer(w, http.StatusOK, map[string]any{"id": "v1", "commands": links})
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"started_at": float64(s.agent.started.UnixMilli()) / 1000, "version": Version,
	})
}

// authorised lets only the holder of the token through.
func (s *server) authorised(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.Query().Get("agent_token")
		want := s.agent.token
		if want != "" && subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1 {
			fault(w, http.StatusUnauthorized, "Token invalid.")
			return
		}
		next(w, r)
	}
}

func (s *server) list(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"commands": s.agent.commands.all()})
}

func (s *server) show(w http.ResponseWriter, r *http.Request) {
	c := s.agent.commands.find(r.PathValue("id"))
	if c == nil {
		fault(w, http.StatusNotFound, "Requested command was not found.")
		return
	}
	s.reply(w, r, c)
}

// reply shows c, when wait is asked for after its end.
func (s *server) reply(w http.ResponseWriter, r *http.Request, c *command) {
	if strings.EqualFold(r.URL.Query().Get("wait"), "true") {
		select {
		case <-c.done:
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			return
		}
	}
	answer(w, http.StatusOK, s.agent.commands.show(c))
}

func (s *server) post(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name   *string         `json:"name"`
		Params *map[string]any `json:"params"`
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxCommandBytes)
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Name == nil || body.Params == nil {
		fault(w, http.StatusBadRequest, "Missing or invalid name or params")
		return
	}
	extension, name, ok := strings.Cut(*body.Name, ".")
	if !ok {
		fault(w, http.StatusBadRequest, "Command name must be of the form <extension>.<name>")
		return
	}
	specs, ok := extensions[extension]
	if !ok {
		fault(w, http.StatusNotFound, "Extension not found: "+extension)
		return
	}
	spec, ok := specs[name]
	if !ok {
		fault(w, http.StatusBadRequest, "Unknown command: "+name)
		return
	}
	c, ok := s.agent.commands.begin(name)
	if !ok {
		fault(w, http.StatusConflict, "Agent is busy")
		return
	}
	s.start(c, spec, *body.Name, *body.Params)
	if !spec.async {
		<-c.done
	}
	s.reply(w, r, c)
	// What a command leaves for afterwards may cut this connection, so the
	// answer is sent first. A client that is gone needs none.
	_ = http.NewResponseController(w).Flush()
	close(c.delivered)
}

// start runs c on its own, then what it leaves to be done once its answer went
// out.
func (s *server) start(c *command, spec commandSpec, full string, p params) {
	s.agent.work.Go(func() {
		after := s.agent.run(s.ctx, c, spec, full, p)
		if after == nil {
			return
		}
		select {
		case <-c.delivered:
			after()
		case <-s.ctx.Done():
		}
	})
}

// answer gives the body its length, so that it is whole for the client as soon
// as it is flushed.
func answer(w http.ResponseWriter, code int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(code)
	_, _ = w.Write(text) // the client is gone if this fails
}

func fault(w http.ResponseWriter, code int, message string) {
	who := "Client"
	if code >= 500 {
		who = "Server"
	}
	answer(w, code, map[string]string{"faultcode": who, "faultstring": message})
}
