package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

func (s *sim) signal(v metal.Verb) {
	s.t.Helper()
	s.post(metal.InboxVerb, metal.VerbPayload{Verb: string(v), OperationID: s.world.Operations[0].ID})
	s.run()
}

// inState is a node in a state, on hardware of the kind.
func inState(t *testing.T, n metal.Node, state metal.State) *sim {
	t.Helper()
	n.ProvisionState = state
	return newSim(t, n)
}

func rescuable() metal.Node {
	n := redfishNode()
	n.RescueInterface = "agent"
	n.DriverInfo = n.DriverInfo.With("rescue_kernel", "http://127.0.0.1/rk").With("rescue_ramdisk", "http://127.0.0.1/rr")
	n.InstanceInfo = metal.EmptyObject.
		With("rescue_password", metal.InstanceInfoSecrets("node-1").Below("rescue_password").Ref()).
		With("hashed_rescue_password", metal.InstanceInfoSecrets("node-1").Below("hashed_rescue_password").Ref())
	return n
}

func TestRescueThroughTheRamdisk(t *testing.T) {
	s := inState(t, rescuable(), metal.Active)
	s.verb(metal.VerbRescue, "")
	s.must(metal.RescueWait)
	s.beat()
	s.must(metal.Rescue)
	var password map[string]string
	for _, o := range s.sent {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			decode(t, o.Request.ArgsJSON, &a)
			if a.Command == "rescue.finalize_rescue" && a.Params["hashed"] == true {
				password = o.Request.Secrets
			}
		}
		var m metal.PublishMediaArgs
		if o.Request.Operation == metal.MediaPublish {
			if decode(t, o.Request.ArgsJSON, &m); m.KernelURL != "http://127.0.0.1/rk" {
				t.Errorf("rescue boots %s", m.KernelURL)
			}
		}
	}
	if password["/params/rescue_password"] != metal.InstanceInfoSecrets("node-1").Below("hashed_rescue_password").Ref() {
		t.Errorf("the ramdisk was given the password as %v", password)
	}
	if s.world.Node.InstanceInfo != metal.EmptyObject || len(s.emptied) < 2 {
		t.Errorf("the password outlives its use: %s, emptied %v", s.world.Node.InstanceInfo, s.emptied)
	}
	s.verb(metal.VerbUnrescue, "")
	s.must(metal.Active)
	if got := s.powers(); got[len(got)-1] != metal.PowerOn {
		t.Errorf("power actions %v", got)
	}
}

func TestAnAbortedRescueForgetsThePasswordAndLeavesTheMachineOn(t *testing.T) {
	s := inState(t, rescuable(), metal.Active)
	s.verb(metal.VerbRescue, "")
	s.signal(metal.VerbAbort)
	s.must(metal.RescueFailed)
	if got := s.powers(); got[len(got)-1] != metal.PowerOn || s.world.Node.InstanceInfo != metal.EmptyObject {
		t.Errorf("power actions %v, instance_info %s", got, s.world.Node.InstanceInfo)
	}
}

func TestServiceThroughTheRamdisk(t *testing.T) {
	s := inState(t, redfishNode(), metal.Active)
	s.verb(metal.VerbService, `{"service_steps":[{"interface":"deploy","step":"burnin_cpu"}]}`)
	s.must(metal.ServiceWait)
	s.beatUntil(metal.Active)
	if got := s.done(); !slices.Equal(got, []string{"burnin_cpu"}) {
		t.Errorf("steps %v", got)
	}
	if got := s.powers(); !slices.Equal(got, []metal.PowerState{metal.PowerOff, metal.PowerOn, metal.PowerOff, metal.PowerOn}) {
		t.Errorf("power actions %v", got)
	}
	if s.world.Node.DriverInternalInfo.Lookup("agent_start_attempted") != nil {
		t.Error("the node looks as if its ramdisk were up")
	}
	var types []string
	for _, h := range s.history {
		types = append(types, h.EventType)
	}
	if !slices.Contains(types, "servicing_start") || !slices.Contains(types, "servicing_end") {
		t.Errorf("history %v", types)
	}
}

