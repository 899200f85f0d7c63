package runner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

// A step's credentials go to the ramdisk by their refs, are shown to nobody, and
// are forgotten when the operation ends, however it does.
func TestCredentialsOfAStep(t *testing.T) {
	for _, ends := range []metal.State{metal.Manageable, metal.CleanFailed} {
		s := newSim(t, redfishNode())
		s.verb(metal.VerbManage, "")
		operation := fmt.Sprint("id-", s.ids+1)
		own := (&metal.OperationRecord{ID: operation, NodeUUID: "node-1"}).Secrets()
		deep, password := own.Below("clean_steps/0/args/deep/0/a~1b").Ref(), own.Below("clean_steps/0/args/password").Ref()
		sent := 0
		s.answer = func(o runner.Order) metal.CommandResult {
			var a metal.RamdiskCallArgs
			if o.Request.Operation == metal.RamdiskCall {
				decode(t, o.Request.ArgsJSON, &a)
			}
			if a.Command == "clean.get_clean_steps" {
				offered := map[string]any{"interface": "deploy", "step": "burnin_cpu", "priority": 0, "argsinfo": map[string]any{
					"deep": map[string]any{}, "password": map[string]any{}, "plain": map[string]any{},
				}}
				return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
					"clean_steps": map[string]any{"Generic": []any{offered}},
				}}})
			}
			if a.Command == "clean.execute_clean_step" {
				sent++
				want := map[string]string{"/params/step/args/deep/0/a~1b": deep, "/params/step/args/password": password, metal.TokenParam: metal.RamdiskToken("node-1").Ref()}
				if !maps.Equal(o.Request.Secrets, want) {
					t.Errorf("secret parameters %v, want %v", o.Request.Secrets, want)
				}
				if text := string(metal.ToJSON(a.Params)); strings.Contains(text, "secret://") {
					t.Errorf("the parameters have refs: %s", text)
				}
				if ends == metal.CleanFailed {
					return refused(metal.CodeInvalidArgs, "no such argument")
				}
			}
			return s.obey(o)
		}
		args := metal.ToJSON(map[string]any{"clean_steps": []any{map[string]any{
			"interface": "deploy", "step": "burnin_cpu", "args": map[string]any{
				"deep": []any{map[string]any{"a/b": deep}}, "password": password, "plain": "shown",
			},
		}}})
		s.verb(metal.VerbClean, args)
		var shown string
		for range 20 {
			if s.world.Node.ProvisionState == ends {
				break
			}
			s.beat()
			if step := string(s.world.Node.CleanStep); strings.Contains(step, "burnin") {
				shown = step
			}
		}
		s.must(ends)
		if sent != 1 || strings.Contains(shown, "secret://") {
			t.Errorf("sent %d times; shown %s", sent, shown)
		}
		if ends == metal.Manageable && !strings.Contains(shown, `"password":"******","plain":"shown"`) {
			t.Errorf("shown %s", shown)
		}
		if !slices.Contains(s.emptied, own) || len(s.dropped) > 0 {
			t.Errorf("emptied %v, dropped %v", s.emptied, s.dropped)
		}
	}
}

// foreignRefs are refs that nobody may use for node-1's work but as what they are.
func foreignRefs() []string {
	return []string{
		metal.DriverInfoSecrets("node-2").Below("redfish_password").Ref(), metal.InstanceInfoSecrets("node-2").Below("configdrive").Ref(),
		metal.DriverInfoSecrets("node-1").Below("redfish_password").Ref(),
		(&metal.OperationRecord{ID: "another", NodeUUID: "node-1"}).Secrets().Below("clean_steps/0/args/x").Ref(),
		metal.SecretPlace{Owner: metal.RunbookSecrets, UUID: "r", Path: "steps/x"}.Ref(),
		"secret://fleet/x", "vault://x", "env://FERRULE_SECRET_X", "a password in clear",
	}
}

// named are the refs that commands named, anywhere in them.
func (s *sim) named() string {
	var all []string
	for _, o := range s.sent {
		all = append(all, string(metal.ToJSON(o.Request)))
	}
	return strings.Join(all, "\n")
}

