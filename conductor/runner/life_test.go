package runner_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

func fakeNode() metal.Node {
	return metal.Node{
		UUID: "node-1", Driver: "fake-hardware", ProvisionState: metal.Enroll,
		DriverInfo: metal.EmptyObject, DriverInternalInfo: metal.EmptyObject, Properties: metal.EmptyObject,
		InstanceInfo: metal.EmptyObject,
	}
}

func redfishNode() metal.Node {
	n := fakeNode()
	n.Driver, n.InspectInterface, n.DeployInterface = "redfish", "agent", "direct"
	n.DriverInfo = metal.ToJSON(map[string]string{
		"redfish_address": "https://127.0.0.1", "deploy_kernel": "http://127.0.0.1/k", "deploy_ramdisk": "http://127.0.0.1/r",
	})
	return n
}

func withImage(n *metal.Node) {
	n.InstanceInfo = metal.ToJSON(map[string]string{
		"image_source": "http://127.0.0.1/image.raw", "image_os_hash_algo": "sha256", "image_os_hash_value": strings.Repeat("a", 64),
		"configdrive": metal.InstanceInfoSecrets("node-1").Below("configdrive").Ref(),
	})
}

func TestLifeOfAFakeNode(t *testing.T) {
	s := newSim(t, fakeNode())
	s.verb(metal.VerbManage, "")
	s.must(metal.Manageable)
	s.verb(metal.VerbInspect, "")
	s.must(metal.Manageable)
	s.verb(metal.VerbProvide, "")
	s.must(metal.Available)
	s.verb(metal.VerbActive, "")
	s.must(metal.Active)
	s.verb(metal.VerbDeleted, "")
	s.must(metal.Available)
}

func TestLifeOfARedfishNode(t *testing.T) {
	s := newSim(t, redfishNode())
	s.verb(metal.VerbManage, "")
	s.must(metal.Manageable)

	s.verb(metal.VerbInspect, "")
	s.must(metal.InspectWait)
	if s.world.Node.Reservation != nil {
		t.Error("the node is locked while it waits for the ramdisk")
	}
	s.post(metal.InboxInspection, metal.InspectionPayload{
		Inventory:  `{"interfaces":[{"name":"eth0","mac_address":"52:54:00:00:00:01"},{"name":"eth1","mac_address":"52:54:00:00:00:02"}],"cpu":{"architecture":"x86_64"}}`,
		PluginData: `{"error":null}`,
	})
	s.run()
	s.must(metal.Manageable)
	if len(s.world.Ports) != 2 || s.world.Node.Properties.Text("cpu_arch") != "x86_64" {
		t.Errorf("ports %v, properties %s", s.world.Ports, s.world.Node.Properties)
	}

	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.Available)

	withImage(&s.world.Node)
	s.verb(metal.VerbActive, "")
	s.beatUntil(metal.Active)
	if got := text(s.world.Node.PowerState); got != "power on" {
		t.Errorf("an active node is %q", got)
	}

	s.verb(metal.VerbDeleted, "")
	s.beatUntil(metal.Available)
	if s.world.Node.InstanceInfo != metal.EmptyObject {
		t.Errorf("the instance is remembered: %s", s.world.Node.InstanceInfo)
	}
	if !slices.Contains(s.emptied, metal.InstanceInfoSecrets("node-1")) {
		t.Error("the config drive outlives the instance")
	}
	if len(s.tokens) != 4 {
		t.Errorf("%d boots of the ramdisk have %d tokens", 4, len(s.tokens))
	}
}

func TestStepsRunByPriority(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.Available)
	var steps []string
	for _, o := range s.sent {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			decode(t, o.Request.ArgsJSON, &a)
			if step, ok := a.Params["step"].(map[string]any); ok {
				steps = append(steps, step["step"].(string))
			}
		}
	}
	if want := []string{"erase_devices_metadata", "erase_devices"}; !slices.Equal(steps, want) {
		t.Errorf("steps ran as %v, not %v", steps, want)
	}
}

// An override is looked at before what has no priority is left out.
func TestAnOverrideSwitchesAStepOnAndOff(t *testing.T) {
	s := inState(t, redfishNode(), metal.Manageable)
	s.world.Settings.CleanStepPriority = map[string]int{"deploy.burnin_cpu": 50, "deploy.erase_devices": 0}
	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.Available)
	if steps, want := s.done(), []string{"erase_devices_metadata", "burnin_cpu"}; !slices.Equal(steps, want) {
		t.Errorf("steps ran as %v, not %v", steps, want)
	}
}

