package oracle

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// client follows no redirect and adds no header of its own.
var client = &http.Client{
	Timeout:       60 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 4},
}

const (
	poll      = 50 * time.Millisecond
	awaitTime = 30 * time.Second // for a state that is named, and for Ironic
	agreeTime = 5 * time.Second  // for the other server to settle as recorded
)

// player plays one scenario on one server.
type player struct {
	server *Server
	mask   *masker
	lets   map[string]string
	vars   map[string]string
	ports  int // created so far, for their addresses
}

// Play plays a scenario and gives the answers of its recorded steps. With a
// recording it gives the server time to come to the recorded state.
func Play(ctx context.Context, server *Server, s Scenario, recorded []Answer) ([]Answer, error) {
	if err := server.wipe(ctx); err != nil {
		return nil, err
	}
	p := &player{server: server, lets: s.Lets, vars: map[string]string{"base": server.URL}}
	p.mask = &masker{base: server.URL, hosts: server.Hosts, literal: s.literal(), names: map[string]string{}}
	var answers []Answer
	for _, step := range s.Steps {
		var want *Answer
		if step.Recorded() && len(answers) < len(recorded) {
			want = &recorded[len(answers)]
		}
		a, err := p.step(ctx, step, want)
		if err != nil {
			if errors.Is(err, errNotThere) {
				answers = append(answers, a)
			}
			return answers, fmt.Errorf("%s line %d: %s: %w", s.File, step.Line, step.Text, err)
		}
		if step.Recorded() {
			answers = append(answers, a)
		}
	}
	return answers, nil
}

func (s Scenario) literal() string {
	var b strings.Builder
	for _, step := range s.Steps {
		b.WriteString(step.Path + " " + step.Body + "\n")
		for _, c := range step.Columns {
			b.WriteString(c[1] + "\n")
		}
	}
	for _, text := range s.Lets {
		b.WriteString(text + "\n")
	}
	return b.String()
}

func (p *player) step(ctx context.Context, step Step, want *Answer) (Answer, error) {
	switch step.Kind {
	case CreateNode:
		return Answer{}, p.createNode(ctx, step)
	case CreatePort:
		return Answer{}, p.createPort(ctx, step)
	case SetColumns:
		columns := make([][2]string, len(step.Columns))
		for i, c := range step.Columns {
			columns[i] = [2]string{c[0], p.expand(c[1])}
		}
		return Answer{}, p.server.setColumns(ctx, p.vars[step.Var], columns)
	case Await:
		return p.await(ctx, step, want)
	case Until:
		return Answer{}, p.until(ctx, step)
	}
	return p.request(ctx, step)
}

func (p *player) createNode(ctx context.Context, step Step) error {
	uuid, err := p.server.createNode(ctx, p.expand(step.Body))
	if err != nil {
		return err
	}
	p.capture(step.Var, uuid)
	if step.State == "" {
		return nil
	}
	return p.server.setColumns(ctx, uuid, stateColumns(step.State))
}

func (p *player) createPort(ctx context.Context, step Step) error {
	p.ports++
	address := fmt.Sprintf("52:54:00:aa:%02x:%02x", p.ports/256, p.ports%256)
	uuid, err := p.server.createPort(ctx, p.vars[step.Node], address)
	if err != nil {
		return err
	}
	p.capture(step.Var, uuid)
	p.vars[step.Var+"_mac"] = address
	return nil
}

func (p *player) capture(name, value string) {
	p.vars[name] = value
	p.mask.name(value, name)
}

var variable = regexp.MustCompile(`\{(\w+)\}`)

