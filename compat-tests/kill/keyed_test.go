package kill

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
	"ferrule/failpoint"
)

// TestAKeyedRequestIsDoneOnceOverAKill sends requests again whose answers a kill
// has swallowed: before what they ask for was there, and after.
func TestAKeyedRequestIsDoneOnceOverAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program ten times")
	}
	t.Parallel()
	p := plane.New(t, plane.Options{})
	swallowed := func(point, method, path string, body any, key string) plane.Answer {
		t.Helper()
		p.Launch(fmt.Sprintf("%s=%s:1", failpoint.Env, point))
		p.AwaitReady()
		if a, err := p.Try(t.Context(), method, path, body, key); err == nil {
			t.Fatalf("%s: there is an answer: %d %s", point, a.Status, a.Text)
		}
		<-p.Ended()
		p.Launch()
		p.AwaitReady()
		first, err := p.Try(t.Context(), method, path, body, key)
		if err != nil || first.Status/100 != 2 {
			t.Fatalf("%s: %s %s: %d %s %v", point, method, path, first.Status, first.Text, err)
		}
		second, err := p.Try(t.Context(), method, path, body, key)
		if err != nil || second.Status != first.Status || second.Text != first.Text {
			t.Errorf("%s: answered %d %s, then %d %s %v", point, first.Status, first.Text, second.Status, second.Text, err)
		}
		p.Kill()
		return first
	}
	node := map[string]any{"driver": "fake-hardware"}
	for i, point := range []string{"api-answer-not-kept", "api-answer-kept"} {
		uuid := swallowed(point, http.MethodPost, "/v1/nodes", node, "Idempotency-Key: create-"+point).Body["uuid"]
		path := fmt.Sprintf("/v1/nodes/%v", uuid)
		swallowed(point, http.MethodPut, path+"/states/provision", map[string]any{"target": "manage"}, "Idempotency-Key: manage-"+point)
		p.Launch()
		p.AwaitReady()
		p.AwaitState(fmt.Sprint(uuid), "manageable", time.Minute)
		if list, _ := p.Must(http.MethodGet, "/v1/nodes", nil)["nodes"].([]any); len(list) != i+1 {
			t.Errorf("%s: there are %d nodes", point, len(list))
		}
		p.Kill()
	}
}

// TestTwoProcessesDoAKeyedRequestOnce sends each request to two processes on one
// database at the same instant.
func TestTwoProcessesDoAKeyedRequestOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts PostgreSQL and the program twice")
	}
	t.Parallel()
	shared := []string{
		"--set", "database.connection=" + env.Postgres(t), "--set", "trust.deployment_key_file=" + filepath.Join(t.TempDir(), "deployment.key"),
	}
	var both []*plane.Plane
	for _, host := range []string{"one", "two"} {
		p := plane.New(t, plane.Options{Command: "serve", Args: append([]string{"--set", "DEFAULT.host=" + host}, shared...)})
		p.Launch()
		p.AwaitReady()
		both = append(both, p)
	}
	const requests = 30
	made := make(chan string, 2*requests)
	var work sync.WaitGroup
	for i := range requests {
		for _, p := range both {
			work.Go(func() {
				for {
					a, err := p.Try(t.Context(), http.MethodPost, "/v1/nodes", map[string]any{"driver": "fake-hardware"}, fmt.Sprintf("Idempotency-Key: %d", i))
					switch {
					case err == nil && a.Status == http.StatusConflict:
						continue // the other is at it
					case err != nil || a.Status != http.StatusCreated:
						t.Errorf("request %d: %d %s %v", i, a.Status, a.Text, err)
					}
					made <- a.Text
					return
				}
			})
		}
	}
	work.Wait()
	close(made)
	answers := map[string]int{}
	for text := range made {
		answers[text]++
	}
	for text, n := range answers {
		if n != 2 {
			t.Errorf("%d of two were told %s", n, text)
		}
	}
	if list, _ := both[0].Must(http.MethodGet, "/v1/nodes", nil)["nodes"].([]any); len(list) != requests || len(answers) != requests {
		t.Errorf("%d requests made %d nodes, and had %d answers", requests, len(list), len(answers))
	}
}