// Whoever edits a step's arguments in the database has nothing sent that is not
// the operation's: the step fails, under any key.
func TestAStepSendsNoOtherSecret(t *testing.T) {
	for _, ref := range foreignRefs() {
		if !metal.IsSecretRef(ref) {
			continue
		}
		for _, key := range []string{"password", "x"} {
			s := newSim(t, redfishNode())
			s.verb(metal.VerbManage, "")
			s.answer = func(o runner.Order) metal.CommandResult {
				var a metal.RamdiskCallArgs
				if o.Request.Operation == metal.RamdiskCall {
					decode(t, o.Request.ArgsJSON, &a)
				}
				if a.Command == "clean.get_clean_steps" {
					return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
						"clean_steps": map[string]any{"Generic": []any{map[string]any{
							"interface": "deploy", "step": "any", "priority": 0, "argsinfo": map[string]any{key: map[string]any{}},
						}}},
					}}})
				}
				return s.obey(o)
			}
			s.verb(metal.VerbClean, metal.ToJSON(map[string]any{"clean_steps": []any{map[string]any{
				"interface": "deploy", "step": "any", "args": map[string]any{key: []any{map[string]any{"y": ref}}},
			}}}))
			s.beatUntil(metal.CleanFailed)
			if strings.Contains(s.named(), ref) {
				t.Errorf("%s under %s was sent", ref, key)
			}
			if why := text(s.world.Node.LastError); !strings.Contains(why, "not this operation's") || strings.Contains(why, ref) {
				t.Errorf("last_error: %s", why)
			}
		}
	}
}

// Whoever points a node at another's secret in the database has it neither
// signed nor deleted.
func TestANodeSendsAndDeletesItsOwnSecretsOnly(t *testing.T) {
	for _, ref := range foreignRefs() {
		for field, point := range map[string]func(n *metal.Node){
			"redfish_password": func(n *metal.Node) { n.DriverInfo = n.DriverInfo.With("redfish_password", ref) },
			"configdrive":      func(n *metal.Node) { n.InstanceInfo = n.InstanceInfo.With("configdrive", ref) },
			"anything":         func(n *metal.Node) { n.InstanceInfo = n.InstanceInfo.With("x", ref) },
			"token":            func(n *metal.Node) { n.DriverInternalInfo = n.DriverInternalInfo.With("agent_secret_token", ref) },
			"rescue password":  func(n *metal.Node) { n.InstanceInfo = n.InstanceInfo.With("hashed_rescue_password", ref) },
		} {
			if field == "redfish_password" && metal.DriverInfoSecrets("node-1").Holds(ref) {
				continue // it is what belongs there
			}
			if field == "anything" && !metal.IsSecretRef(ref) {
				continue // a text like any other
			}
			node := rescuable()
			withImage(&node)
			s := inState(t, node, metal.Available)
			point(&s.world.Node)
			s.verb(metal.VerbActive, "")
			for range 20 {
				point(&s.world.Node)
				s.beat()
			}
			if s.world.Node.ProvisionState.Is(metal.Active) {
				point(&s.world.Node)
				s.verb(metal.VerbRescue, "")
				for range 5 {
					point(&s.world.Node)
					s.beat()
				}
			}
			s.world.Node.ProvisionState, s.world.Operations = metal.Active, nil
			point(&s.world.Node)
			s.verb(metal.VerbDeleted, "")
			for range 20 {
				s.beat()
			}
			if strings.Contains(s.named(), ref) {
				t.Errorf("%s as %s: a command names it", ref, field)
			}
			for _, place := range s.emptied {
				if place.UUID != "node-1" || place.Holds(ref) && strings.Contains(ref, "driver_info/") {
					t.Errorf("%s as %s: what is at %s is deleted", ref, field, place.Ref())
				}
			}
			if len(s.dropped) > 0 {
				t.Errorf("%s as %s: deleted are %v", ref, field, s.dropped)
			}
		}
	}
}

