package api

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ferrule/hardware"
	"ferrule/metal"
)

// refs are the refs of all secrets.
func (s *served) refs() []string {
	s.t.Helper()
	list, err := s.store.SecretRefs(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	refs := make([]string, len(list))
	for i, ref := range list {
		refs[i] = ref.Ref
	}
	return refs
}

// value is what a secret stands for.
func (s *served) value(ref string) string {
	s.t.Helper()
	sealed, err := s.store.SealedSecret(s.t.Context(), ref)
	if err != nil {
		s.t.Fatal(err)
	}
	plain, err := s.sealer.Open(sealed.Name(s.sealedFor(ref)), sealed.Sealed)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(plain)
}

// sealedFor is the BMC for which a node's secret is to be sealed, "" for none.
func (s *served) sealedFor(ref string) string {
	s.t.Helper()
	place, _ := metal.ParseSecretRef(ref)
	n, err := s.store.NodeByUUID(s.t.Context(), place.UUID)
	if err != nil {
		return "" // the owner is no node
	}
	return hardware.SealedFor(&n, ref)
}

// What a template or a runbook keeps under keys that Ironic masks is sealed,
// stays when its mask is written back, wherever its step has moved, and goes
// with it.
func TestCredentialsOfStepsAreSealed(t *testing.T) {
	for path, ordinal := range map[string]string{"/v1/deploy_templates": "priority", "/v1/runbooks": "order"} {
		s := serve(t)
		first, second, third := canary(), canary(), canary()
		step := func(name, args string) string {
			return fmt.Sprintf(`{"interface": "deploy", "step": %q, %q: 10, "args": %s}`, name, ordinal, args)
		}
		body := fmt.Sprintf(`{"name": "CUSTOM_A", "steps": [%s, %s]}`,
			step("one", fmt.Sprintf(`{"a": {"password": %q}, "list": [{"auth_token": %q}], "plain": "shown"}`, first, second)),
			step("two", fmt.Sprintf(`{"secrets": [%q, 5]}`, third)))
		made := s.ask("latest", http.MethodPost, path, body).want(http.StatusCreated)
		uuid, _ := made.object()["uuid"].(string)
		shown := made.Body.String() + s.ask("latest", http.MethodGet, path+"/"+uuid, "").want(http.StatusOK).Body.String() +
			s.ask("latest", http.MethodGet, path+"?detail=true", "").want(http.StatusOK).Body.String()
		if strings.Contains(shown, "secret://") || strings.Count(shown, `"******"`) != 9 || !strings.Contains(shown, `"plain":"shown"`) {
			t.Errorf("%s: shown %s", path, shown)
		}
		refs := s.refs()
		if len(refs) != 3 {
			t.Fatalf("%s: refs %v", path, refs)
		}
		// Another step comes before them, and the masks are written back.
		patch := fmt.Sprintf(`[{"op": "replace", "path": "/steps", "value": [%s, %s, %s]}]`, step("zero", `{}`),
			step("two", `{"secrets": "******"}`), step("one", `{"a": {"password": "******"}, "list": [{"auth_token": "******"}]}`))
		s.ask("latest", http.MethodPatch, path+"/"+uuid, patch).want(http.StatusOK)
		if got := s.refs(); len(got) != 3 || got[0] != refs[0] || got[1] != refs[1] || got[2] != refs[2] {
			t.Errorf("%s: refs %v became %v", path, refs, got)
		}
		if s.value(refs[0]) != first && s.value(refs[1]) != first {
			t.Errorf("%s: the secrets are %q", path, []string{s.value(refs[0]), s.value(refs[1])})
		}
		s.ask("latest", http.MethodPatch, path+"/"+uuid, `[{"op": "remove", "path": "/steps/1"}]`).want(http.StatusOK)
		if got := s.refs(); len(got) != 2 {
			t.Errorf("%s: refs %v after one of three was removed", path, got)
		}
		s.ask("latest", http.MethodDelete, path+"/"+uuid, "").want(http.StatusNoContent)
		if got := s.refs(); len(got) != 0 {
			t.Errorf("%s: refs %v outlive what they belonged to", path, got)
		}
		for _, secret := range []string{first, second, third} {
			if strings.Contains(shown, secret) || bytes.Contains(s.kept(), []byte(secret)) || strings.Contains(s.log.String(), secret) {
				t.Errorf("%s: a credential lies about", path)
			}
		}
	}
}

// Of an inspection rule is sealed what stands under a masked key, what goes to a
// credential's place, and of a sensitive rule every value.
func TestCredentialsOfRulesAreSealed(t *testing.T) {
	s := serve(t)
	named, paired, looped, listed, hidden := canary(), canary(), canary(), canary(), canary()
	const path = "/v1/inspection_rules"
	plain := s.ask("latest", http.MethodPost, path, fmt.Sprintf(`{"conditions": [{"op": "eq", "args": {"values": [1, "x"]}}], "actions": [
		{"op": "set-attribute", "args": {"path": "extra/x", "value": {"my_password": %q, "plain": "shown"}}},
		{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": %q}},
		{"op": "set-attribute", "args": {"path": "{item[path]}", "value": "{item[value]}"}, "loop": [{"path": "driver_info.ipmi_password", "value": %q}]},
		{"op": "set-attribute", "args": ["driver_info/snmp_auth_key", %q]}]}`, named, paired, looped, listed)).want(http.StatusCreated)
	if text := plain.Body.String(); strings.Contains(text, "secret://") || strings.Count(text, `"******"`) != 4 || !strings.Contains(text, `"plain":"shown"`) {
		t.Errorf("shown %s", text)
	}
	if refs := s.refs(); len(refs) != 4 {
		t.Errorf("refs %v", refs)
	}
	sensitive := s.ask("latest", http.MethodPost, path, fmt.Sprintf(`{"sensitive": true, "conditions": [{"op": "eq", "args": {"values": [%q, 5]}}],
		"actions": [{"op": "fail", "args": {"msg": %q}}]}`, hidden, hidden)).want(http.StatusCreated)
	if refs := s.refs(); len(refs) != 7 {
		t.Errorf("refs %v", refs)
	}
	uuid, _ := sensitive.object()["uuid"].(string)
	s.ask("latest", http.MethodPatch, path+"/"+uuid, `[{"op": "replace", "path": "/priority", "value": 5}]`).want(http.StatusOK)
	s.ask("latest", http.MethodPatch, path+"/"+uuid, `[{"op": "replace", "path": "/actions", "value": [{"op": "log", "args": {"msg": "x"}}]}]`).want(http.StatusOK)
	if refs := s.refs(); len(refs) != 7 {
		t.Errorf("refs %v", refs)
	}
	// One that becomes sensitive is sealed as a whole then.
	uuid, _ = plain.object()["uuid"].(string)
	s.ask("latest", http.MethodPatch, path+"/"+uuid, `[{"op": "replace", "path": "/sensitive", "value": true}]`).want(http.StatusOK)
	rule, err := s.store.InspectionRule(t.Context(), uuid)
	if err != nil || strings.Contains(string(rule.Actions), `"shown"`) || strings.Contains(string(rule.Conditions), `"x"`) {
		t.Errorf("the row has %s and %s, %v", rule.Actions, rule.Conditions, err)
	}
	for _, secret := range []string{named, paired, looped, listed, hidden} {
		if bytes.Contains(s.kept(), []byte(secret)) || strings.Contains(s.log.String(), secret) {
			t.Error("a credential lies about")
		}
	}
	s.ask("latest", http.MethodDelete, path+"/"+uuid, "").want(http.StatusNoContent)
	if refs := s.refs(); len(refs) != 3 {
		t.Errorf("refs %v", refs)
	}
}

// The credentials of a request's steps, of a runbook's and of a deploy
// template's become secrets of the node's operation.
func TestCredentialsOfAVerbsStepsAreSealed(t *testing.T) {
	s := serve(t)
	asked, inRunbook, inTemplate := canary(), canary(), canary()
	s.ask("latest", http.MethodPost, "/v1/runbooks", fmt.Sprintf(`{"name": "CUSTOM_R", "steps": [
		{"interface": "deploy", "step": "x", "order": 1, "args": {"password": %q}}]}`, inRunbook)).want(http.StatusCreated)
	s.ask("latest", http.MethodPost, "/v1/deploy_templates", fmt.Sprintf(`{"name": "CUSTOM_T", "steps": [
		{"interface": "bios", "step": "apply_configuration", "priority": 150, "args": {"settings": [], "secrets": [%q, 7]}}]}`, inTemplate)).want(http.StatusCreated)
	begin := func(state metal.State, body string) metal.OperationRecord {
		t.Helper()
		uuid := s.node(`{"driver": "fake-hardware"}`)
		s.put(uuid, func(n *metal.Node) {
			n.ProvisionState, n.Traits = state, []string{"CUSTOM_R", "CUSTOM_T"}
			n.InstanceInfo = `{"traits": ["CUSTOM_T"]}`
		})
		s.ask("1.92", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", body).want(http.StatusAccepted)
		ops, err := s.store.OpenOperations(t.Context(), uuid)
		if err != nil || len(ops) != 1 {
			t.Fatalf("operations %v, %v", ops, err)
		}
		return ops[0]
	}
	for _, c := range []struct {
		state        metal.State
		body, secret string
	}{
		{metal.Manageable, fmt.Sprintf(`{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "x", "args": {"deep": [{"token": %q}]}}]}`, asked), asked},
		{metal.Manageable, `{"target": "clean", "runbook": "CUSTOM_R"}`, inRunbook},
		{metal.Available, `{"target": "active"}`, `["` + inTemplate + `",7]`},
	} {
		op := begin(c.state, c.body)
		refs := metal.SecretRefs(op.Args.Object())
		if len(refs) > 0 && !op.Secrets().Holds(refs[0]) {
			t.Errorf("%s: the ref %s is not of the operation", c.body, refs[0])
		}
		if len(refs) != 1 || s.value(refs[0]) != c.secret {
			t.Fatalf("%s: %v in %s", c.body, refs, op.Args)
		}
	}
	for _, secret := range []string{asked, inRunbook, inTemplate} {
		if bytes.Contains(s.kept(), []byte(secret)) || strings.Contains(s.log.String(), secret) {
			t.Error("a credential lies about")
		}
	}
	// Who writes the ref of another's secret gets nothing.
	uuid := s.node(`{"driver": "fake-hardware"}`)
	s.put(uuid, func(n *metal.Node) { n.ProvisionState = metal.Manageable })
	for _, ref := range s.refs() {
		s.ask("latest", http.MethodPut, "/v1/nodes/"+uuid+"/states/provision", fmt.Sprintf(
			`{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "x", "args": {"password": %q}}]}`, ref)).want(http.StatusForbidden)
	}
}

// What stands in the place of an object that holds credentials may be one.
func TestARefusedObjectIsNotShown(t *testing.T) {
	s := serve(t)
	secret := canary()
	uuid := s.node(`{"driver": "fake-hardware"}`)
	for _, a := range []answer{
		s.ask("latest", http.MethodPost, "/v1/nodes", fmt.Sprintf(`{"driver": "fake-hardware", "driver_info": %q}`, secret)),
		s.ask("latest", http.MethodPost, "/v1/nodes", fmt.Sprintf(`{"driver": "fake-hardware", "instance_info": [%q]}`, secret)),
		s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, fmt.Sprintf(`[{"op": "replace", "path": "/driver_info", "value": %q}]`, secret)),
		s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, fmt.Sprintf(`[{"op": "replace", "path": "/instance_info", "value": %q}]`, secret)),
		s.ask("latest", http.MethodPost, "/v1/volume/targets", fmt.Sprintf(
			`{"node_uuid": %q, "volume_type": "iscsi", "boot_index": 0, "volume_id": "v", "properties": %q}`, uuid, secret)),
	} {
		if text := a.want(http.StatusBadRequest).Body.String(); strings.Contains(text, secret) {
			t.Errorf("it is shown: %s", text)
		}
	}
}