// A step that the ramdisk refuses to begin fails its verb, in its own words.
func TestAStepThatDoesNotBeginFailsItsVerb(t *testing.T) {
	for _, c := range []struct {
		verb     metal.Verb
		from     metal.State
		kind, of string
		fails    metal.State
	}{
		{metal.VerbProvide, metal.Manageable, "clean", "", metal.CleanFailed},
		{metal.VerbClean, metal.Manageable, "clean", `{"clean_steps":[{"interface":"deploy","step":"burnin_cpu"}]}`, metal.CleanFailed},
		{metal.VerbActive, metal.Available, "deploy", "", metal.DeployFailed},
		{metal.VerbService, metal.Active, "service", `{"service_steps":[{"interface":"deploy","step":"burnin_cpu"}]}`, metal.ServiceFailed},
	} {
		for how, refuses := range map[string]metal.CommandResult{
			"failed at once": ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{
				Status: "FAILED", Error: map[string]any{"message": "no such luck"},
			}}),
			"refused": {ErrorCode: metal.CodeBMCError, Message: "no such luck"},
		} {
			t.Run(string(c.verb)+" "+how, func(t *testing.T) {
				n := redfishNode()
				withImage(&n)
				s := inState(t, n, c.from)
				obey := s.answer
				s.answer = func(o runner.Order) metal.CommandResult {
					var a metal.RamdiskCallArgs
					if o.Request.Operation == metal.RamdiskCall {
						decode(t, o.Request.ArgsJSON, &a)
					}
					switch {
					case a.Command == c.kind+".execute_"+c.kind+"_step":
						return refuses
					case o.Request.Operation == metal.RamdiskCall && a.Command == "":
						last := s.lastStep("FAILED")
						last.Error = map[string]any{"message": "no such luck"}
						return ok(metal.RamdiskCallResult{Commands: []metal.RamdiskCommand{last}})
					}
					return obey(o)
				}
				s.verb(c.verb, metal.JSON(c.of))
				s.beatUntil(c.fails)
				s.must(c.fails)
				if got := text(s.world.Node.LastError); !strings.Contains(got, "no such luck") {
					t.Errorf("last_error %s", got)
				}
			})
		}
	}
}

func TestARestartIsOffThenOn(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Active
	s := newSim(t, n)
	s.open(metal.AxisPower, string(metal.Rebooting), "")
	if got := s.powers(); !slices.Equal(got, []metal.PowerState{metal.PowerOff, metal.PowerOn}) {
		t.Errorf("power actions: %v", got)
	}
	s.must(metal.Active)
}

func TestAFailedVerifyEndsInEnrollWithItsReason(t *testing.T) {
	s := newSim(t, redfishNode())
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		if o.Request.Operation == metal.PowerGet {
			return refused(metal.CodeAuthFailed, "the BMC 127.0.0.1 refuses the password")
		}
		return obey(o)
	}
	s.verb(metal.VerbManage, "")
	s.must(metal.Enroll)
	if n := s.world.Node; n.TargetProvisionState != metal.NoState || !strings.Contains(text(n.LastError), "refuses the password") {
		t.Errorf("target %q, last_error %s", n.TargetProvisionState, text(n.LastError))
	}
}

func TestAnUnknownPowerOutcomeIsSettledByAskingForTheStateAgain(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Active
	s := newSim(t, n)
	first := true
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		if o.Request.Operation == metal.PowerSet && first {
			first = false
			return refused(metal.CodeOutcomeUnknown, "the agent was killed while it acted")
		}
		return obey(o)
	}
	s.open(metal.AxisPower, string(metal.PowerOff), "")
	s.must(metal.Active)
	if got := text(s.world.Node.PowerState); got != "power off" {
		t.Errorf("power state %q", got)
	}
	var settles []int
	for _, o := range s.sent {
		var args metal.SetPowerArgs
		decode(t, o.Request.ArgsJSON, &args)
		settles = append(settles, args.SettleSeconds)
	}
	if len(settles) != 2 || settles[0] != 0 || settles[1] == 0 {
		t.Errorf("the actions have %v seconds to show themselves before they are sent", settles)
	}
}

func TestAWaitTimesOut(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.must(metal.CleanWait)
	s.world.Now = s.world.Now.Add(2 * time.Hour)
	s.post(metal.InboxTimer, s.timers[len(s.timers)-1])
	s.run()
	s.must(metal.CleanFailed)
	if !strings.Contains(text(s.world.Node.LastError), "Timeout reached") {
		t.Errorf("last_error %s", text(s.world.Node.LastError))
	}
}

func TestATimerOfAPastWaitDoesNothing(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.world.Now = s.world.Now.Add(50 * time.Minute)
	s.beat()
	s.must(metal.CleanWait)
	s.world.Now = s.world.Now.Add(20 * time.Minute)
	for _, timer := range s.timers {
		s.post(metal.InboxTimer, timer)
	}
	s.run()
	s.must(metal.CleanWait)
}

func TestAbortOfAWait(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.must(metal.CleanWait)
	s.post(metal.InboxVerb, metal.VerbPayload{Verb: "abort", OperationID: s.world.Operations[0].ID})
	s.run()
	s.must(metal.CleanFailed)
	if n := s.world.Node; n.Maintenance || n.Fault != nil || !strings.Contains(text(n.LastError), "aborted") {
		t.Errorf("maintenance %v, fault %s, last_error %s", n.Maintenance, text(n.Fault), text(n.LastError))
	}
}

