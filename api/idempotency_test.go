package api

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"ferrule/hardware"
	"ferrule/metal"
	"ferrule/store"
	"ferrule/store/storetest"
)

func key(name string) string { return `Idempotency-Key: "` + name + `"` }

// again sends a request twice with one key: the second answer is the first.
func (s *served) again(name, method, path, body string) answer {
	s.t.Helper()
	first := s.ask("latest", method, path, body, key(name))
	if first.Code/100 != 2 {
		s.t.Fatalf("%s %s: %d %s", method, path, first.Code, first.Body)
	}
	second := s.ask("latest", method, path, body, key(name))
	if second.Code != first.Code || second.Body.String() != first.Body.String() {
		s.t.Errorf("%s %s: first %d %s, then %d %s", method, path, first.Code, first.Body, second.Code, second.Body)
	}
	for _, header := range []string{"Location", "Content-Type"} {
		if a, b := first.Header().Get(header), second.Header().Get(header); a != b {
			s.t.Errorf("%s %s: %s is first %q, then %q", method, path, header, a, b)
		}
	}
	return first
}

func TestARequestWithItsKeyIsDoneOnce(t *testing.T) {
	s := serve(t)
	s.agent.result = metal.CommandResult{OK: true}
	made := s.again("create", http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware", "extra": {"count": 0}}`).want(http.StatusCreated).object()
	node := "/v1/nodes/" + fmt.Sprint(made["uuid"])
	if list, _ := s.ask("latest", http.MethodGet, "/v1/nodes", "").object()["nodes"].([]any); len(list) != 1 {
		t.Errorf("there are %d nodes", len(list))
	}
	s.again("patch", http.MethodPatch, node, `[{"op": "add", "path": "/extra/list", "value": []}]`)
	s.again("grow", http.MethodPatch, node, `[{"op": "add", "path": "/extra/list/-", "value": 1}]`)
	extra := s.ask("latest", http.MethodGet, node, "").object()["extra"]
	if list, _ := extra.(map[string]any)["list"].([]any); len(list) != 1 {
		t.Errorf("extra is %v", extra)
	}
	s.again("port", http.MethodPost, "/v1/ports", fmt.Sprintf(`{"node_uuid": %q, "address": "52:54:00:00:00:01"}`, made["uuid"]))
	s.again("trait", http.MethodPut, node+"/traits/CUSTOM_A", "")
	s.again("untrait", http.MethodDelete, node+"/traits/CUSTOM_A", "")
	s.again("maintain", http.MethodPut, node+"/maintenance", `{"reason": "x"}`)
	s.again("unmaintain", http.MethodDelete, node+"/maintenance", "")
	s.again("allocate", http.MethodPost, "/v1/allocations", `{"resource_class": "none"}`)
	if list, _ := s.ask("latest", http.MethodGet, "/v1/allocations", "").object()["allocations"].([]any); len(list) != 1 {
		t.Errorf("there are %d allocations", len(list))
	}
	s.again("device", http.MethodPut, node+"/management/boot_device", `{"boot_device": "pxe"}`)
	if len(s.agent.asked) != 1 {
		t.Errorf("the agent was asked %v", s.agent.asked)
	}
	s.again("power", http.MethodPut, node+"/states/power", `{"target": "power on"}`)
	uuid := fmt.Sprint(made["uuid"])
	s.put(uuid, func(n *metal.Node) { n.Reservation = nil })
	s.again("manage", http.MethodPut, node+"/states/provision", `{"target": "manage"}`)
	operations, err := s.store.OpenOperations(t.Context(), uuid)
	if err != nil || len(operations) != 2 {
		t.Errorf("operations %v, %v", operations, err)
	}
	s.put(uuid, func(n *metal.Node) {
		n.ProvisionState, n.TargetProvisionState, n.Reservation = metal.Enroll, metal.NoState, nil
	})
	s.again("delete", http.MethodDelete, node, "")
	s.ask("latest", http.MethodDelete, node, "").want(http.StatusNotFound)
}

func TestAKeyIsOfOneRequest(t *testing.T) {
	s := serve(t)
	body := `{"driver": "fake-hardware"}`
	first := s.ask("latest", http.MethodPost, "/v1/nodes", body, key("k")).want(http.StatusCreated).object()
	for what, a := range map[string]answer{
		"body":    s.ask("latest", http.MethodPost, "/v1/nodes", `{"driver": "manual-management"}`, key("k")),
		"path":    s.ask("latest", http.MethodPost, "/v1/chassis", body, key("k")),
		"query":   s.ask("latest", http.MethodPost, "/v1/nodes?a=1", body, key("k")),
		"version": s.ask("1.50", http.MethodPost, "/v1/nodes", body, key("k")),
		"method":  s.ask("latest", http.MethodDelete, "/v1/nodes/"+fmt.Sprint(first["uuid"]), "", key("k")),
	} {
		if a.Code != http.StatusUnprocessableEntity && what != "query" || a.Code == http.StatusCreated {
			t.Errorf("another %s: %d %s", what, a.Code, a.Body)
		}
	}
	// The same key in its other spelling; reading needs none.
	bare := s.ask("latest", http.MethodPost, "/v1/nodes", body, "Idempotency-Key: k").want(http.StatusCreated).object()
	if bare["uuid"] != first["uuid"] {
		t.Errorf("made %v, then %v", first["uuid"], bare["uuid"])
	}
	s.ask("latest", http.MethodGet, "/v1/nodes", "", key("k")).want(http.StatusOK)
	for _, bad := range []string{`""`, `"a`, `"a"b"`, `"a\b"`, `""" `, "caf\u00e9", strings.Repeat("k", 256), "a\tb"} {
		s.ask("latest", http.MethodPost, "/v1/nodes", body, "Idempotency-Key: "+bad).want(http.StatusBadRequest)
	}
	s.ask("latest", http.MethodPost, "/v1/nodes", body, `Idempotency-Key: "a\\b\"c"`).want(http.StatusCreated)
}

// A refusal did nothing, so that the same request may be sent again.
func TestARefusalIsNotKept(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	verb := func() answer {
		return s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", `{"target": "provide"}`, key("k"))
	}
	verb().want(http.StatusBadRequest)
	verb().want(http.StatusBadRequest)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.Manageable })
	verb().want(http.StatusAccepted)
	verb().want(http.StatusAccepted)
}

