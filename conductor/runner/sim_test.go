package runner_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"ferrule/conductor/runner"
	"ferrule/hardware"
	"ferrule/metal"
)

// sim plays conductor, agent and ramdisk around the pure runner: it applies
// outcomes, answers commands, and lets the ramdisk call.
type sim struct {
	t         *testing.T
	world     runner.World
	inbox     []metal.InboxEntry
	sent      []runner.Order // every command ever issued
	states    []metal.State  // every state passed through
	history   []metal.HistoryEntry
	dropped   []string
	emptied   []metal.SecretPlace
	secrets   map[string]string
	tokens    []string
	timers    []metal.TimerPayload
	inventory *metal.InventoryRecord
	bios      []metal.BIOSSetting
	firmware  []metal.FirmwareComponent // each time that it was read
	held      []runner.Order            // commands left unanswered while answer is off
	lost      map[string]bool           // commands that never reached the machine, by id
	answer    func(runner.Order) metal.CommandResult
	ids       int
}

func newSim(t *testing.T, node metal.Node) *sim {
	t.Helper()
	c, err := hardware.NewCatalogue(hardware.Enabled{}, hardware.ValidationSettings{RequireManagedBoot: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &sim{t: t, secrets: map[string]string{}}
	agent := "agent-1"
	if hardware.HostOf(node.Driver) == hardware.HostedHere {
		agent = metal.LocalAgent
	}
	if err := c.ResolveInterfaces(&node); err != nil {
		t.Fatal(err)
	}
	s.world = runner.World{
		Node: node, AgentID: agent, Catalogue: c, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		NewID: func() string { s.ids++; return fmt.Sprintf("id-%d", s.ids) },
		Taken: func(string, string) bool { return false },
		Settings: runner.Settings{
			Host: "conductor-1", AutomatedClean: true, DeployTimeout: time.Hour, CleanTimeout: time.Hour,
			InspectTimeout: time.Hour, CommandTimeout: 5 * time.Minute, PowerTimeout: time.Minute,
			SoftPowerTimeout: 10 * time.Minute, PowerSyncMaxRetries: 3, WatchHealth: true, PowerOffAfterDeployFailure: true,
			InspectPowerOff: true, AddPorts: "pxe", KeepPorts: "all", PreCreatePorts: true, UpdatePXEEnabled: true,
			InspectHooks:        []string{"ramdisk-error", "validate-interfaces", "ports", "architecture"},
			RedfishInspectHooks: []string{"validate-interfaces", "ports", "architecture"}, MaskSecrets: "always",
			RescueTimeout: time.Hour, ServiceTimeout: time.Hour, LongestPause: 30 * time.Second, RecordFlows: true,
		},
	}
	s.answer = s.obey
	return s
}

// verb does what the API does: it fires the verb's event, opens the operation
// and posts it.
func (s *sim) verb(v metal.Verb, args metal.JSON) {
	s.t.Helper()
	tr, ok := metal.VerbTransition(s.world.Node.ProvisionState, v)
	if !ok {
		s.t.Fatalf("%s is not allowed in %s", v, s.world.Node.ProvisionState)
	}
	keep := metal.NoState
	if v == metal.VerbClean {
		keep = metal.Manageable
	}
	if err := metal.Fire(&s.world.Node, tr.Event, keep, s.world.Now); err != nil {
		s.t.Fatal(err)
	}
	if tr.To == metal.Manageable {
		return
	}
	s.open(metal.AxisProvision, string(v), args)
}

func (s *sim) open(axis metal.Axis, verb string, args metal.JSON) {
	s.t.Helper()
	id := s.world.NewID()
	s.world.Operations = append(s.world.Operations, metal.OperationRecord{
		ID: id, NodeUUID: s.world.Node.UUID, Axis: axis, Verb: verb, Args: args, StartedAt: s.world.Now,
	})
	s.post(metal.InboxVerb, metal.VerbPayload{Verb: verb, OperationID: id})
	s.run()
}

func (s *sim) post(kind metal.InboxKind, payload any) {
	s.inbox = append(s.inbox, metal.InboxEntry{NodeUUID: s.world.Node.UUID, Kind: kind, Payload: metal.ToJSON(payload)})
}

// run takes entries until the inbox is empty.
func (s *sim) run() {
	s.t.Helper()
	for turns := 0; len(s.inbox) > 0; turns++ {
		if turns > 500 {
			s.t.Fatal("the runner does not come to rest")
		}
		e := s.inbox[0]
		s.inbox = s.inbox[1:]
		out, err := runner.Advance(s.t.Context(), s.world, e)
		if err != nil {
			s.t.Fatal(err)
		}
		s.apply(out)
	}
}

func (s *sim) apply(out runner.Outcome) {
	s.t.Helper()
	s.endIsPlain(&s.world.Node, &out.Node)
	if len(s.states) == 0 || s.states[len(s.states)-1] != out.Node.ProvisionState {
		s.states = append(s.states, out.Node.ProvisionState)
	}
	s.world.Node = out.Node
	s.world.Operations = nil
	for _, op := range out.Operations {
		if op.FinishedAt == nil {
			s.world.Operations = append(s.world.Operations, op)
		}
	}
	s.world.Ports = append(s.world.Ports, out.CreatePorts...)
	for i := range s.world.Ports {
		for _, p := range out.UpdatePorts {
			if p.UUID == s.world.Ports[i].UUID {
				s.world.Ports[i] = p
			}
		}
	}
	s.world.Ports = slices.DeleteFunc(s.world.Ports, func(p metal.Port) bool { return slices.Contains(out.DeletePorts, p.UUID) })
	if out.Inventory != nil {
		s.inventory = out.Inventory
	}
	maps.Copy(s.secrets, out.Secrets)
	s.history = append(s.history, out.History...)
	s.dropped = append(s.dropped, out.DropSecrets...)
	s.emptied = append(s.emptied, out.DropPlaces...)
	s.tokens = append(s.tokens, out.NewTokens...)
	s.timers = append(s.timers, out.Timers...)
	if out.BIOS != nil {
		s.bios = *out.BIOS
	}
	if out.Firmware != nil {
		s.firmware = append(s.firmware, *out.Firmware...)
	}
	for _, o := range out.Commands {
		s.sent = append(s.sent, o)
		if s.answer == nil {
			s.held = append(s.held, o)
			continue
		}
		s.reply(o, s.answer(o))
	}
}

// endIsPlain holds a write that brings a verb to a bad end to what clients go by:
// the failed state says why, and of a verify, which has none, enroll without a
// target does.
func (s *sim) endIsPlain(before, after *metal.Node) {
	s.t.Helper()
	info, _ := after.ProvisionState.Info()
	came := before.ProvisionState != after.ProvisionState
	failed := info.Class == metal.Failure || after.ProvisionState.Is(metal.Enroll) && before.ProvisionState.Is(metal.Verifying)
	if came && failed && text(after.LastError) == "" {
		s.t.Errorf("from %s to %s without a last_error", before.ProvisionState, after.ProvisionState)
	}
	if came && after.ProvisionState.Is(metal.Enroll) && after.TargetProvisionState != metal.NoState {
		s.t.Errorf("from %s to %s with the target %s", before.ProvisionState, after.ProvisionState, after.TargetProvisionState)
	}
}

func (s *sim) reply(o runner.Order, res metal.CommandResult) {
	s.post(metal.InboxResult, metal.ResultPayload{CommandID: o.ID, OperationID: o.OperationID, Result: res})
}

// obey is a BMC and a ramdisk that do what they are told.
func (s *sim) obey(o runner.Order) metal.CommandResult {
	switch o.Request.Operation {
	case metal.PowerGet:
		return ok(metal.PowerResult{State: metal.PowerOff})
	case metal.PowerSet:
		var a metal.SetPowerArgs
		decode(s.t, o.Request.ArgsJSON, &a)
		if a.Target == metal.SoftPowerOff {
			a.Target = metal.PowerOff
		}
		return ok(metal.PowerResult{State: a.Target, Changed: true})
	case metal.BootModeGet:
		return ok(metal.BootModeArgs{Mode: "uefi"})
	case metal.MediaPublish:
		return ok(metal.PublishMediaResult{URL: "http://127.0.0.1/media/x.iso"})
	case metal.InspectMACs:
		return ok(metal.MACsResult{MACs: []string{"52:54:00:00:00:01"}})
	case metal.RamdiskCall:
		return s.ramdisk(o)
	}
	return ok(nil)
}

func (s *sim) ramdisk(o runner.Order) metal.CommandResult {
	var a metal.RamdiskCallArgs
	decode(s.t, o.Request.ArgsJSON, &a)
	step := func(name string, priority int) map[string]any {
		return map[string]any{"interface": "deploy", "step": name, "priority": priority, "abortable": true}
	}
	switch a.Command {
	case "clean.get_clean_steps":
		return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
			"clean_steps": map[string]any{"Generic": []any{step("erase_devices", 10), step("erase_devices_metadata", 99), step("burnin_cpu", 0)}},
		}}})
	case "deploy.get_deploy_steps":
		return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
			"deploy_steps": map[string]any{"Generic": []any{step("write_image", 0)}},
		}}})
	case "service.get_service_steps":
		return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED", Result: map[string]any{
			"service_steps": map[string]any{"Generic": []any{step("burnin_cpu", 0)}},
		}}})
	case "":
		return ok(metal.RamdiskCallResult{Commands: []metal.RamdiskCommand{s.lastStep("SUCCEEDED")}})
	}
	return ok(metal.RamdiskCallResult{Command: &metal.RamdiskCommand{Status: "SUCCEEDED"}})
}

