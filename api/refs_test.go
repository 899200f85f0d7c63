package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ferrule/metal"
	"ferrule/openapi"
	"ferrule/store"
	"ferrule/store/storetest"
)

// thrown are texts in the form of a ref, of every sort. Each has a word that
// occurs nowhere else, but the victim's own, which exists.
func thrown(victim, own string) []string {
	return []string{
		metal.DriverInfoSecrets(victim).Below("redfish_password").Ref(),
		metal.DriverInfoSecrets(own).Below("redfish_password").Ref(),
		metal.DriverInfoSecrets(victim).Below(canary()).Ref(), metal.DriverInfoSecrets(own).Below(canary()).Ref(),
		(&metal.OperationRecord{ID: canary(), NodeUUID: own}).Secrets().Below("x").Ref(),
		metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: canary(), Path: "steps/x"}.Ref(),
		"secret://fleet/" + canary(), "vault://kv/" + canary(), "env://FERRULE_SECRET_" + canary(),
	}
}

// shapes are places in a value at which a text can stand; %s is the text.
var shapes = []string{
	`%s`, `{"x": %s}`, `[%s]`, `{"a": [{"password": %s}]}`, `{%s: 1}`, `[{"deep": {%s: []}}]`,
	`[{"interface": "deploy", "step": "any", "priority": 1, "args": {"x": %s}}]`, `[{"interface": "deploy", "step": "any", "order": 1, "args": {"x": [%s]}}]`,
	`[{"op": "set-attribute", "args": {"path": "extra/x", "value": %s}}]`, `[{"op": "set-attribute", "args": ["driver_info/redfish_password", %s]}]`,
}

// A text in the form of a ref is refused in every field of every object, at any
// depth, and in object keys; nothing of it is kept, and nobody is sent any.
func TestNoFieldTakesARef(t *testing.T) {
	s := serve(t)
	victim := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "192.0.2.1", "redfish_password": "obviously-fake"}}`)
	own := s.node(`{"driver": "fake-hardware", "driver_info": {"redfish_password": "obviously-fake"}}`)
	before := s.refs()
	refs := thrown(victim, own)
	all := append(kinds(),
		kind{"/v1/nodes", "nodes", `{"driver": "fake-hardware"}`, openapi.NodeFields},
		kind{"/v1/ports", "ports", `{"node_uuid": "{node}", "address": "52:54:00:00:00:{n}"}`, openapi.PortFields})
	for i, k := range all {
		made := s.ask("latest", http.MethodPost, k.path, k.bodyWith(own, 10+i, "", "")).want(http.StatusCreated).object()
		one := k.path + "/" + made["uuid"].(string)
		for _, f := range k.fields.Fields {
			for j, shape := range shapes {
				ref := refs[(i+j+len(f.Name))%len(refs)]
				if testing.Short() && j > 5 && !strings.Contains("steps actions conditions", f.Name) {
					continue
				}
				value := fmt.Sprintf(shape, fmt.Sprintf("%q", ref))
				s.ask("latest", http.MethodPost, k.path, k.bodyWith(own, 50, f.Name, value)).want(http.StatusForbidden)
				s.ask("latest", http.MethodPatch, one, fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": %s}]`, f.Name, value)).want(http.StatusForbidden)
				s.ask("latest", http.MethodPatch, one, fmt.Sprintf(`[{"op": "replace", "path": "/%s/x", "value": %s}]`, f.Name, value)).want(http.StatusForbidden)
			}
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(refs[i%len(refs)])
			if a := s.ask("latest", http.MethodPatch, one, fmt.Sprintf(`[{"op": "add", "path": "/%s/%s", "value": 1}]`, f.Name, escaped)); a.Code/100 != 4 {
				t.Errorf("a ref as a key of %s.%s: %d", k.path, f.Name, a.Code)
			}
		}
	}
	s.checkThrown(refs, before)
}

