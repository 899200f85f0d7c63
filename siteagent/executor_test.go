package siteagent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrule/drivers"
	"ferrule/metal"
)

func TestCommandIsDoneWithItsCredentials(t *testing.T) {
	r := newRig(t)
	want, secret := account("root")
	got := make(chan drivers.Credentials, 1)
	r.drivers.execute = func(_ context.Context, _ metal.Request, creds drivers.Credentials) metal.CommandResult {
		got <- creds
		return powerOn()
	}
	cmd := command()
	cmd.Request.CredentialsRef = bmcRef(cmd.NodeUUID)
	r.secret(cmd.Request.CredentialsRef, secret)
	result := r.do(cmd)
	if !result.OK || string(result.ResultJSON) != `{"state":"power on"}` {
		t.Errorf("result is %+v", result)
	}
	if creds := wait(t, got); creds != want {
		t.Error("the driver got other credentials")
	}
}

func TestRotationGetsBothAccounts(t *testing.T) {
	r := newRig(t)
	current, currentSecret := account("root")
	next, nextSecret := account("root")
	r.drivers.rotate = func(a, b drivers.Credentials) metal.CommandResult {
		if a != current || b != next {
			t.Error("the driver got other credentials")
		}
		return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(`{"verified":true}`)}
	}
	cmd := command()
	cmd.Kind, cmd.Request.Operation, cmd.Request.CredentialsRef = metal.KindRotate, metal.CredentialRotate, bmcRef(cmd.NodeUUID)
	nextRef := bmcRef(cmd.NodeUUID) + "~"
	cmd.Request.ArgsJSON, cmd.Request.Secrets = []byte(`{}`), map[string]string{metal.NewCredentialsParam: nextRef}
	r.secret(cmd.Request.CredentialsRef, currentSecret)
	r.secret(nextRef, nextSecret)
	if result := r.do(cmd); !result.OK {
		t.Errorf("result is %+v", result)
	}
}

func TestRedeliveredCommandActsOnce(t *testing.T) {
	r := newRig(t)
	var acts atomic.Int32
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		acts.Add(1)
		return powerOn()
	}
	cmd := command()
	first := r.do(cmd)
	again := r.do(cmd)
	r.restart()
	after := r.do(cmd)
	if acts.Load() != 1 {
		t.Errorf("acted %d times", acts.Load())
	}
	if !cmp.Equal(first, again) || !cmp.Equal(first, after) {
		t.Errorf("results differ: %s %s", cmp.Diff(first, again), cmp.Diff(first, after))
	}
	cmd.ExpiresAt = time.Now().Add(-time.Second)
	if late := r.do(cmd); !cmp.Equal(first, late) {
		t.Errorf("result after the end: %s", cmp.Diff(first, late))
	}
}

func TestCommandDeliveredAgainWhileItRunsActsOnce(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		began <- struct{}{}
		<-goOn
		return powerOn()
	}
	cmd, other := command(), command()
	r.deliver(cmd)
	wait(t, began)
	r.deliver(cmd)
	r.deliver(other) // when this has begun, the second delivery has been seen
	wait(t, began)
	close(goOn)
	got := []string{wait(t, r.link.results).CommandID, wait(t, r.link.results).CommandID}
	want := []string{cmd.ID, other.ID}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("results of %q, want %q", got, want)
	}
}

func TestRunningCommandThatExpiresIsNotAnsweredTwice(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan struct{}, 2), make(chan struct{})
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		began <- struct{}{}
		<-goOn
		return powerOn()
	}
	cmd := command()
	r.deliver(cmd)
	wait(t, began)
	expired := cmd
	expired.ExpiresAt = time.Now().Add(-time.Second)
	r.deliver(expired)
	other := command()
	r.deliver(other) // when this has begun, the second delivery has been seen
	wait(t, began)
	close(goOn)
	for range 2 {
		if result := wait(t, r.link.results); !result.OK {
			t.Errorf("result is %+v", result)
		}
	}
}

func TestOneBMCDoesOneThingAtATimeAndInOrder(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan string, 10), make(chan struct{})
	r.drivers.execute = func(_ context.Context, req metal.Request, _ drivers.Credentials) metal.CommandResult {
		began <- string(req.ArgsJSON)
		if strings.Contains(req.Address, "slow") {
			<-goOn
		}
		return powerOn()
	}
	var slow []metal.Command
	for i, address := range []string{"https://slow/redfish/v1/Systems/1", "slow:443", "SLOW"} {
		cmd := command()
		cmd.Request.Address = address
		cmd.Request.ArgsJSON = []byte{byte('1' + i)}
		slow = append(slow, cmd)
		r.deliver(cmd)
	}
	fast := command()
	fast.Request.ArgsJSON = []byte("9")
	r.deliver(fast)
	r.result(fast)
	order := wait(t, began) + wait(t, began)
	if order != "19" && order != "91" {
		t.Errorf("begun while the BMC is slow: %s", order)
	}
	close(goOn)
	for i, cmd := range slow {
		if i > 0 {
			if got := wait(t, began); got != string(cmd.Request.ArgsJSON) {
				t.Errorf("begun as number %d: %s", i, got)
			}
		}
	}
	for range slow {
		wait(t, r.link.results)
	}
}

