package runner_test

import (
	"slices"
	"strings"
	"testing"

	"ferrule/conductor/runner"
	"ferrule/metal"
)

func (s *sim) act(a metal.Action, args any) {
	s.t.Helper()
	s.open(metal.AxisAction, string(a), metal.ToJSON(args))
}

func (s *sim) operations() []metal.Operation {
	var list []metal.Operation
	for _, o := range s.sent {
		list = append(list, o.Request.Operation)
	}
	return list
}

func activeNode(t *testing.T) *sim {
	t.Helper()
	n := redfishNode()
	n.ProvisionState = metal.Active
	return newSim(t, n)
}

func TestActionsLeaveTheirMarkOnTheNode(t *testing.T) {
	s := activeNode(t)
	s.act(metal.ActionBootMode, metal.BootModeArgs{Mode: "uefi"})
	s.act(metal.ActionSecureBoot, metal.SecureBootArgs{Enabled: true})
	s.must(metal.Active)
	n := s.world.Node
	if text(n.BootMode) != "uefi" || n.SecureBoot == nil || !*n.SecureBoot || n.LastError != nil {
		t.Errorf("boot mode %s, secure boot %v, last_error %s", text(n.BootMode), n.SecureBoot, text(n.LastError))
	}
}

func TestAnActionThatFailsSaysSoAndFreesTheNode(t *testing.T) {
	for action, args := range map[metal.Action]any{
		metal.ActionBootMode:    metal.BootModeArgs{Mode: "uefi"},
		metal.ActionSecureBoot:  metal.SecureBootArgs{},
		metal.ActionAttachMedia: metal.AttachMediaArgs{Device: "cdrom", ImageURL: "http://127.0.0.1/i", DownloadSource: "http"},
		metal.ActionDetachMedia: metal.EjectMediaArgs{},
	} {
		s := activeNode(t)
		s.answer = func(runner.Order) metal.CommandResult { return refused(metal.CodeBMCError, "the BMC will not") }
		s.act(action, args)
		s.must(metal.Active)
		if n := s.world.Node; !strings.Contains(text(n.LastError), "will not") || n.BootMode != nil || n.SecureBoot != nil {
			t.Errorf("%s: last_error %s, boot mode %s", action, text(n.LastError), text(n.BootMode))
		}
	}
}

func TestAnActionTheDriverLacksFails(t *testing.T) {
	n := fakeNode()
	n.ConsoleInterface = "no-console"
	s := newSim(t, n)
	for action, args := range map[metal.Action]any{
		metal.ActionBootMode: metal.BootModeArgs{Mode: "uefi"},
		metal.ActionConsole:  metal.ConsoleArgs{Enabled: true},
		metal.ActionVendor:   metal.VendorCallArgs{Method: "nosuch", HTTPMethod: "POST"},
	} {
		s.world.Node.LastError = nil
		s.act(action, args)
		s.must(metal.Enroll)
		if s.world.Node.LastError == nil || len(s.sent) != 0 {
			t.Errorf("%s: last_error %s, %d commands", action, text(s.world.Node.LastError), len(s.sent))
		}
	}
}

func TestAnImageIsServedBySiteUnlessTheBMCFetchesIt(t *testing.T) {
	s := activeNode(t)
	s.act(metal.ActionAttachMedia, metal.AttachMediaArgs{Device: "cdrom", ImageURL: "http://127.0.0.1/i", DownloadSource: "local"})
	if got := s.operations(); !slices.Equal(got, []metal.Operation{metal.MediaPublish, metal.VirtualMediaInsert}) {
		t.Errorf("served by the site: %v", got)
	}
	s.sent = nil
	s.act(metal.ActionAttachMedia, metal.AttachMediaArgs{Device: "cdrom", ImageURL: "nfs://h/i", DownloadSource: "local"})
	if got := s.operations(); !slices.Equal(got, []metal.Operation{metal.VirtualMediaInsert}) {
		t.Errorf("a file share: %v", got)
	}
	s.sent = nil
	s.act(metal.ActionDetachMedia, metal.EjectMediaArgs{Devices: []string{"cdrom"}})
	if got := s.operations(); !slices.Equal(got, []metal.Operation{metal.VirtualMediaEject, metal.MediaRetract}) {
		t.Errorf("detached: %v", got)
	}
	s.must(metal.Active)
}

func TestAVendorMethodIsNotCalledTwice(t *testing.T) {
	s := newSim(t, fakeNode())
	s.answer = func(runner.Order) metal.CommandResult { return refused(metal.CodeOutcomeUnknown, "killed") }
	s.act(metal.ActionVendor, metal.VendorCallArgs{Method: "log_passthrough", HTTPMethod: "POST"})
	s.must(metal.Enroll)
	if len(s.sent) != 1 || s.world.Node.LastError == nil {
		t.Errorf("%d calls, last_error %s", len(s.sent), text(s.world.Node.LastError))
	}
}

func TestAnActionDoesNotDisturbAWait(t *testing.T) {
	n := redfishNode()
	n.ProvisionState = metal.Manageable
	s := newSim(t, n)
	s.verb(metal.VerbProvide, "")
	s.must(metal.CleanWait)
	s.act(metal.ActionDetachMedia, metal.EjectMediaArgs{})
	s.must(metal.CleanWait)
	if s.world.Node.Reservation != nil {
		t.Error("the node stays locked")
	}
	s.beatUntil(metal.Available)
}