func (p *player) expand(text string) string {
	text = variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := p.lets[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
	return variable.ReplaceAllStringFunc(text, func(name string) string {
		if value, ok := p.vars[name[1:len(name)-1]]; ok {
			return value
		}
		return name
	})
}

var bodyMacros = strings.NewReplacer(
	"%NUL%", "\x00", "%FF%", "\xff", "%2MiB%", strings.Repeat("x", 2<<20), "%EMPTY%", "",
	"%DEEP30%", strings.Repeat("[", 30)+strings.Repeat("]", 30),
	"%LONG255%", strings.Repeat("n", 255), "%LONG256%", strings.Repeat("n", 256),
	"%LONG4096%", strings.Repeat("n", 4096), "%LONG4097%", strings.Repeat("n", 4097),
)

func (p *player) request(ctx context.Context, step Step) (Answer, error) {
	req, err := p.prepare(ctx, step)
	if err != nil {
		return Answer{}, err
	}
	res, err := client.Do(req)
	if err == nil && p.server.Keyed && takesKey(req) && res.StatusCode/100 == 2 {
		_ = res.Body.Close() // the second is held to all that the first is
		again, wrong := p.prepare(ctx, step)
		if wrong != nil {
			return Answer{}, wrong
		}
		again.Header.Set(idempotencyKey, req.Header.Get(idempotencyKey))
		res, err = client.Do(again)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("ask: %w", err)
	}
	defer res.Body.Close()
	return p.answer(step, res)
}

const idempotencyKey = "Idempotency-Key"

// takesKey says whether a key means something to the request: ramdisks have none.
func takesKey(req *http.Request) bool {
	return req.Method != http.MethodGet && req.Method != http.MethodHead &&
		!strings.Contains(req.URL.Path, "/heartbeat") && !strings.Contains(req.URL.Path, "/continue_inspection")
}

func (p *player) prepare(ctx context.Context, step Step) (*http.Request, error) {
	body := bodyMacros.Replace(p.expand(step.Body))
	target := bodyMacros.Replace(p.expand(step.Path))
	req, err := http.NewRequestWithContext(ctx, step.Method, p.server.URL+target, requestBody(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	if p.server.Keyed {
		req.Header.Set(idempotencyKey, rand.Text())
	}
	req.ContentLength = int64(len(body))
	if step.Version != "-" {
		req.Header.Set("X-OpenStack-Ironic-API-Version", step.Version)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range step.Header {
		value, err := url.PathUnescape(p.expand(h[1]))
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", h[0], err)
		}
		req.Header.Set(h[0], value)
	}
	return req, nil
}

// patience is how long a large body waits for a refusal before it is sent whole.
const patience = time.Second

// patientBody gives a server that refuses by length the time to answer. It may
// close the connection without reading on, and its answer would be lost.
type patientBody struct {
	*strings.Reader
	started bool
}

func (b *patientBody) Read(p []byte) (int, error) {
	if b.started && b.Len() > 1<<20 {
		<-time.After(patience)
	}
	b.started = true
	return b.Reader.Read(p[:min(len(p), 1<<20)])
}

func requestBody(text string) io.Reader {
	if len(text) < 1<<20 {
		return strings.NewReader(text)
	}
	return &patientBody{Reader: strings.NewReader(text)}
}

func (p *player) answer(step Step, res *http.Response) (Answer, error) {
	raw, err := readBody(res)
	if err != nil {
		return Answer{}, err
	}
	if step.Capture != "" {
		value, err := captured(raw, step.Capture)
		if err == nil {
			p.capture(step.Var, value)
		} else if p.vars[step.Var] == "" {
			p.vars[step.Var] = "no-" + step.Var // the requests that use it show as different
		}
	}
	a := readAnswer(step, res, raw, p.mask)
	if p.server.Watch != nil {
		p.server.Watch(step, a)
	}
	return a.shown(step), nil
}

func captured(raw []byte, place string) (string, error) {
	v, err := decodeJSON(raw)
	if err != nil {
		return "", err
	}
	for _, key := range strings.Split(place, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(at) {
				return "", fmt.Errorf("nothing at %s", place)
			}
			v = at[i]
		}
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("no text at %s", place)
	}
	return s, nil
}

// errNotThere ends a scenario whose node does not come where it has to be.
var errNotThere = errors.New("the node is not there")

func notThere(step Step) error {
	if step.State == "" {
		return nil // it rests elsewhere, which the comparison shows
	}
	return errNotThere
}

// await polls a node's states until it is where the step, or the recording,
// wants it, and gives the last answer in any case.
func (p *player) await(ctx context.Context, step Step, want *Answer) (Answer, error) {
	limit := awaitTime
	if want != nil && step.State == "" {
		limit = agreeTime
	}
	deadline := time.Now().Add(limit)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		a, there, err := p.look(ctx, step)
		if err != nil {
			return Answer{}, err
		}
		if want != nil {
			there = len(compare(*want, a)) == 0
		}
		if there {
			return a, nil
		}
		if time.Now().After(deadline) {
			return a, notThere(step)
		}
		select {
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		case <-ticker.C:
		}
	}
}

// until polls an object until one of its keys has a value that the step names.
func (p *player) until(ctx context.Context, step Step) error {
	deadline := time.Now().Add(awaitTime)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		object := map[string]any{}
		if err := p.server.get(ctx, p.expand(step.Path), &object); err != nil {
			return err
		}
		for _, c := range step.Columns {
			if object[c[0]] == c[1] {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is %v after %s", step.Columns[0][0], object[step.Columns[0][0]], awaitTime)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// look reads what a node is doing and whether that is what the step waits for.
func (p *player) look(ctx context.Context, step Step) (Answer, bool, error) {
	uuid := p.vars[step.Var]
	res, err := p.server.do(ctx, http.MethodGet, "/v1/nodes/"+uuid+
		"?fields=provision_state,target_provision_state,power_state,target_power_state,last_error,reservation,maintenance,fault", "")
	if err != nil {
		return Answer{}, false, err
	}
	defer res.Body.Close()
	raw, err := readBody(res)
	if err != nil {
		return Answer{}, false, err
	}
	a := readAnswer(Step{Text: step.Text, Version: latest}, res, raw, p.mask)
	object, ok := a.Body.(map[string]any)
	if !ok || res.StatusCode != http.StatusOK {
		return a, step.State == "", nil // the node is gone
	}
	busy := object["reservation"] != nil || object["target_power_state"] != nil
	delete(object, "links")
	for k, v := range object {
		if v == nil || v == false {
			delete(object, k) // what is left is the news
		}
	}
	there := !busy
	if step.State != "" {
		state, _, _ := findState(step.State)
		there = there && object["provision_state"] == state
	}
	return a, there, nil
}
