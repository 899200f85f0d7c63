package ramdisk

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrule/metal"
	"ferrule/siteagent/refusal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// machine is a ramdisk's API: it answers with what each test gives it.
type machine struct {
	t      *testing.T
	server *httptest.Server
	token  string

	mu    sync.Mutex
	posts []map[string]any
	lists int

	onPost func(w http.ResponseWriter, attempt int)
	list   []metal.RamdiskCommand
	onList func(n int) []metal.RamdiskCommand // the n-th list; nil: list
}

func boot(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, token: rand.Text() + rand.Text()}
	m.server = httptest.NewUnstartedServer(http.HandlerFunc(m.serve))
	m.server.Config.ErrorLog = nil
	m.server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	m.server.StartTLS()
	t.Cleanup(m.server.Close)
	return m
}

func (m *machine) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/commands/" || r.URL.Query().Get("agent_token") != m.token {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"faultcode": "Client", "faultstring": "Token invalid: `+r.URL.Query().Get("agent_token")+`"}`)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Method == http.MethodGet {
		m.lists++
		if m.onList != nil {
			m.list = m.onList(m.lists)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"commands": m.list})
		return
	}
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		m.t.Error(err)
	}
	body["wait"] = r.URL.Query().Get("wait")
	m.posts = append(m.posts, body)
	m.onPost(w, len(m.posts))
}

func (m *machine) ca() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.server.Certificate().Raw}))
}

func (m *machine) call(command string) Call {
	return Call{AgentURL: m.server.URL, VerifyCA: m.ca(), Token: m.token, Command: command, Params: map[string]any{"step": "s"}}
}

func (m *machine) do(call Call) (metal.RamdiskCallResult, error) {
	client := Client{RetryDelay: time.Millisecond, PollInterval: time.Millisecond}
	return client.Do(context.Background(), call)
}

func answerJSON(status int, body string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, _ int) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// cut ends the connection without an answer.
func cut(http.ResponseWriter, int) { panic(http.ErrAbortHandler) }

func TestCommandIsPostedWithItsTokenAndParameters(t *testing.T) {
	m := boot(t)
	m.onPost = answerJSON(200, `{"id": "1", "command_name": "get_clean_steps", "command_status": "SUCCEEDED", "command_result": {"clean_steps": {}}, "command_error": null}`)
	call := m.call("clean.get_clean_steps")
	call.Wait = true
	call.AgentURL += "/"
	got, err := m.do(call)
	if err != nil {
		t.Fatal(err)
	}
	if got.Command == nil || got.Command.Status != "SUCCEEDED" || got.Command.Result["clean_steps"] == nil || got.Command.Error != nil {
		t.Errorf("result is %+v", got.Command)
	}
	if p := m.posts[0]; p["name"] != "clean.get_clean_steps" || p["wait"] != "true" || p["params"].(map[string]any)["step"] != "s" {
		t.Errorf("the ramdisk got %v", p)
	}
}

func TestAnswersAreStorable(t *testing.T) {
	m := boot(t)
	m.onPost = answerJSON(200, `{"id": "1", "command_name": "sync", "command_status": "FAILED", "command_error": {"message": "no\u0000space`+"\xff"+`"}}`)
	got, err := m.do(m.call("standby.sync"))
	if err != nil || got.Command == nil || got.Command.Error["message"] != "no\uFFFDspace\uFFFD" {
		t.Errorf("%+v, %v", got.Command, err)
	}
}

func TestCommandsAreListed(t *testing.T) {
	m := boot(t)
	m.list = []metal.RamdiskCommand{{ID: "1", Name: "get_deploy_steps", Status: "SUCCEEDED"}, {ID: "2", Name: "execute_deploy_step", Status: "RUNNING"}}
	got, err := m.do(m.call(""))
	if err != nil || len(got.Commands) != 2 || got.Commands[1].Status != "RUNNING" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnswersAreSorted(t *testing.T) {
	for _, c := range []struct {
		status int
		fault  string
		busy   bool
		code   metal.ErrorCode
	}{
		{409, "Agent is busy", true, ""},
		{500, "agent is busy executing", true, ""},
		{400, "bad parameters", false, metal.CodeInvalidArgs},
		{404, "no such extension", false, metal.CodeUnsupported},
		{401, "token", false, metal.CodeAuthFailed},
		{500, "boom", false, metal.CodeBMCError},
		{302, "elsewhere", false, metal.CodeBMCError},
	} {
		m := boot(t)
		m.onPost = answerJSON(c.status, `{"faultcode": "x", "faultstring": "`+c.fault+`"}`)
		got, err := m.do(m.call("clean.execute_clean_step"))
		if got.Busy != c.busy || refusal.CodeOf(err, "") != c.code {
			t.Errorf("%d %s: %+v, %v", c.status, c.fault, got, err)
		}
		if err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%d: the ramdisk's reason is not told: %v", c.status, err)
		}
		if len(m.posts) != 1 {
			t.Errorf("%d: posted %d times", c.status, len(m.posts))
		}
	}
}

