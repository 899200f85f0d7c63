package site_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"ferrule/compat-tests/plane"
)

func TestTheOperatorsVerbsSayWhoAsks(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program")
	}
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	password := canary()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := write("users", "operator:"+string(hash)+"\n")
	p := plane.Start(t, plane.Options{Args: []string{"--auth", "http_basic", "--set", "DEFAULT.http_basic_auth_user_file=" + users}})
	verbs := [][]string{{"agents", "list"}, {"site", "list"}, {"join-code"}, {"agents", "remove", "3f1c1f0e-5d8e-4f0e-9a53-0d2a3f9f3c11"}}
	for _, verb := range verbs {
		verb = append(verb, "--endpoint", p.URL)
		refused(t, "Authorization required", verb...)
		refused(t, "Incorrect username or password", append(verb, "--credentials", write("wrong", "operator:wrong\n"))...)
		refused(t, "no line USER:PASSWORD", append(verb, "--credentials", write("none", "nobody"))...)
	}
	right := write("right", "operator:"+password+"\n")
	if list := must(t, "agents", "list", "--endpoint", p.URL, "--credentials", right); !strings.Contains(list, "on line") {
		t.Errorf("the agents are:\n%s", list)
	}
	refused(t, "could not be found", append(verbs[3], "--endpoint", p.URL, "--credentials", right)...)
}