func TestAnAbortedServiceBootsTheInstance(t *testing.T) {
	s := inState(t, redfishNode(), metal.Active)
	s.verb(metal.VerbService, `{"service_steps":[{"interface":"deploy","step":"burnin_cpu"}]}`)
	s.signal(metal.VerbAbort)
	s.must(metal.Active)
	if got := s.powers(); got[len(got)-1] != metal.PowerOn || !strings.Contains(text(s.world.Node.LastError), "aborted") {
		t.Errorf("power actions %v, last_error %s", got, text(s.world.Node.LastError))
	}
}

func TestReservedSteps(t *testing.T) {
	for _, kind := range []struct {
		verb       metal.Verb
		from, hold metal.State
		wait, end  metal.State
		args       string
	}{
		{metal.VerbClean, metal.Manageable, metal.CleanHold, metal.CleanWait, metal.Manageable, "clean_steps"},
		{metal.VerbService, metal.Active, metal.ServiceHold, metal.ServiceWait, metal.Active, "service_steps"},
		{metal.VerbActive, metal.Available, metal.DeployHold, metal.DeployWait, metal.Active, "deploy_steps"},
	} {
		s := inState(t, fakeNode(), kind.from)
		s.verb(kind.verb, metal.JSON(`{"`+kind.args+`":[
			{"interface":"power","step":"reboot","priority":95},
			{"interface":"power","step":"wait","args":{"seconds":"20"},"priority":94},
			{"interface":"power","step":"hold","priority":93},
			{"interface":"power","step":"power_off","priority":92}]}`))
		s.must(kind.wait)
		s.fire()
		s.must(kind.hold)
		if s.world.Node.Reservation != nil {
			t.Errorf("%s: locked while it is held", kind.verb)
		}
		s.signal(metal.VerbUnhold)
		s.must(kind.end)
		if got := s.powers(); !slices.Equal(got, []metal.PowerState{metal.PowerOff, metal.PowerOn, metal.PowerOff}) {
			t.Errorf("%s: power actions %v, last_error %s", kind.verb, got, text(s.world.Node.LastError))
		}
	}
}

// fire lets the last timer's moment come.
func (s *sim) fire() {
	s.t.Helper()
	s.world.Now = s.world.Now.Add(time.Minute)
	s.post(metal.InboxTimer, s.timers[len(s.timers)-1])
	s.run()
}

func TestAHeldNodeWaitsForItsRamdiskAfterwards(t *testing.T) {
	s := inState(t, redfishNode(), metal.Manageable)
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"deploy","step":"erase_devices"},{"interface":"deploy","step":"hold"}]}`)
	s.beatUntil(metal.CleanHold)
	s.signal(metal.VerbUnhold)
	s.must(metal.CleanWait)
	if s.world.Node.TargetProvisionState != metal.Manageable {
		t.Errorf("the target is %s", s.world.Node.TargetProvisionState)
	}
	s.beatUntil(metal.Manageable)
}

func TestAHoldCanBeAborted(t *testing.T) {
	s := inState(t, fakeNode(), metal.Manageable)
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"power","step":"hold"}]}`)
	s.must(metal.CleanHold)
	s.signal(metal.VerbAbort)
	s.must(metal.CleanFailed)
	if n := s.world.Node; n.Maintenance || !strings.Contains(text(n.LastError), "power.hold") {
		t.Errorf("maintenance %v, last_error %s", n.Maintenance, text(n.LastError))
	}
}

func TestStepsThatCannotRunFailBeforeAnyRuns(t *testing.T) {
	for _, steps := range []string{
		`{"interface":"bios","step":"nosuch"}`,
		`{"interface":"bios","step":"apply_configuration"}`,
		`{"interface":"bios","step":"factory_reset","args":{"x":1}}`,
		`{"interface":"bios","step":"factory_reset","execute_on_child_nodes":true}`,
	} {
		s := inState(t, fakeNode(), metal.Manageable)
		s.verb(metal.VerbClean, metal.JSON(`{"clean_steps":[`+steps+`]}`))
		s.must(metal.CleanFailed)
		if n := s.world.Node; n.Maintenance || n.LastError == nil || n.TargetProvisionState != metal.Manageable {
			t.Errorf("%s: maintenance %v, last_error %s", steps, n.Maintenance, text(n.LastError))
		}
	}
}

