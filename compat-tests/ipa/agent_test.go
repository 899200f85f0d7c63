// Package ipa_test holds Ferrule to the classes of the real
// ironic-python-agent: what the agent of a ramdisk sends and understands. The
// hardware under it is made up; none of its code that touches a machine runs.
package ipa_test

import (
	_ "embed"
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"ferrule/compat-tests/coprocess"
	"ferrule/compat-tests/env"
	"ferrule/compat-tests/plane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

//go:embed agent.py
var program string

// object is a document of JSON.
type object = map[string]any

// agent is the real agent, on made-up hardware.
type agent struct {
	t    *testing.T
	real *coprocess.Process
	mac  string
}

// newAgent starts an agent whose API this is, until the test ends.
func newAgent(t *testing.T, api, mac string) *agent {
	t.Helper()
	ports, err := plane.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	machine, err := json.Marshal(object{"api": api, "mac": mac, "host": "127.0.0.1", "port": ports[0]})
	if err != nil {
		t.Fatal(err)
	}
	python := env.Venv(t, env.IronicPythonAgent)
	return &agent{t: t, mac: mac, real: coprocess.Start(t, python, "-W", "ignore", "-c", program, string(machine))}
}

// ask gives the agent's answer, or its error.
func (a *agent) ask(what string, with object) (answer object, failed string) {
	a.t.Helper()
	request := object{"do": what}
	for name, value := range with {
		request[name] = value
	}
	a.real.Ask(request, &answer)
	if text, ok := answer["error"].(string); ok {
		return nil, answer["kind"].(string) + ": " + text
	}
	return answer, ""
}

// do is an ask that must succeed.
func (a *agent) do(what string, with object) object {
	a.t.Helper()
	answer, failed := a.ask(what, with)
	if failed != "" {
		a.t.Fatalf("%s: %s", what, failed)
	}
	return answer
}