func TestAKeyIsOfOneCaller(t *testing.T) {
	password := storetest.UUID()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "htpasswd")
	if err := os.WriteFile(users, fmt.Appendf(nil, "una:%s\nduo:%s\n", hash, hash), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "DEFAULT.auth_strategy=http_basic", "DEFAULT.http_basic_auth_user_file="+users)
	made := map[string]bool{}
	for _, user := range []string{"una", "duo", "una", "duo"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(user, password)
		a := s.ask("latest", http.MethodPost, "/v1/nodes", `{"driver": "fake-hardware"}`, key("k"), "Authorization: "+r.Header.Get("Authorization"))
		made[fmt.Sprint(a.want(http.StatusCreated).object()["uuid"])] = true
	}
	if len(made) != 2 {
		t.Errorf("two callers made %d nodes", len(made))
	}
}

// What waits for an agent is not done a second time, neither beside the first
// nor after one whose end is unknown.
func TestWhatWaitsForAnAgentIsNotDoneTwice(t *testing.T) {
	s := serve(t)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	device := func(k string) answer {
		return s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/management/boot_device", `{"boot_device": "pxe"}`, key(k))
	}
	s.agent.result = metal.CommandResult{OK: true}
	s.agent.during = func() { device("slow").want(http.StatusConflict) }
	device("slow").want(http.StatusNoContent)
	s.agent.during = nil
	s.agent.err = metal.Errorf(metal.Unavailable, "no answer in time")
	device("lost").want(http.StatusServiceUnavailable)
	s.agent.err = nil
	device("lost").want(http.StatusConflict)
	if len(s.agent.asked) != 2 {
		t.Errorf("the agent was asked %d times", len(s.agent.asked))
	}
	s.agent.err = metal.Errorf(metal.Invalid, "the BMC says no")
	device("refused").want(http.StatusBadRequest)
	s.agent.err = nil
	device("refused").want(http.StatusNoContent)
	s.agent.err = errors.New("the agent is asked again")
	device("refused").want(http.StatusNoContent)
}

func TestAKeyedWriteWaitsForTheLock(t *testing.T) {
	s := serve(t)
	host, other := "here", s.node(`{"driver": "fake-hardware", "name": "other"}`)
	uuid := s.node(`{"driver": "fake-hardware"}`)
	lock := func(on *string) { s.put(uuid, func(n *metal.Node) { n.Reservation = on }) }
	ask := func(k string) answer {
		return s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/maintenance", `{"reason": "x"}`, key(k))
	}
	lock(&host)
	done := make(chan int)
	go func() { done <- ask("waits").Code }()
	s.put(other, func(n *metal.Node) { n.Extra = `{"a":1}` }) // nobody else is held up
	lock(nil)
	if got := <-done; got != http.StatusAccepted {
		t.Errorf("status %d", got)
	}
	lock(&host)
	ask("waits").want(http.StatusAccepted)
	ask("in vain").want(http.StatusConflict)
}

// What is kept tells nobody anything without the deployment's key, and is
// forgotten in a day.
func TestKeptAnswersAreSealedAndForgotten(t *testing.T) {
	s := serve(t)
	body := `{"driver": "fake-hardware", "driver_info": {"redfish_password": "obviously-fake"}}`
	s.ask("latest", http.MethodPost, "/v1/nodes", body, key("key to be looked for")).want(http.StatusCreated)
	var all []byte
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(s.file + suffix)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	for text, there := range map[string]bool{"kept_answers": true, "fake-hardware": true, "key to be looked for": false, "obviously-fake": false} {
		if bytes.Contains(all, []byte(text)) != there {
			t.Errorf("the database holds %q in clear: %t", text, !there)
		}
	}
	catalogue, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{})
	if err != nil {
		t.Fatal(err)
	}
	s.api, err = New(Options{
		Store: s.store, Config: s.config, Catalogue: catalogue, Sealer: s.sealer, Commands: s.agent,
		Now: func() time.Time { return time.Now().Add(store.KeepAnswers + time.Minute) },
	})
	if err != nil {
		t.Fatal(err)
	}
	// By this clock no conductor is alive, which the request is told anew.
	s.ask("latest", http.MethodPost, "/v1/nodes", body, key("key to be looked for")).want(http.StatusBadRequest)
}

func TestOfALongAnswerOnlyItsStatusIsKept(t *testing.T) {
	s := serve(t)
	body := `{"driver": "fake-hardware", "extra": {"long": "` + strings.Repeat("x", store.LongestAnswer) + `"}}`
	s.ask("latest", http.MethodPost, "/v1/nodes", body, key("long")).want(http.StatusCreated)
	again := s.ask("latest", http.MethodPost, "/v1/nodes", body, key("long")).want(http.StatusConflict)
	if text := again.Body.String(); !strings.Contains(text, "201") || !strings.Contains(text, "was done") {
		t.Errorf("the client is told %s", text)
	}
	if list, _ := s.ask("latest", http.MethodGet, "/v1/nodes", "").object()["nodes"].([]any); len(list) != 1 {
		t.Errorf("there are %d nodes", len(list))
	}
}