func TestAFailedCleanStepPutsTheNodeInMaintenance(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	obey := s.answer
	s.answer = func(o runner.Order) metal.CommandResult {
		var a metal.RamdiskCallArgs
		if o.Request.Operation == metal.RamdiskCall {
			decode(t, o.Request.ArgsJSON, &a)
			if a.Command == "" {
				c := s.lastStep("FAILED")
				c.Error = map[string]any{"message": "the disk is frozen"}
				return ok(metal.RamdiskCallResult{Commands: []metal.RamdiskCommand{c}})
			}
		}
		return obey(o)
	}
	s.verb(metal.VerbProvide, "")
	s.beatUntil(metal.CleanFailed)
	if n := s.world.Node; !n.Maintenance || text(n.Fault) != metal.FaultClean || !strings.Contains(text(n.LastError), "frozen") {
		t.Errorf("maintenance %v, fault %s, last_error %s", n.Maintenance, text(n.Fault), text(n.LastError))
	}
}

func TestAHeartbeatDuringASendIsNotLost(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.answer = nil
	s.beat() // asks for the steps, unanswered yet
	obey := s.obey
	for range 20 {
		if s.world.Node.ProvisionState == metal.Available {
			break
		}
		held := s.held
		s.held = nil
		s.post(metal.InboxHeartbeat, metal.HeartbeatPayload{}) // the step has ended before its command's answer came
		for _, o := range held {
			s.reply(o, obey(o))
		}
		s.run()
	}
	s.must(metal.Available)
}

func TestPowerSeenAtTheBMCIsBelieved(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Active
	s := newSim(t, n)
	s.post(metal.InboxPower, metal.PowerPayload{State: metal.PowerOff})
	s.run()
	if got := text(s.world.Node.PowerState); got != "power off" {
		t.Fatalf("power state %q", got)
	}
	for range 3 {
		s.post(metal.InboxPower, metal.PowerPayload{ErrorCode: metal.CodeUnreachable})
	}
	s.run()
	if n := s.world.Node; text(n.PowerState) != "power off" || n.Maintenance {
		t.Errorf("a BMC away for a moment: power %s, maintenance %v", text(n.PowerState), n.Maintenance)
	}
	s.post(metal.InboxPower, metal.PowerPayload{ErrorCode: metal.CodeUnreachable, Message: "no route"})
	s.run()
	if n := s.world.Node; n.PowerState != nil || !n.Maintenance || text(n.Fault) != metal.FaultPower {
		t.Errorf("a BMC away for good: power %s, fault %s", text(n.PowerState), text(n.Fault))
	}
	s.post(metal.InboxPower, metal.PowerPayload{State: metal.PowerOn})
	s.run()
	if n := s.world.Node; text(n.PowerState) != "power on" || n.Maintenance || n.Fault != nil {
		t.Errorf("a BMC that came back: power %s, fault %s", text(n.PowerState), text(n.Fault))
	}
}

func TestHealthSeenAtTheBMCIsKept(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Active
	s := newSim(t, n)
	see := func(p metal.PowerPayload) {
		s.post(metal.InboxPower, p)
		s.run()
	}
	see(metal.PowerPayload{State: metal.PowerOn, Health: metal.HealthOK})
	see(metal.PowerPayload{State: metal.PowerOn, Health: metal.HealthOK})
	see(metal.PowerPayload{ErrorCode: metal.CodeUnreachable})
	if got := text(s.world.Node.Health); got != "OK" {
		t.Errorf("health %s", got)
	}
	s.world.Node.ProvisionState = metal.CleanWait
	see(metal.PowerPayload{State: metal.PowerOff, Health: metal.HealthCritical})
	if n := s.world.Node; text(n.Health) != "Critical" || text(n.PowerState) != "power on" {
		t.Errorf("health %s, power %s", text(n.Health), text(n.PowerState))
	}
	see(metal.PowerPayload{State: metal.PowerOn})
	if s.world.Node.Health != nil {
		t.Errorf("health %s", text(s.world.Node.Health))
	}
	var events []string
	for _, h := range s.history {
		events = append(events, h.Event)
	}
	want := []string{
		"Node health status changed: health='OK' (previously 'None')", "Node health status changed: health='Critical' (previously 'OK')",
		"Node health status changed: health='None' (previously 'Critical')",
	}
	if !slices.Equal(events, want) {
		t.Errorf("history %q", events)
	}
	s.world.Node.ManagementInterface = "noop"
	see(metal.PowerPayload{State: metal.PowerOn, Health: metal.HealthOK})
	s.world.Node.ManagementInterface, s.world.Settings.WatchHealth = "redfish", false
	see(metal.PowerPayload{State: metal.PowerOn, Health: metal.HealthOK})
	if s.world.Node.Health != nil {
		t.Errorf("health %s, which nobody asked for", text(s.world.Node.Health))
	}
}