func TestRunningCommandIsTakenAsTheLostOne(t *testing.T) {
	m := boot(t)
	m.onPost = cut
	m.list = []metal.RamdiskCommand{{ID: "9", Name: "execute_deploy_step", Status: "RUNNING"}}
	got, err := m.do(m.call("deploy.execute_deploy_step"))
	if err != nil || got.Command == nil || got.Command.ID != "9" {
		t.Errorf("%+v, %v", got, err)
	}
	if len(m.posts) != 1 || m.lists != 1 {
		t.Errorf("%d posts, %d lists", len(m.posts), m.lists)
	}
}

func TestEndedCommandOfTheSameNameLeavesTheOutcomeOpen(t *testing.T) {
	m := boot(t)
	m.onPost = cut
	m.list = []metal.RamdiskCommand{{ID: "9", Name: "execute_deploy_step", Status: "SUCCEEDED"}}
	_, err := m.do(m.call("deploy.execute_deploy_step"))
	if refusal.CodeOf(err, "") != metal.CodeOutcomeUnknown || len(m.posts) != 1 {
		t.Errorf("%v after %d posts", err, len(m.posts))
	}
}

func TestCommandThatDidNotArriveIsPostedAgain(t *testing.T) {
	m := boot(t)
	m.onPost = func(w http.ResponseWriter, attempt int) {
		if attempt == 1 {
			cut(w, attempt)
		}
		answerJSON(200, `{"id": "2", "command_name": "execute_deploy_step", "command_status": "RUNNING"}`)(w, attempt)
	}
	m.list = []metal.RamdiskCommand{{ID: "1", Name: "get_deploy_steps", Status: "SUCCEEDED"}}
	got, err := m.do(m.call("deploy.execute_deploy_step"))
	if err != nil || got.Command == nil || got.Command.ID != "2" || len(m.posts) != 2 {
		t.Errorf("%+v, %v after %d posts", got, err, len(m.posts))
	}
}

func TestDeadRamdiskIsUnreachable(t *testing.T) {
	m := boot(t)
	call := m.call("standby.sync")
	m.server.Close()
	_, err := m.do(call)
	if refusal.CodeOf(err, "") != metal.CodeUnreachable {
		t.Errorf("%v", err)
	}
}

func TestOnlyTheCertificateOfTheHeartbeatIsTrusted(t *testing.T) {
	m, other := boot(t), selfSigned(t)
	call := m.call("")
	call.VerifyCA = other
	if _, err := m.do(call); refusal.CodeOf(err, "") != metal.CodeCertificate {
		t.Errorf("another certificate: %v", err)
	}
	call.VerifyCA = "no PEM"
	if _, err := m.do(call); refusal.CodeOf(err, "") != metal.CodeCertificate {
		t.Errorf("no certificate: %v", err)
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	old := httptest.NewUnstartedServer(http.NotFoundHandler())
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS12}
	old.StartTLS()
	defer old.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: old.Certificate().Raw}))
	client := Client{RetryDelay: time.Millisecond}
	_, err := client.Do(context.Background(), Call{AgentURL: old.URL, VerifyCA: ca, Token: rand.Text()})
	if err == nil || refusal.CodeOf(err, "") != metal.CodeUnreachable {
		t.Errorf("%v", err)
	}
}

