package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/redfish"
)

const (
	maxControlBody = 1 << 20
	longestWait    = time.Minute
)

// ServerFaults is the body that sets what is wrong with a server; it replaces
// what was set before.
type ServerFaults struct {
	redfish.Faults
	Steps map[string]StepFault `json:"steps,omitempty"`
}

// PowerRequest is the body of a change made at the server itself: press (the
// button), on, off, or any Redfish reset type.
type PowerRequest struct {
	Action string `json:"action"`
}

// calls is the index of the lab's own API.
const calls = `The lab's own API:

GET  /servers                   every server: power, boot, disk, faults
GET  /servers/{name}            one server
GET  /servers/{name}/events     what happened to it, after ?since=N; ?wait=SECONDS waits for more
POST /servers/{name}/faults     what is to go wrong from now on, in place of what was before
POST /servers/{name}/power      {"action": "press"}, as at the server itself; on, off, or a Redfish reset type
POST /servers/{name}/reset      as at the start, with a blank disk
`

// Control serves the lab's own HTTP API, by which another process watches the
// servers and harms them; calls is its index.
func (l *Lab) Control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, calls)
	})
	mux.HandleFunc("GET /servers", func(w http.ResponseWriter, _ *http.Request) {
		snapshots := make([]Snapshot, 0, len(l.servers))
		for _, s := range l.servers {
			snapshots = append(snapshots, s.Snapshot())
		}
		answer(w, http.StatusOK, map[string]any{"servers": snapshots})
	})
	mux.HandleFunc("GET /servers/{name}", l.with(func(w http.ResponseWriter, _ *http.Request, s *Server) {
		answer(w, http.StatusOK, s.Snapshot())
	}))
	mux.HandleFunc("GET /servers/{name}/events", l.with(showEvents))
	mux.HandleFunc("POST /servers/{name}/faults", l.with(setFaults))
	mux.HandleFunc("POST /servers/{name}/power", l.with(press))
	mux.HandleFunc("POST /servers/{name}/reset", l.with(func(w http.ResponseWriter, _ *http.Request, s *Server) {
		if err := s.Reset(); err != nil {
			problem(w, http.StatusConflict, err)
			return
		}
		answer(w, http.StatusOK, s.Snapshot())
	}))
	return mux
}

func (l *Lab) with(next func(http.ResponseWriter, *http.Request, *Server)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := l.Server(r.PathValue("name"))
		if s == nil {
			problem(w, http.StatusNotFound, fmt.Errorf("there is no server called %q", r.PathValue("name")))
			return
		}
		next(w, r, s)
	}
}

func showEvents(w http.ResponseWriter, r *http.Request, s *Server) {
	number := func(key string) uint64 {
		n, err := strconv.ParseUint(r.URL.Query().Get(key), 10, 32)
		if err != nil {
			return 0
		}
		return n
	}
	since := number("since")
	wait := min(time.Duration(number("wait"))*time.Second, longestWait)
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	// Nothing new within the wait is an empty list, no error.
	_, _ = s.Events.Wait(ctx, since, func(event.Event) bool { return true })
	events, _ := s.Events.Since(since)
	answer(w, http.StatusOK, map[string]any{"events": append([]event.Event{}, events...)})
}

func setFaults(w http.ResponseWriter, r *http.Request, s *Server) {
	var f ServerFaults
	if err := decode(r, &f); err != nil {
		problem(w, http.StatusBadRequest, err)
		return
	}
	s.SetStepFaults(f.Steps)
	if err := s.BMC.SetFaults(f.Faults); err != nil {
		problem(w, http.StatusConflict, err)
		return
	}
	answer(w, http.StatusOK, s.Snapshot())
}

func press(w http.ResponseWriter, r *http.Request, s *Server) {
	var p PowerRequest
	if err := decode(r, &p); err != nil {
		problem(w, http.StatusBadRequest, err)
		return
	}
	if err := s.Press(p.Action); err != nil {
		problem(w, http.StatusBadRequest, err)
		return
	}
	answer(w, http.StatusOK, s.Snapshot())
}

// Press changes the power at the server itself, unseen by those who go through
// its BMC: "press" is a short press of the button, "on" and "off" do what they
// say, and any Redfish reset type is taken.
func (s *Server) Press(action string) error {
	t := machine.ResetType(action)
	switch action {
	case "", "press":
		t = machine.ResetPushPowerButton
	case "on":
		t = machine.ResetOn
	case "off":
		t = machine.ResetForceOff
	}
	return s.Machine.Reset(t)
}

func decode(r *http.Request, into any) error {
	d := json.NewDecoder(io.LimitReader(r.Body, maxControlBody))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("the body is not as expected: %w", err)
	}
	return nil
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone if this fails
}

func problem(w http.ResponseWriter, status int, err error) {
	answer(w, status, map[string]string{"error": err.Error()})
}

// controlServer is the control API while it is served.
type controlServer struct {
	http    *http.Server
	address string
	done    chan struct{}
}

func (l *Lab) serveControl(address string) (*controlServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving the lab's control API: %w", err)
	}
	c := &controlServer{
		http:    &http.Server{Handler: l.Control(), ReadHeaderTimeout: 10 * time.Second},
		address: "http://" + listener.Addr().String(),
		done:    make(chan struct{}),
	}
	go func() {
		defer close(c.done)
		_ = c.http.Serve(listener) // it ends by being closed
	}()
	return c, nil
}

func (c *controlServer) close() {
	c.http.Close()
	<-c.done
}
