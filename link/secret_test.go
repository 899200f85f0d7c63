package link_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"

	"ferrule/link/client"
	"ferrule/trust"
)

func keyIn(t *testing.T, identity []byte) []byte {
	t.Helper()
	var record struct {
		Key string `json:"key"`
	}
	check(t, json.Unmarshal(identity, &record))
	return []byte(record.Key)
}

func TestSecretIsReleasedToTheAgentWhoseCommandNamesIt(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	c, stranger := p.join("", client.Options{}), p.join("", client.Options{})
	const ref, otherRef = "secret://tenant/nodes/n/driver_info/redfish_password", "secret://tenant/nodes/m/driver_info/redfish_password"
	value := rand.Text()
	p.update(func() { p.secrets[ref], p.secrets[otherRef] = []byte(value), []byte(rand.Text()) })
	command := p.command(c.Identity().AgentID(), ref)
	got, err := c.FetchSecret(limit(t), command.ID, ref)
	check(t, err)
	if string(got) != value {
		t.Error("another secret came")
	}
	if _, err := c.FetchSecret(limit(t), command.ID, otherRef); refusalCode(err) != trust.RefusedUnbound {
		t.Errorf("a ref that the command does not name: %v", err)
	}
	if _, err := stranger.FetchSecret(limit(t), command.ID, ref); refusalCode(err) != trust.RefusedUnbound {
		t.Errorf("another agent's command: %v", err)
	}
	p.update(func() { delete(p.secrets, ref) })
	if _, err := c.FetchSecret(limit(t), command.ID, ref); refusalCode(err) != trust.RefusedNoSecret {
		t.Errorf("a secret that is gone: %v", err)
	}
}

func refusalCode(err error) trust.RefusalCode {
	var rejected *client.Rejected
	if errors.As(err, &rejected) {
		return rejected.Code
	}
	return ""
}
