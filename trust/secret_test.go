package trust

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSecretShowsNowhere(t *testing.T) {
	t.Parallel()
	value := rand.Text()
	secret := NewSecret([]byte(value))
	holder := struct{ S Secret }{secret}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "secret", secret, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret, "holder", holder)
	text := fmt.Sprintf("%v %+v %#v %s %x %q %d %v %+v %#v %x", secret, secret, secret, secret, secret, secret, secret, holder, holder, holder, holder) + log.String()
	for _, shown := range []string{value, fmt.Sprintf("%x", value), fmt.Sprint([]byte(value))[1:20]} {
		if strings.Contains(text, shown) {
			t.Errorf("the secret shows in %s", text)
		}
	}
	if _, err := json.Marshal(holder); err == nil {
		t.Error("the secret was written as JSON")
	}
	if string(secret.Reveal()) != value {
		t.Error("the secret is lost")
	}
}

func TestKeysAndCodesShowNowhere(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	credential := d.agent(AgentName{ID: "a-1"})
	code, err := d.ca.NewJoinCode("host:6386", 1)
	check(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "credential", credential, "code", code)
	text := fmt.Sprintf("%v %s %+v %v %+v %#v", credential, credential, credential, code, code, code) + log.String()
	private, err := credential.key.Bytes()
	check(t, err)
	for _, shown := range []string{
		string(code.Secret().Reveal()), fmt.Sprintf("%x", code.secret), fmt.Sprint(code.secret), fmt.Sprintf("%x", private),
		fmt.Sprint(credential.key.D), //nolint:staticcheck // the number is what %v would print
	} {
		if strings.Contains(text, shown) {
			t.Errorf("%q shows in %s", shown, text)
		}
	}
}