func TestAUsersDeployStepsWinOverATemplates(t *testing.T) {
	n := redfishNode()
	withImage(&n)
	s := inState(t, n, metal.Available)
	answer := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			if decode(t, o.Request.ArgsJSON, &a); a.Command == "deploy.get_deploy_steps" {
				step := func(name string, priority int) any {
					return map[string]any{"interface": "deploy", "step": name, "priority": priority,
						"argsinfo": map[string]any{"from": map[string]any{"required": false}}}
				}
				return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
					"deploy_steps": map[string]any{"Generic": []any{step("burnin", 0), step("erase", 90), step("inject", 0)}},
				}}})
			}
		}
		return answer(o)
	}
	s.verb(metal.VerbActive, `{
		"template_steps":[{"interface":"deploy","step":"burnin","args":{"from":"template"},"priority":95},{"interface":"deploy","step":"inject","priority":70}],
		"deploy_steps":[{"interface":"deploy","step":"burnin","args":{"from":"user"},"priority":85},{"interface":"deploy","step":"erase","args":{},"priority":0}]}`)
	s.beatUntil(metal.Active)
	if got, want := s.done(), []string{"burnin", "write_image", "inject"}; !slices.Equal(got, want) {
		t.Errorf("steps ran as %v, not %v", got, want)
	}
	for _, o := range s.sent {
		if o.Request.Operation == metal.RamdiskCall && strings.Contains(string(o.Request.ArgsJSON), `"from":"template"`) {
			t.Error("the template's arguments were used")
		}
	}
}

func TestADeployStepThatNobodyOffersFailsTheDeployment(t *testing.T) {
	n := redfishNode()
	withImage(&n)
	s := inState(t, n, metal.Available)
	s.verb(metal.VerbActive, `{"deploy_steps":[{"interface":"deploy","step":"nosuch","args":{},"priority":85}]}`)
	s.beatUntil(metal.DeployFailed)
	if !strings.Contains(text(s.world.Node.LastError), "deploy.nosuch") {
		t.Errorf("last_error %s", text(s.world.Node.LastError))
	}
}

func TestWhatComesBeforeTheVerbDoesNotKeepItFromBeginning(t *testing.T) {
	s := inState(t, fakeNode(), metal.Active)
	s.post(metal.InboxVerb, metal.VerbPayload{Verb: "abort", OperationID: "one that gave way"})
	s.post(metal.InboxHeartbeat, metal.HeartbeatPayload{})
	s.verb(metal.VerbDeleted, "")
	s.must(metal.Available)
}