// The same of every argument of every operation, in the body, in a form, and in
// the query.
func TestNoOperationTakesARef(t *testing.T) {
	s := serve(t, "agent.require_tls=false")
	victim := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "192.0.2.1", "redfish_password": "obviously-fake"}}`)
	own := s.node(`{"driver": "fake-hardware", "name": "n", "driver_info": {"redfish_password": "obviously-fake"}}`)
	s.put(own, func(n *metal.Node) { n.ProvisionState = metal.Manageable })
	before := s.refs()
	refs := thrown(victim, own)
	count := 0
	for i := range openapi.Operations {
		op := &openapi.Operations[i]
		if op.Own {
			continue
		}
		hasBody := op.Method == http.MethodPost || op.Method == http.MethodPut || op.Method == http.MethodPatch
		names := []string{"any"}
		for _, a := range op.Args {
			names = append(names, a.Name)
		}
		path := fill(op.Path, own)
		if op.Path == "/v1/drivers/{driver}/vendor_passthru" || strings.Contains(op.Path, "{method}") {
			path = fill(strings.Replace(op.Path, "{method}", "second_method", 1), own)
		}
		for j, name := range names {
			ref := refs[(i+j)%len(refs)]
			for _, shape := range shapes {
				if !hasBody {
					break
				}
				count++
				value := fmt.Sprintf(shape, fmt.Sprintf("%q", ref))
				s.refused(op, path, fmt.Sprintf(`{%q: %s}`, name, value))
			}
			if op.Keywords && hasBody {
				s.refused(op, path, url.Values{name: {ref}}.Encode(), "Content-Type: application/x-www-form-urlencoded")
				s.refused(op, path+"?"+url.Values{name: {ref}}.Encode(), "")
			}
		}
		for j, p := range op.Params {
			s.refused(op, path+"?"+url.Values{p.Name: {refs[(i+j)%len(refs)]}}.Encode(), "")
		}
	}
	if count < 200 {
		t.Errorf("only %d bodies were tried", count)
	}
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "clean", "clean_steps": [{"interface": "deploy", "step": "any", "args": {"x": %q}}]}`},
		{http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "active", "configdrive": %q}`},
		{http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "active", "configdrive": {"user_data": {"x": %q}}}`},
		{http.MethodPut, "/v1/nodes/n/states/provision", `{"target": "rescue", "rescue_password": %q}`},
		{http.MethodPost, "/v1/nodes/n/vendor_passthru?method=second_method", `{"x": [%q]}`},
		{http.MethodPost, "/v1/nodes/n/vmedia", `{"device_type": "cdrom", "image_url": %q}`},
		{http.MethodPost, "/v1/heartbeat/n", `{"callback_url": %q, "agent_version": "1", "agent_token": "x"}`},
		{http.MethodPost, "/v1/heartbeat/n", `{"callback_url": "https://h", "agent_version": "1", "agent_token": "x", "agent_status_message": %q}`},
		{http.MethodPost, "/v1/continue_inspection", `{"inventory": {"interfaces": [{"name": "e", "mac_address": "52:54:00:00:00:01"}], "x": {"y": %q}}}`},
		{http.MethodPost, "/v1/continue_inspection", `{"inventory": {"interfaces": [{"name": "e", "mac_address": "52:54:00:00:00:01"}]}, %q: 1}`},
	} {
		for _, ref := range refs {
			s.ask("latest", c.method, c.path, fmt.Sprintf(c.body, ref)).want(http.StatusForbidden)
		}
	}
	s.checkThrown(refs, before)
}

// refused sends a request that must be a client's error.
func (s *served) refused(op *openapi.Operation, path, body string, headers ...string) {
	s.t.Helper()
	if a := s.ask("latest", op.Method, path, body, headers...); a.Code/100 != 4 {
		s.t.Errorf("%s %s %s: %d %.200s", op.Method, path, body, a.Code, a.Body)
	}
}

// checkThrown looks for the texts in all that is kept and was sent.
func (s *served) checkThrown(refs, before []string) {
	s.t.Helper()
	for _, ref := range refs {
		_, word, unique := strings.Cut(ref, "canary-")
		if unique && (bytes.Contains(s.kept(), []byte(word)) || bytes.Contains(s.kept(), []byte(url.PathEscape(word)))) {
			s.t.Errorf("the database holds %s", ref)
		}
		for _, req := range s.agent.asked {
			if strings.Contains(string(metal.ToJSON(req)), ref) {
				s.t.Errorf("a command names %s: %+v", ref, req)
			}
		}
	}
	if got := s.refs(); fmt.Sprint(got) != fmt.Sprint(before) {
		s.t.Errorf("the secrets %v became %v", before, got)
	}
}