func TestNoSecretComesBack(t *testing.T) {
	m := boot(t)
	secret := rand.Text()
	m.onPost = answerJSON(400, `{"faultstring": "bad value `+secret+` and `+m.token+`"}`)
	m.list = []metal.RamdiskCommand{{
		Name: "execute_deploy_step", Status: "SUCCEEDED",
		Result: map[string]any{
			"deploy_step": map[string]any{"step": "write_image", "args": map[string]any{
				"configdrive": secret, "image_info": map[string]any{"image_request_authorization": secret, "id": "image"},
			}},
			"steps": []any{"text with " + m.token}, "agent_token_required": true,
		},
		Error: map[string]any{"message": "told " + m.token},
	}}
	call := m.call("deploy.execute_deploy_step")
	call.Secrets = []string{secret}
	var told []string
	_, err := m.do(call)
	told = append(told, err.Error())
	call.Command, call.Secrets = "", nil
	list, err := m.do(call)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	told = append(told, string(raw))
	wrong := m.call("x.y")
	wrong.Token = secret
	_, err = m.do(wrong)
	told = append(told, err.Error())
	m.server.Close()
	for _, command := range []string{"", "standby.sync"} {
		_, err = m.do(m.call(command))
		told = append(told, err.Error())
	}
	for _, text := range told {
		if strings.Contains(text, secret) || strings.Contains(text, m.token) {
			t.Errorf("a secret is in %s", text)
		}
	}
	if !strings.Contains(string(raw), `"agent_token_required":true`) || !strings.Contains(string(raw), "write_image") {
		t.Errorf("too much is masked: %s", raw)
	}
}

func TestBadAddressesAreRefused(t *testing.T) {
	for _, address := range []string{
		"", "ftp://127.0.0.1", "127.0.0.1:9999", "http://", "https://u:p@127.0.0.1/", "http://127.0.0.1/?a=b",
		"http://127.0.0.1/#f", "http://127.0.0.1/../x", "http://[::1", "\x00",
	} {
		client := Client{}
		if _, err := client.Do(context.Background(), Call{AgentURL: address}); refusal.CodeOf(err, "") != metal.CodeInvalidAddress {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func FuzzCommandsURL(f *testing.F) {
	f.Add("https://192.0.2.1:9999")
	f.Add("http://[2001:db8::1]/x/../y")
	f.Fuzz(func(t *testing.T, address string) {
		endpoint, err := commandsURL(address)
		if err == nil && !strings.HasSuffix(endpoint, "/v1/commands/") {
			t.Errorf("%q gives %q", address, endpoint)
		}
	})
}

func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"commands": [{"command_result": {"token": "x"}}]}`))
	f.Add(400, []byte(`{"faultstring": "x"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		s := &session{Call: Call{Token: "t0k3n-t0k3n"}, endpoint: "https://192.0.2.1/v1/commands/"}
		got, err := s.judge(status, body)
		if err != nil && strings.Contains(err.Error(), s.Token) {
			t.Errorf("token in %v", err)
		}
		var command metal.RamdiskCommand
		if err == nil && s.decode(got.body, &command) == nil {
			maskCommand(&command, []string{s.Token})
		}
	})
}

// The state of a command that is waited for decides, however often it must be
// asked for.
func TestACommandThatRunsIsNoResult(t *testing.T) {
	const running = `{"id": "7", "command_name": "sync", "command_status": "RUNNING"}`
	lists := func(m *machine, statuses ...string) {
		m.onList = func(n int) []metal.RamdiskCommand {
			status := statuses[min(n, len(statuses))-1]
			if status == "" {
				return nil
			}
			return []metal.RamdiskCommand{{ID: "7", Name: "sync", Status: status}}
		}
	}
	for _, c := range []struct {
		name    string
		post    func(http.ResponseWriter, int)
		lists   []string
		over    bool // the call's time
		want    string
		refused metal.ErrorCode
	}{
		{name: "ends well", post: answerJSON(200, running), lists: []string{"RUNNING", "RUNNING", "SUCCEEDED"}, want: "SUCCEEDED"},
		{name: "fails", post: answerJSON(200, running), lists: []string{"RUNNING", "FAILED"}, want: "FAILED"},
		{name: "found after a lost answer", post: cut, lists: []string{"RUNNING", "RUNNING", "SUCCEEDED"}, want: "SUCCEEDED"},
		{name: "is forgotten by a restart", post: answerJSON(200, running), lists: []string{""}, refused: metal.CodeOutcomeUnknown},
		{name: "outlasts the call", post: answerJSON(200, running), lists: []string{"RUNNING"}, over: true, want: "RUNNING"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := boot(t)
			m.onPost = c.post
			lists(m, c.lists...)
			call := m.call("standby.sync")
			if call.Wait = true; c.over {
				call.Until = time.Now()
			}
			got, err := m.do(call)
			if refusal.CodeOf(err, "") != c.refused {
				t.Fatalf("error %v, want %q", err, c.refused)
			}
			if err == nil && (got.Command == nil || got.Command.Status != c.want) {
				t.Errorf("%+v, want %s", got.Command, c.want)
			}
		})
	}
}