func TestRefusedCommandsAreAnsweredAndNotDone(t *testing.T) {
	r := newRig(t)
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		t.Error("a refused command was done")
		return powerOn()
	}
	cmd := command()
	r.link.deliveries <- "unsigned " + cmd.ID
	if result := r.result(cmd); result.OK || result.ErrorCode != metal.CodeInvalidPayload {
		t.Errorf("unsigned: %+v", result)
	}
	cmd.ExpiresAt = time.Now().Add(-time.Second)
	if result := r.do(cmd); result.ErrorCode != metal.CodeInvalidPayload || !strings.Contains(result.Message, "expired") {
		t.Errorf("expired: %+v", result)
	}
}

func TestRefusedCommandCanStillBeDoneByItsRealForm(t *testing.T) {
	r := newRig(t)
	cmd := command()
	r.link.deliveries <- "unsigned " + cmd.ID
	r.result(cmd)
	if result := r.do(cmd); !result.OK {
		t.Errorf("result is %+v", result)
	}
}

func TestCommandWithoutItsSecretIsNotDone(t *testing.T) {
	r := newRig(t)
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		t.Error("it was done")
		return powerOn()
	}
	for ref, code := range map[string]metal.ErrorCode{
		"":                         metal.CodeCredentialsUnavailable,
		"plain-password":           metal.CodeCredentialsUnavailable,
		bmcRef("another-node"):     metal.CodeCredentialsUnavailable,
		"env://FERRULE_SECRET_ONE": metal.CodeCredentialsUnavailable,
	} {
		cmd := command()
		if cmd.Request.CredentialsRef = ref; ref == "" {
			cmd.Request.CredentialsRef = bmcRef(cmd.NodeUUID) // there is no such secret
		}
		result := r.do(cmd)
		if result.OK || result.ErrorCode != code || strings.Contains(result.Message, "plain-password") {
			t.Errorf("%s: %+v", ref, result)
		}
	}
}

func TestCommandThatExpiresInTheQueueIsNotBegun(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		close(began) // panics if there is a second
		<-goOn
		return powerOn()
	}
	first, second := command(), command()
	second.Request.Address = first.Request.Address
	second.ExpiresAt = time.Now().Add(300 * time.Millisecond)
	r.deliver(first)
	wait(t, began)
	r.deliver(second)
	<-time.After(time.Until(second.ExpiresAt))
	close(goOn)
	r.result(first)
	if result := r.result(second); result.ErrorCode != metal.CodeInvalidPayload {
		t.Errorf("result is %+v", result)
	}
}

func TestDriverThatPanicsHarmsItsCommandOnly(t *testing.T) {
	r := newRig(t)
	r.drivers.execute = func(_ context.Context, req metal.Request, _ drivers.Credentials) metal.CommandResult {
		if req.Address == "bad" {
			panic("bad answer")
		}
		return powerOn()
	}
	bad := command()
	bad.Request.Address = "bad"
	if result := r.do(bad); result.ErrorCode != metal.CodeOutcomeUnknown {
		t.Errorf("result is %+v", result)
	}
	if result := r.do(command()); !result.OK {
		t.Errorf("result is %+v", result)
	}
}

func TestResultThatCannotBeSentIsReplaced(t *testing.T) {
	r := newRig(t)
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		return metal.CommandResult{OK: true, ResultJSON: json.RawMessage(`"` + strings.Repeat("x", maxResult) + `"`)}
	}
	if result := r.do(command()); result.OK || result.ErrorCode != metal.CodeBMCError || len(result.ResultJSON) != 0 {
		t.Errorf("code %s, %d bytes", result.ErrorCode, len(result.ResultJSON))
	}
}

func TestResultsAreStorable(t *testing.T) {
	r := newRig(t)
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		return metal.CommandResult{ResultJSON: json.RawMessage(`"1\u00000"`), ErrorCode: metal.CodeBMCError, Message: "a\x00b\xff"}
	}
	if result := r.do(command()); string(result.ResultJSON) != "\"1\uFFFD0\"" || result.Message != "a\uFFFDb\uFFFD" {
		t.Errorf("%s %q", result.ResultJSON, result.Message)
	}
}

func TestOperationsThatTheAgentLacksAreRefused(t *testing.T) {
	r := newRig(t)
	for kind, op := range map[metal.Kind]metal.Operation{
		metal.KindHTTPProxy: metal.SiteHTTPProxy, metal.KindBootEntries: metal.BootEntriesSet,
	} {
		if result := r.do(ownCommand(kind, op, map[string]any{})); result.ErrorCode != metal.CodeUnsupportedOperation {
			t.Errorf("%s: %+v", op, result)
		}
	}
	for kind, op := range map[metal.Kind]metal.Operation{
		metal.KindMediaPublish: metal.MediaPublish, metal.KindMediaRetract: metal.MediaRetract, metal.KindRamdisk: metal.RamdiskCall,
	} {
		if result := r.do(ownCommand(kind, op, []int{1})); result.ErrorCode != metal.CodeInvalidArgs {
			t.Errorf("%s with bad arguments: %+v", op, result)
		}
	}
}