func TestARestartInARamdiskBootsTheRamdiskAgain(t *testing.T) {
	s := inState(t, redfishNode(), metal.Manageable)
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"deploy","step":"erase_devices"},{"interface":"power","step":"reboot"},{"interface":"deploy","step":"burnin_cpu"}]}`)
	s.beatUntil(metal.Manageable)
	var devices []string
	for _, o := range s.sent {
		var a metal.BootDeviceArgs
		if o.Request.Operation == metal.BootDeviceSet {
			decode(t, o.Request.ArgsJSON, &a)
			devices = append(devices, a.Device)
		}
	}
	if !slices.Equal(devices, []string{"cdrom", "cdrom"}) || !slices.Equal(s.done(), []string{"erase_devices", "burnin_cpu"}) || len(s.tokens) != 1 {
		t.Errorf("boot devices %v, steps %v, %d tokens", devices, s.done(), len(s.tokens))
	}
}

func TestRAIDThatTheRamdiskBuiltShows(t *testing.T) {
	n := redfishNode()
	n.RAIDInterface = "agent"
	s := inState(t, n, metal.Manageable)
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		var a metal.RamdiskCallArgs
		if o.Request.Operation != metal.RamdiskCall {
			return obey(o)
		}
		switch decode(t, o.Request.ArgsJSON, &a); a.Command {
		case "clean.get_clean_steps":
			return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
				"clean_steps": map[string]any{"Generic": []any{
					map[string]any{"interface": "raid", "step": "create_configuration", "priority": 0, "reboot_requested": true},
				}},
			}}})
		case "":
			c := s.lastStep("SUCCEEDED")
			if c.Result != nil {
				c.Result["clean_result"] = map[string]any{"logical_disks": []any{
					map[string]any{"size_gb": 40, "raid_level": "1", "is_root_volume": true},
				}}
			}
			return ok(metal.RamdiskCallResult{Commands: []metal.RamdiskCommand{c}})
		}
		return obey(o)
	}
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"raid","step":"create_configuration"}]}`)
	s.beatUntil(metal.Manageable)
	got := s.world.Node
	if got.RAIDConfig.Lookup("last_updated") == nil || got.Properties.Text("capabilities") != "raid_level:1" || got.Properties.Lookup("local_gb") == nil {
		t.Errorf("raid_config %s, properties %s", got.RAIDConfig, got.Properties)
	}
	if got := s.powers(); !slices.Equal(got, []metal.PowerState{metal.PowerOff, metal.PowerOn, metal.PowerOff, metal.PowerOn, metal.PowerOff}) {
		t.Errorf("power actions %v: the step asks for a restart", got)
	}
}

func TestFirmwareIsReadAgainAfterWork(t *testing.T) {
	n := redfishNode()
	n.FirmwareInterface = "redfish"
	s := inState(t, n, metal.Enroll)
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		if o.Request.Operation == metal.FirmwareComponents {
			return ok(metal.FirmwareComponentsResult{Components: []metal.FirmwareComponentInfo{{Component: "bmc", CurrentVersion: "2"}}})
		}
		if o.Request.Operation == metal.SecureBootGet {
			return ok(metal.SecureBootArgs{Enabled: true})
		}
		return obey(o)
	}
	s.verb(metal.VerbManage, "")
	s.must(metal.Manageable)
	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.Available)
	if len(s.firmware) != 2 || s.firmware[0].Component != "bmc" || s.world.Node.SecureBoot == nil || !*s.world.Node.SecureBoot {
		t.Errorf("firmware %v, secure boot %v", s.firmware, s.world.Node.SecureBoot)
	}
}