// No inspection rule sees a ref or makes one, whatever a ramdisk's data hold and
// whatever the configuration lets rules see.
func TestRulesNeitherSeeNorMakeRefs(t *testing.T) {
	own, other := metal.DriverInfoSecrets("node-1").Below("redfish_password").Ref(), metal.DriverInfoSecrets("node-2").Below("redfish_password").Ref()
	for action, plain := range map[string]string{
		`{"path": "extra/x", "value": "{node.driver_info[redfish_password]}"}`:                                                        "******",
		`{"path": "extra/x", "value": "{node.driver_info}"}`:                                                                          "******",
		`{"path": "extra/x", "value": "{node.driver_internal_info[agent_secret_token]}"}`:                                             "******",
		`{"path": "driver_info/redfish_password", "value": "{node.driver_info[redfish_password]}"}`:                                   "",
		`{"path": "driver_info/redfish_password", "value": "{inventory[scheme]}://tenant/nodes/node-2/driver_info/redfish_password"}`: "refused",
		`{"path": "driver_info/x", "value": "{inventory[scheme]}://tenant/nodes/node-1/driver_info/redfish_password"}`:                "refused",
		`{"path": "driver_info/x", "value": ["{plugin_data[ref]}"]}`:                                                                  "refused",
		`{"path": "instance_info/configdrive", "value": "{plugin_data[ref]}"}`:                                                        "refused",
		`{"path": "instance_info", "value": {"a": {"{plugin_data[ref]}": 1}}}`:                                                        "refused",
	} {
		told := metal.JSON(strings.TrimSuffix(inventory, "}") + `, "scheme": "secret"}`)
		s := inspected(t, told, metal.ToJSON(map[string]string{"ref": other}), func(s *sim) {
			s.world.Settings.MaskSecrets = "never"
			s.world.Node.DriverInfo = s.world.Node.DriverInfo.With("redfish_password", own)
			s.world.Node.DriverInternalInfo = s.world.Node.DriverInternalInfo.With("agent_secret_token", metal.RamdiskToken("node-1").Ref())
			s.world.Rules = []metal.InspectionRule{{UUID: "rule-1", Conditions: "[]", Actions: metal.JSON(`[{"op": "set-attribute", "args": ` + action + `}]`)}}
		})
		n := s.world.Node
		if plain == "refused" {
			if why := text(n.LastError); !n.ProvisionState.Is(metal.InspectFailed) || !strings.Contains(why, "not accepted from outside") || strings.Contains(why, other) {
				t.Errorf("%s: %s, %s", action, n.ProvisionState, why)
			}
		} else if s.must(metal.Manageable); !strings.Contains(fmt.Sprint(n.Extra.Lookup("x")), plain) {
			t.Errorf("%s: %s", action, n.Extra)
		}
		if n.DriverInfo.Text("redfish_password") != own || strings.Contains(string(n.Extra+n.InstanceInfo), "secret://") || len(s.secrets)+len(s.dropped) > 0 {
			t.Errorf("%s: driver_info %s, extra %s, secrets %v, dropped %v", action, n.DriverInfo, n.Extra, s.secrets, s.dropped)
		}
	}
}

// An inspection rule that moves the node's BMC leaves the stored password behind,
// unless it sets another.
func TestARuleThatMovesTheBMCLeavesItsPassword(t *testing.T) {
	own := metal.DriverInfoSecrets("node-1").Below("redfish_password").Ref()
	for actions, kept := range map[metal.JSON]string{
		`[{"op": "set-attribute", "args": {"path": "driver_info/redfish_address", "value": "https://127.0.0.9"}}]`:     "",
		`[{"op": "set-attribute", "args": {"path": "driver_info/redfish_verify_ca", "value": false}}]`:                 "",
		`[{"op": "set-attribute", "args": {"path": "driver_info/redfish_address", "value": "HTTPS://127.0.0.1:443"}}]`: own,
		`[{"op": "set-attribute", "args": {"path": "driver_info/redfish_address", "value": "https://127.0.0.9"}},
			{"op": "set-attribute", "args": {"path": "driver_info/redfish_password", "value": "new"}}]`: own,
	} {
		s := inspected(t, inventory, `{}`, func(s *sim) {
			s.world.Node.DriverInfo = s.world.Node.DriverInfo.With("redfish_password", own)
			s.world.Rules = []metal.InspectionRule{{UUID: "rule-1", Conditions: "[]", Actions: actions}}
		})
		s.must(metal.Manageable)
		dropped := slices.Contains(s.dropped, own)
		told := slices.ContainsFunc(s.history, func(h metal.HistoryEntry) bool { return strings.Contains(h.Event, "redfish_password was deleted") })
		if got := s.world.Node.DriverInfo.Text("redfish_password"); got != kept || dropped != (kept == "") || told != (kept == "") {
			t.Errorf("%s: the row has %q, dropped %v, told %v", actions, got, s.dropped, told)
		}
	}
}
