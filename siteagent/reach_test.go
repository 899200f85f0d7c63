package siteagent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ferrule/drivers"
	"ferrule/metal"
)

// What others name is not reached at addresses of the agent's own machine or of
// BMCs, whatever command names it.
func TestCommandsDoNotLeadTheAgentToItselfOrToABMC(t *testing.T) {
	var hits int
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer inside.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	byName := "http://localhost:" + port
	r := idleRig(t)
	r.strict = true
	r.drivers.execute = func(context.Context, metal.Request, drivers.Credentials) metal.CommandResult { return powerOn() }
	r.start(0)
	bmc := command()
	bmc.Request.Address = "192.0.2.20"
	if result := r.do(bmc); !result.OK {
		t.Fatal(result.Message)
	}
	callBack := func(address string) metal.Command {
		cmd := ownCommand(metal.KindRamdisk, metal.RamdiskCall, metal.RamdiskCallArgs{AgentURL: address, Command: "standby.sync"})
		cmd.Request.Secrets = map[string]string{metal.TokenParam: tokenRef(cmd.NodeUUID)}
		r.secret(tokenRef(cmd.NodeUUID), "token-of-the-ramdisk")
		return cmd
	}
	for name, cmd := range map[string]metal.Command{
		"kernel":  ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{Name: "a.iso", KernelURL: inside.URL, RamdiskURL: inside.URL}),
		"by name": ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{Name: "b.iso", KernelURL: byName, RamdiskURL: byName}),
		"ISO":     ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{Name: "c.iso", ISOURL: inside.URL}),
		"metadata": ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{
			Name: "d.iso", ISOURL: "http://169.254.169.254/latest/meta-data/"}),
		"a BMC": ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{
			Name: "e.iso", ISOURL: "http://192.0.2.20/redfish/v1/"}),
		"the agent itself": ownCommand(metal.KindMediaPublish, metal.MediaPublish, metal.PublishMediaArgs{
			Name: "f.iso", ISOURL: r.agent.URL() + "/v1/lookup?node_uuid=" + bmc.NodeUUID}),
		"call-back":         callBack(inside.URL),
		"call-back by name": callBack(byName),
	} {
		result := r.do(cmd)
		if result.OK || result.ErrorCode != metal.CodeForbiddenTarget || strings.Contains(result.Message, "token-of-the-ramdisk") {
			t.Errorf("%s: %v %s %s", name, result.OK, result.ErrorCode, result.Message)
		}
	}
	if hits != 0 {
		t.Errorf("the server on loopback was asked %d times", hits)
	}
}

// A heartbeat through the relay cannot name a loopback address.
func TestARelayedHeartbeatCannotNameTheAgentsMachine(t *testing.T) {
	r := idleRig(t)
	r.strict = true
	var passed int
	r.link.relay = func(*http.Request) (int, string) { passed++; return http.StatusAccepted, "" }
	r.start(0)
	resp, err := http.Post(r.agent.URL()+"/v1/heartbeat/node", "application/json", strings.NewReader(`{"callback_url": "http://127.0.0.1:22"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || passed != 0 {
		t.Errorf("status %d, passed on %d times", resp.StatusCode, passed)
	}
}