// lastStep is the ramdisk's entry for the step that reached it last.
func (s *sim) lastStep(status string) metal.RamdiskCommand {
	for i := len(s.sent) - 1; i >= 0; i-- {
		o := s.sent[i]
		if bootsMachine(s.t, o) {
			break // it knows nothing of what was before
		}
		if o.Request.Operation != metal.RamdiskCall || s.lost[o.ID] {
			continue
		}
		var a metal.RamdiskCallArgs
		decode(s.t, o.Request.ArgsJSON, &a)
		for _, kind := range []string{"clean", "deploy", "service"} {
			if a.Command == kind+".execute_"+kind+"_step" {
				return metal.RamdiskCommand{Name: "execute_" + kind + "_step", Status: status,
					Result: map[string]any{kind + "_step": a.Params["step"]}}
			}
		}
	}
	return metal.RamdiskCommand{Name: "get_clean_steps", Status: "SUCCEEDED"}
}

func bootsMachine(t *testing.T, o runner.Order) bool {
	var a metal.SetPowerArgs
	if o.Request.Operation == metal.PowerSet {
		decode(t, o.Request.ArgsJSON, &a)
	}
	return a.Target == metal.PowerOn
}

// beat lets the ramdisk call, as the API records it.
func (s *sim) beat() {
	s.t.Helper()
	s.world.Node.DriverInternalInfo = s.world.Node.DriverInternalInfo.With("agent_url", "https://127.0.0.1:9999")
	s.post(metal.InboxHeartbeat, metal.HeartbeatPayload{AgentURL: "https://127.0.0.1:9999"})
	s.run()
}

