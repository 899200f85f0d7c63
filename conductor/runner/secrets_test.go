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
		ref := metal.NodeSecretRef("node-1", metal.OperationSecrets(operation)+"/clean_steps/0/args/deep/0/a~1b")
		foreign := metal.NodeSecretRef("node-1", "driver_info/redfish_password")
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
				want := map[string]string{"/step/args/deep/0/a~1b": ref, "/step/args/password": foreign}
				if !maps.Equal(a.SecretParams, want) {
					t.Errorf("secret parameters %v, want %v", a.SecretParams, want)
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
				"deep": []any{map[string]any{"a/b": ref}}, "password": foreign, "plain": "shown",
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
		if !slices.Contains(s.dropped, ref) || slices.Contains(s.dropped, foreign) {
			t.Errorf("dropped %v", s.dropped)
		}
	}
}
