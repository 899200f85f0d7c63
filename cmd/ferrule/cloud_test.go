package main

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// An operator's verbs find the API and log in as the openstack client does.
func TestVerbsReadTheVariablesOfTheOpenstackClient(t *testing.T) {
	password := rand.Text()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, given, _ := r.BasicAuth()
		if user == "op" && given == password || r.Header.Get("X-Auth-Token") == password || r.Header.Get("X-Open") != "" {
			fmt.Fprint(w, `{"sites":[]}`)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	text := fmt.Sprintf("clouds:\n  metal:\n    auth_type: http_basic\n    auth: {endpoint: %q, username: op, password: %q}\n", server.URL, password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, variables := range map[string]map[string]string{
		"http_basic": {"OS_AUTH_TYPE": "http_basic", "OS_ENDPOINT": server.URL, "OS_USERNAME": "op", "OS_PASSWORD": password},
		"a token":    {"OS_ENDPOINT": server.URL + "/", "OS_TOKEN": password},
		"a cloud":    {"OS_CLOUD": "metal", "OS_CLIENT_CONFIG_FILE": file},
	} {
		t.Run(name, func(t *testing.T) {
			for _, all := range []string{"OS_CLOUD", "OS_ENDPOINT", "OS_AUTH_TYPE", "OS_USERNAME", "OS_PASSWORD", "OS_TOKEN", "OS_AUTH_URL"} {
				t.Setenv(all, variables[all])
			}
			t.Setenv("OS_CLIENT_CONFIG_FILE", variables["OS_CLIENT_CONFIG_FILE"])
			var list struct{ Sites []any }
			if err := (operator{}).call(t.Context(), http.MethodGet, "/ferrule/v1/sites", nil, &list); err != nil {
				t.Error(err)
			}
		})
	}
	t.Setenv("OS_CLOUD", "none")
	t.Setenv("OS_CLIENT_CONFIG_FILE", file)
	if err := (operator{}).call(t.Context(), http.MethodGet, "/ferrule/v1/sites", nil, nil); err == nil {
		t.Error("a cloud that is not there is not told of")
	}
}