func TestStopWaitsForWhatHasBegun(t *testing.T) {
	r := newRig(t)
	began, goOn := make(chan struct{}), make(chan struct{})
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		close(began)
		<-goOn
		return powerOn()
	}
	cmd, queued := command(), command()
	queued.Request.Address = cmd.Request.Address
	r.deliver(cmd)
	r.deliver(queued)
	wait(t, began)
	stopped := make(chan error)
	go func() { stopped <- r.stop() }()
	close(goOn)
	if err := wait(t, stopped); err != nil {
		t.Fatal(err)
	}
	if result := r.result(cmd); !result.OK {
		t.Errorf("result is %+v", result)
	}
}

func TestStopDoesNotWaitForWhatCanBeDoneAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun := make(chan struct{}, 2)
	hangs := true
	r.drivers.execute = func(ctx context.Context, _ metal.Request, _ drivers.Credentials) metal.CommandResult {
		begun <- struct{}{}
		if hangs {
			<-ctx.Done() // a BMC that does not answer
			return metal.CommandResult{ErrorCode: metal.CodeUnreachable, Message: "the command's time was over"}
		}
		return powerOn()
	}
	cmd := command()
	cmd.Kind, cmd.Request.Operation = metal.KindQuery, metal.PowerGet
	r.deliver(cmd)
	wait(t, begun)
	stopped := make(chan error, 1)
	go func() { stopped <- r.stop() }()
	if err := wait(t, stopped); err != nil {
		t.Error(err)
	}
	if len(r.link.results) != 0 {
		t.Errorf("a command that was cut off has the result %+v", <-r.link.results)
	}
	hangs = false
	r.start(time.Minute)
	if result := r.do(cmd); !result.OK {
		t.Errorf("delivered again it ends in %+v", result)
	}
}

func TestCommandCutOffByTheStopIsOfUnknownOutcome(t *testing.T) {
	r := newRig(t)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r.start(10 * time.Millisecond)
	began := make(chan struct{}, 1)
	r.drivers.execute = func(ctx context.Context, _ metal.Request, _ drivers.Credentials) metal.CommandResult {
		began <- struct{}{}
		<-ctx.Done()
		return failure(metal.CodeUnreachable, ctx.Err().Error())
	}
	power, query := command(), command()
	query.Kind, query.Request.Operation = metal.KindQuery, metal.PowerGet
	r.deliver(power)
	r.deliver(query)
	wait(t, began)
	wait(t, began)
	r.restart()
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult { return powerOn() }
	if result := r.do(power); result.ErrorCode != metal.CodeOutcomeUnknown {
		t.Errorf("power: %+v", result)
	}
	if result := r.do(query); !result.OK {
		t.Errorf("query: %+v", result)
	}
}

func TestResultIsKeptWhileTheControlPlaneIsAway(t *testing.T) {
	r := newRig(t)
	acted := make(chan struct{}, 2)
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
		acted <- struct{}{}
		return powerOn()
	}
	r.link.mu.Lock()
	r.link.away = true
	r.link.mu.Unlock()
	cmd := command()
	r.deliver(cmd)
	wait(t, acted)
	r.restart()
	r.link.mu.Lock()
	r.link.away = false
	r.link.mu.Unlock()
	if result := r.do(cmd); !result.OK {
		t.Errorf("result is %+v", result)
	}
	if len(acted) != 0 {
		t.Error("it was done twice")
	}
}

func TestWhatALostJournalMayHaveBegunIsNotDoneAgain(t *testing.T) {
	for _, lose := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 0) },
		func(path string) error { return os.WriteFile(path, []byte("\x00\xffnot a journal"), 0o600) },
	} {
		r := newRig(t)
		var acts atomic.Int32
		r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult {
			acts.Add(1)
			return powerOn()
		}
		once, twice := command(), command()
		twice.Kind, twice.Request.Operation = metal.KindQuery, metal.PowerGet
		r.do(once)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if err := lose(filepath.Join(r.dir, "journal.jsonl")); err != nil {
			t.Fatal(err)
		}
		r.start(time.Minute)
		if result := r.do(once); result.ErrorCode != metal.CodeOutcomeUnknown || acts.Load() != 1 {
			t.Errorf("a power command that was begun before: %+v, done %d times", result, acts.Load())
		}
		if result := r.do(twice); !result.OK {
			t.Errorf("a command that may be repeated: %+v", result)
		}
		once.ID, once.IssuedAt = "issued-later", time.Now().Add(time.Hour)
		if result := r.do(once); !result.OK {
			t.Errorf("a power command issued later: %+v", result)
		}
	}
}