func TestFakeBIOSShowsWhatWasApplied(t *testing.T) {
	s := inState(t, fakeNode(), metal.Manageable)
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"bios","step":"apply_configuration","args":{"settings":[{"name":"a","value":1}]}}]}`)
	s.must(metal.Manageable)
	if len(s.bios) != 1 || text(s.bios[0].Value) != "1" {
		t.Errorf("BIOS settings %v", s.bios)
	}
	s.verb(metal.VerbClean, `{"clean_steps":[{"interface":"bios","step":"apply_configuration","args":{"settings":{"name":"a"}}}]}`)
	s.must(metal.CleanFailed)
	if n := s.world.Node; !n.Maintenance || text(n.Fault) != metal.FaultClean {
		t.Errorf("a step that failed: maintenance %v, fault %s", n.Maintenance, text(n.Fault))
	}
}

func TestTheConsoleFollowsTheInstance(t *testing.T) {
	n := fakeNode()
	n.ConsoleEnabled = true
	s := inState(t, n, metal.Available)
	s.verb(metal.VerbActive, "")
	s.must(metal.Active)
	s.verb(metal.VerbDeleted, "")
	s.must(metal.Available)
	if got := s.operations(); !slices.Equal(got, []metal.Operation{metal.ConsoleStart, metal.ConsoleStop}) || !s.world.Node.ConsoleEnabled {
		t.Errorf("operations %v, enabled %v", got, s.world.Node.ConsoleEnabled)
	}
}

func TestADeployedMachineStartsFromItsDiskForGoodUnlessToldNever(t *testing.T) {
	for word, persistent := range map[string]bool{"": true, "Default": true, "Never": false} {
		n := redfishNode()
		withImage(&n)
		n.DriverInfo = n.DriverInfo.With("force_persistent_boot_device", word)
		s := inState(t, n, metal.Available)
		s.verb(metal.VerbActive, "")
		s.beatUntil(metal.Active)
		var last metal.BootDeviceArgs
		for _, o := range s.sent {
			if o.Request.Operation == metal.BootDeviceSet {
				decode(t, o.Request.ArgsJSON, &last)
			}
		}
		if last != (metal.BootDeviceArgs{Device: "disk", Persistent: persistent}) {
			t.Errorf("%q: %+v", word, last)
		}
	}
}

func TestAFailureIsToldOfTheStateInWhichItHappened(t *testing.T) {
	n := redfishNode()
	withImage(&n)
	s := inState(t, n, metal.Available)
	s.verb(metal.VerbActive, `{"deploy_steps":[{"interface":"deploy","step":"nosuch","args":{},"priority":85}]}`)
	s.beatUntil(metal.DeployFailed)
	told := s.history[len(s.history)-1]
	if told.Severity != "ERROR" || !told.State.Is(metal.Deploying, metal.DeployWait) || told.TargetProvisionState != metal.Active {
		t.Errorf("%+v", told)
	}
}

// A command of the ramdisk that outlasts the agent's wait is neither done nor
// failed: its state in the ramdisk's list decides, and the verb's timeout.
func TestACommandThatStillRunsIsWaitedFor(t *testing.T) {
	const id = "sync-1"
	run := func(t *testing.T) (s *sim, state *string) {
		state = new(string)
		*state = metal.RamdiskRunning
		s = inState(t, redfishNode(), metal.Available)
		withImage(&s.world.Node)
		s.answer = func(o runner.Order) metal.CommandResult {
			var a metal.RamdiskCallArgs
			if o.Request.Operation == metal.RamdiskCall {
				decode(t, o.Request.ArgsJSON, &a)
			}
			sync := metal.RamdiskCommand{ID: id, Name: "sync", Status: *state, Error: map[string]any{"message": "no space"}}
			switch {
			case a.Command == "standby.sync":
				return ok(metal.RamdiskCallResult{Command: &sync})
			case o.Request.Operation == metal.RamdiskCall && a.Command == "" && s.sentCommand("standby.sync"):
				return ok(metal.RamdiskCallResult{Commands: []metal.RamdiskCommand{sync}})
			}
			return s.obey(o)
		}
		s.verb(metal.VerbActive, "")
		for range 30 {
			if s.sentCommand("standby.sync") {
				break
			}
			s.beat()
		}
		s.must(metal.DeployWait)
		s.beat()
		s.must(metal.DeployWait)
		return s, state
	}
	t.Run("until it succeeds", func(t *testing.T) {
		s, state := run(t)
		*state = "SUCCEEDED"
		s.beatUntil(metal.Active)
	})
	t.Run("until it fails", func(t *testing.T) {
		s, state := run(t)
		*state = "FAILED"
		s.beat()
		s.must(metal.DeployFailed)
		if !strings.Contains(text(s.world.Node.LastError), "no space") {
			t.Errorf("last_error %s", text(s.world.Node.LastError))
		}
	})
	t.Run("until the verb's timeout, whatever the ramdisk calls", func(t *testing.T) {
		s, _ := run(t)
		for range 6 {
			s.world.Now = s.world.Now.Add(10 * time.Minute)
			s.beat()
		}
		due := metal.TimerPayload{OperationID: s.world.Operations[0].ID, Deadline: s.world.Now}
		s.post(metal.InboxTimer, due)
		s.run()
		s.must(metal.DeployFailed)
	})
}

// sentCommand reports whether the ramdisk was sent the command.
func (s *sim) sentCommand(name string) bool {
	return slices.ContainsFunc(s.sent, func(o runner.Order) bool {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			decode(s.t, o.Request.ArgsJSON, &a)
		}
		return a.Command == name
	})
}