// beatUntil lets the ramdisk call until the node is in the state.
func (s *sim) beatUntil(want metal.State) {
	s.t.Helper()
	for range 30 {
		if s.world.Node.ProvisionState == want {
			return
		}
		s.beat()
	}
	s.t.Fatalf("the node is %s, not %s; last_error %v", s.world.Node.ProvisionState, want, text(s.world.Node.LastError))
}

func (s *sim) must(want metal.State) {
	s.t.Helper()
	n := s.world.Node
	if n.ProvisionState != want {
		s.t.Fatalf("the node is %s, not %s; last_error %s", n.ProvisionState, want, text(n.LastError))
	}
	info, _ := want.Info()
	if info.Class == metal.Stable || info.Class == metal.Failure {
		if len(s.world.Operations) != 0 || n.Reservation != nil {
			s.t.Fatalf("in %s there are still %d operations, reservation %s", want, len(s.world.Operations), text(n.Reservation))
		}
	}
}

// powers lists the power actions in order.
func (s *sim) powers() []metal.PowerState {
	var list []metal.PowerState
	for _, o := range s.sent {
		if o.Request.Operation == metal.PowerSet {
			var a metal.SetPowerArgs
			decode(s.t, o.Request.ArgsJSON, &a)
			list = append(list, a.Target)
		}
	}
	return list
}

func ok(v any) metal.CommandResult {
	return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(metal.ToJSON(v))}
}

func refused(code metal.ErrorCode, msg string) metal.CommandResult {
	return metal.CommandResult{ErrorCode: code, Message: msg}
}

func decode(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
