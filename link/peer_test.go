package link_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"ferrule/link"
	"ferrule/link/client"
	"ferrule/link/gateway"
	"ferrule/metal"
	"ferrule/trust"
)

// credential is that of an agent which joined without the client's help.
func (p *plane) credential() *trust.AgentCredential {
	p.t.Helper()
	keyPEM, err := trust.NewAgentKey()
	check(p.t, err)
	requestPEM, err := trust.NewAgentRequest(keyPEM)
	check(p.t, err)
	request, err := trust.ReadAgentRequest(string(requestPEM))
	check(p.t, err)
	name := trust.AgentName{ID: uuid.NewString()}
	certPEM, err := p.ca.IssueAgent(name, request)
	check(p.t, err)
	p.update(func() { p.agents[name.ID] = &gateway.Agent{Name: name, Keys: []string{request.KeyHash()}} })
	credential, err := trust.LoadAgentCredential(keyPEM, []byte(certPEM))
	check(p.t, err)
	return credential
}

// plain speaks HTTP/1.1 to the gateway, as a peer not written here might.
func (p *plane) plain(credential *trust.AgentCredential) *http.Client {
	p.t.Helper()
	config, err := trust.LinkClientTLS(p.ca.Bundle(), credential)
	check(p.t, err)
	transport := &http.Transport{TLSClientConfig: config}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (p *plane) post(hc *http.Client, path, body string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(limit(p.t), http.MethodPost, "https://"+p.address+path, strings.NewReader(body))
	check(p.t, err)
	response, err := hc.Do(request)
	check(p.t, err)
	p.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestSessionOverPlainHTTP1(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	credential := p.credential()
	for range 3 {
		p.command(credential.Name().ID, "")
	}
	response := p.post(p.plain(credential), link.PathSession+"?after=1", `{"hostname":"by hand"}`)
	if response.ProtoMajor != 1 || response.StatusCode != http.StatusOK {
		t.Fatalf("HTTP/%d with status %d", response.ProtoMajor, response.StatusCode)
	}
	lines := bufio.NewScanner(response.Body)
	var order []string
	for len(order) < 4 && lines.Scan() {
		var line link.Line
		check(t, json.Unmarshal(lines.Bytes(), &line))
		switch {
		case line.Welcome != nil:
			order = append(order, "welcome")
		case line.Envelope != "":
			order = append(order, string(rune('0'+line.Seq)))
		case line.KeepAlive != nil:
			order = append(order, "alive")
		}
	}
	if got := strings.Join(order, " "); got != "welcome 2 3 alive" {
		t.Errorf("the stream is %q", got)
	}
	p.update(func() {
		for _, c := range p.commands {
			if want := c.Seq > 1; (c.Status == metal.CommandSent) != want {
				t.Errorf("command %d is %s", c.Seq, c.Status)
			}
		}
	})
}

func TestPostsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	one, two := p.credential(), p.credential()
	command := p.command(one.Name().ID, "")
	result := metal.CommandResult{CommandID: command.ID, OK: true}
	byTwo, err := two.SignResult(result)
	check(t, err)
	byOne, err := one.SignResult(result)
	check(t, err)
	for name, c := range map[string]struct {
		as         *trust.AgentCredential
		path, body string
		want       int
	}{
		"another agent's result, by its owner":       {two, link.PathResults, byTwo, http.StatusNotFound},
		"result signed by another agent":             {one, link.PathResults, byTwo, http.StatusForbidden},
		"result of one in the session of another":    {two, link.PathResults, byOne, http.StatusForbidden},
		"unsigned result":                            {one, link.PathResults, `{"commandId":"x"}`, http.StatusForbidden},
		"altered result":                             {one, link.PathResults, byOne[:len(byOne)-8] + "AAAAAAAA", http.StatusForbidden},
		"unsigned secret request":                    {one, link.PathSecrets, `{}`, http.StatusForbidden},
		"result in place of a secret request":        {one, link.PathSecrets, byOne, http.StatusForbidden},
		"cursor that is no number":                   {one, link.PathSession + "?after=x", `{}`, http.StatusBadRequest},
		"negative cursor":                            {one, link.PathSession + "?after=-1", `{}`, http.StatusBadRequest},
		"hello that is no JSON":                      {one, link.PathSession, `hello`, http.StatusBadRequest},
		"renewal without a request":                  {one, link.PathRenew, `{}`, http.StatusBadRequest},
		"observations of another shape":              {one, link.PathObservations, `[1]`, http.StatusBadRequest},
		"observation without a time":                 {one, link.PathObservations, `{"observations":[{"kind":"power","nodeUuid":"n"}]}`, http.StatusBadRequest},
		"path that is none":                          {one, "/agent/v1/else", `{}`, http.StatusNotFound},
		"relay of a path that is written otherwise ": {one, link.PathRelay + "/v1/%6eodes", `{}`, http.StatusNotFound},
	} {
		if response := p.post(p.plain(c.as), c.path, c.body); response.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", name, response.StatusCode, c.want)
		}
	}
	if len(p.results) != 0 {
		t.Errorf("results were taken: %v", p.results)
	}
}

func TestOldTLSIsNotSpoken(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	config, err := trust.LinkClientTLS(p.ca.Bundle(), p.credential())
	check(t, err)
	config.MinVersion, config.MaxVersion = tls.VersionTLS12, tls.VersionTLS12 // that it is refused is the point
	conn, err := (&tls.Dialer{Config: config}).DialContext(limit(t), "tcp", p.address)
	if err == nil {
		_ = conn.Close()
		t.Error("TLS 1.2 was spoken")
	}
}

func TestSilentControlPlaneIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c := p.join("", client.Options{})
	address := p.address
	p.stop()
	var sessions atomic.Int32
	again := make(chan struct{})
	silent := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sessions.Add(1) == 2 {
			close(again)
		}
		text, err := json.Marshal(link.Line{Welcome: &link.Welcome{SessionID: "s", KeepAliveSeconds: 0.01, Time: time.Now()}})
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(append(bytes.Repeat([]byte("\n"), 3), append(text, '\n')...))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // and not a word more
	})}
	silent.TLSConfig = p.ca.NewServerCertificates(func() []string { return nil }).LinkServerTLS()
	listener, served := listenAt(t, address), make(chan struct{})
	go func() {
		defer close(served)
		_ = silent.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = silent.Close()
		<-served
	})
	_, _, stop := p.run(c)
	receive(t, again)
	stop()
}