// What is kept elsewhere in the configuration of who may see credentials shows
// no refs either, so that no client has one to write back.
func TestWhoMaySeeCredentialsSeesNoRefs(t *testing.T) {
	rules := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(rules, []byte("show_password: '@'\nshow_instance_secrets: '@'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "oslo_policy.policy_file="+rules)
	uuid := s.node(`{"driver": "fake-hardware", "driver_info": {"redfish_password": "obviously-fake", "x": "plain"}, "instance_info": {"deep": [{"token": "obviously-fake"}]}}`)
	s.put(uuid, func(n *metal.Node) {
		n.DriverInternalInfo = n.DriverInternalInfo.With("agent_secret_token", metal.RamdiskToken(n.UUID).Ref())
	})
	shown := s.ask("latest", http.MethodGet, "/v1/nodes/"+uuid, "").want(http.StatusOK).Body.String()
	if strings.Contains(shown, "secret://") || !strings.Contains(shown, `"x":"plain"`) || strings.Count(shown, `"******"`) != 3 {
		t.Errorf("shown: %s", shown)
	}
}

// A node's row that was edited to name another's secret has nothing of it asked
// for, opened or deleted, on either engine.
func TestAnEditedRowOpensNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		s := serveStore(t, db)
		password := canary()
		victim := s.node(fmt.Sprintf(`{"driver": "redfish", "driver_info": {"redfish_address": "192.0.2.1", "redfish_password": %q}}`, password))
		own := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "192.0.2.2", "redfish_password": "obviously-fake"}}`)
		ref := metal.DriverInfoSecrets(victim).Below("redfish_password").Ref()
		s.put(own, func(n *metal.Node) {
			n.DriverInfo = n.DriverInfo.With("redfish_password", ref)
			n.InstanceInfo = n.InstanceInfo.With("configdrive", ref)
			n.DriverInternalInfo = n.DriverInternalInfo.With("agent_secret_token", ref)
			n.ProvisionState = metal.CleanWait
		})
		s.ask("latest", http.MethodGet, "/v1/nodes/"+own+"/management/boot_device", "").want(http.StatusBadRequest)
		if len(s.agent.asked) != 0 {
			t.Errorf("asked for %+v", s.agent.asked)
		}
		// The ramdisk's token is never the victim's password.
		beat := fmt.Sprintf(`{"callback_url": "https://192.0.2.3:9999", "agent_version": "11.0", "agent_token": %q}`, password)
		s.ask("1.68", http.MethodPost, "/v1/heartbeat/"+own, beat).want(http.StatusBadRequest)
		// Nor does taking it out of the row, or deleting what keeps it, delete it.
		s.put(own, func(n *metal.Node) { n.ProvisionState = metal.Enroll })
		s.ask("latest", http.MethodPatch, "/v1/nodes/"+own, `[{"op": "remove", "path": "/driver_info/redfish_password"}, {"op": "remove", "path": "/instance_info/configdrive"}]`).want(http.StatusOK)
		s.ask("latest", http.MethodDelete, "/v1/nodes/"+own, "").want(http.StatusNoContent)
		if got := s.value(ref); got != password {
			t.Errorf("the victim's password became %q", got)
		}
	})
}

// A target's row that names another's secret does not get it by moving.
func TestAMovedTargetTakesNoOtherSecret(t *testing.T) {
	s := serve(t)
	off := string(metal.PowerOff)
	victim := s.node(`{"driver": "fake-hardware", "driver_info": {"redfish_password": "obviously-fake"}}`)
	from, to := s.node(`{"driver": "fake-hardware"}`), s.node(`{"driver": "fake-hardware"}`)
	for _, uuid := range []string{from, to} {
		s.put(uuid, func(n *metal.Node) { n.PowerState = &off })
	}
	made := s.ask("latest", http.MethodPost, "/v1/volume/targets", fmt.Sprintf(
		`{"node_uuid": %q, "volume_type": "iscsi", "volume_id": "v", "boot_index": 0}`, from)).want(http.StatusCreated).object()
	path := "/v1/volume/targets/" + made["uuid"].(string)
	ref := metal.DriverInfoSecrets(victim).Below("redfish_password").Ref()
	storetest.Write(t, s.store, func(ctx context.Context, tx *store.Tx) error {
		v, err := tx.VolumeTarget(ctx, made["uuid"].(string))
		if err != nil {
			return err
		}
		v.Properties = v.Properties.With("password", ref)
		return tx.UpdateVolumeTarget(ctx, &v)
	})
	a := s.ask("latest", http.MethodPatch, path, fmt.Sprintf(`[{"op": "replace", "path": "/node_uuid", "value": %q}]`, to))
	if refs := s.refs(); a.Code/100 != 4 || len(refs) != 1 || refs[0] != ref {
		t.Errorf("%d %s; secrets %v", a.Code, a.Body, refs)
	}
	var fault struct {
		Message string `json:"error_message"`
	}
	if err := json.Unmarshal(a.Body.Bytes(), &fault); err != nil || strings.Contains(fault.Message, ref) {
		t.Errorf("the answer quotes the ref: %s", a.Body)
	}
	s.ask("latest", http.MethodDelete, path, "").want(http.StatusNoContent)
	if got := s.value(ref); got != "obviously-fake" {
		t.Errorf("the victim's password became %q", got)
	}
}
