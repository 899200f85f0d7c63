package lab_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ferrule/lab"
	"ferrule/lab/event"
	"ferrule/lab/machine"
	"ferrule/lab/redfish"
)

// quirky starts one server with the habits given.
func quirky(t *testing.T, q redfish.Quirks) (*lab.Server, *console) {
	t.Helper()
	_, s := start(t, lab.Config{Quirks: q})
	return s, newConsole(t, s)
}

// messageID is the first message of an error body.
func messageID(doc map[string]any) string {
	e, _ := doc["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

func resetBody(kind string) map[string]any { return map[string]any{"ResetType": kind} }

func resetPath(c *console) string { return c.system + "/Actions/ComputerSystem.Reset" }

func bootBody(pairs ...string) map[string]any {
	boot := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		boot[pairs[i]] = pairs[i+1]
	}
	return map[string]any{"Boot": boot}
}

func TestQuirkActionInfo(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{ActionInfo: true, ResetTypes: []string{"On", "ForceOff"}})
	action := c.get(c.system)["Actions"].(map[string]any)["#ComputerSystem.Reset"].(map[string]any)
	if _, inline := action["ResetType@Redfish.AllowableValues"]; inline {
		t.Error("the list of reset types is inline")
	}
	info := c.get(action["@Redfish.ActionInfo"].(string))
	parameter := info["Parameters"].([]any)[0].(map[string]any)
	if types := parameter["AllowableValues"].([]any); len(types) != 2 {
		t.Errorf("reset types: %v", types)
	}
	c.do(http.StatusBadRequest, http.MethodPost, resetPath(c), resetBody("PowerCycle"))
}

func TestQuirkSameState(t *testing.T) {
	s, c := quirky(t, redfish.Quirks{SameState: http.StatusConflict})
	c.do(http.StatusConflict, http.MethodPost, resetPath(c), resetBody("ForceOff"))
	c.reset("On")
	c.do(http.StatusConflict, http.MethodPost, resetPath(c), resetBody("On"))
	actions := s.BMC.Observed().Actions
	if len(actions) != 3 || actions[0].Accepted || !actions[1].Accepted || actions[2].Accepted {
		t.Errorf("actions: %+v", actions)
	}
}

func TestQuirkPowerState(t *testing.T) {
	_, missing := quirky(t, redfish.Quirks{PowerState: "missing"})
	if _, given := missing.get(missing.system)["PowerState"]; given {
		t.Error("PowerState is there")
	}
	_, null := quirky(t, redfish.Quirks{PowerState: "null"})
	if p, given := null.get(null.system)["PowerState"]; !given || p != nil {
		t.Errorf("PowerState %v, given %v", p, given)
	}
}

func TestQuirkBootSettings(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{BootSettings: true})
	change := bootBody("BootSourceOverrideTarget", "Pxe", "BootSourceOverrideEnabled", "Continuous")
	if doc := c.do(http.StatusBadRequest, http.MethodPatch, c.system, change); !strings.Contains(messageID(doc), "PropertyNotWritable") {
		t.Errorf("refusal: %v", doc)
	}
	settings := c.get(c.system)["@Redfish.Settings"].(map[string]any)["SettingsObject"].(map[string]any)["@odata.id"].(string)
	c.do(http.StatusNoContent, http.MethodPatch, settings, change)
	target := func(path string) any { return c.get(path)["Boot"].(map[string]any)["BootSourceOverrideTarget"] }
	if target(settings) != "Pxe" || target(c.system) != "None" {
		t.Errorf("before the reset: settings %v, system %v", target(settings), target(c.system))
	}
	c.reset("On")
	if target(c.system) != "Pxe" {
		t.Errorf("after the reset the system shows %v", target(c.system))
	}
}

func TestQuirkNoBootMode(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{NoBootMode: true})
	if _, given := c.get(c.system)["Boot"].(map[string]any)["BootSourceOverrideMode"]; given {
		t.Error("the boot mode is there")
	}
	doc := c.do(http.StatusBadRequest, http.MethodPatch, c.system, bootBody("BootSourceOverrideTarget", "Pxe", "BootSourceOverrideMode", "UEFI"))
	if !strings.Contains(messageID(doc), "PropertyUnknown") {
		t.Errorf("refusal: %v", doc)
	}
	c.bootFrom("Pxe", "Once")
}

func TestQuirkForgetsBoot(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{ForgetsBoot: true})
	c.do(http.StatusOK, http.MethodPatch, c.system, bootBody("BootSourceOverrideTarget", "Pxe", "BootSourceOverrideEnabled", "Once"))
	if e := c.get(c.system)["Boot"].(map[string]any)["BootSourceOverrideEnabled"]; e != "Disabled" {
		t.Errorf("kept %v", e)
	}
}

func TestQuirkPost(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{PostRefusals: 2})
	c.bootFrom("Pxe", "Once") // off: no POST
	for range 2 {
		c.reset("On")
		for range 2 {
			doc := c.do(http.StatusBadRequest, http.MethodPatch, c.system, bootBody("BootSourceOverrideTarget", "Pxe"))
			if !strings.Contains(messageID(doc), "UnableToModifyDuringSystemPOST") {
				t.Errorf("refusal: %v", doc)
			}
		}
		c.bootFrom("Pxe", "Once")
		c.reset("ForceOff")
	}
}

func TestQuirkETag(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{NeedsETag: http.StatusPreconditionFailed, GzipETag: true})
	change := bootBody("BootSourceOverrideTarget", "Pxe", "BootSourceOverrideEnabled", "Once")
	c.do(http.StatusPreconditionFailed, http.MethodPatch, c.system, change)
	tag := func(header ...string) string {
		resp, err := fetchRaw(c, c.system, header...)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Header.Get("ETag")
	}
	zipped := tag("Accept-Encoding", "gzip")
	if !strings.HasSuffix(zipped, `-gzip"`) {
		t.Errorf("tag of a compressed answer: %s", zipped)
	}
	c.do(http.StatusPreconditionFailed, http.MethodPatch, c.system, change, "If-Match", zipped)
	c.do(http.StatusNoContent, http.MethodPatch, c.system, change, "If-Match", tag())
	stale := tag()
	c.do(http.StatusNoContent, http.MethodPatch, c.system, bootBody("BootSourceOverrideTarget", "Hdd"), "If-Match", stale)
	c.do(http.StatusPreconditionFailed, http.MethodPatch, c.system, change, "If-Match", stale)
}

// fetchRaw reads without decoding: the body may be compressed.
func fetchRaw(c *console, path string, header ...string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodGet, c.address+path, nil)
	if err != nil {
		return nil, err
	}
	req.SetBasicAuth(c.username, c.password)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	return resp, resp.Body.Close()
}

const sessions = "/redfish/v1/SessionService/Sessions"

func TestSessions(t *testing.T) {
	s, c := quirky(t, redfish.Quirks{SessionLimit: 1})
	root := c.get("/redfish/v1/")
	if got := root["Links"].(map[string]any)["Sessions"].(map[string]any)["@odata.id"]; got != sessions {
		t.Errorf("sessions are at %v", got)
	}
	body := map[string]any{"UserName": c.username, "Password": c.password}
	c.username = "" // no basic credentials from here on
	resp, doc, err := c.try(http.MethodPost, sessions, body)
	if err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("session: %v, %v", doc, err)
	}
	token := resp.Header.Get("X-Auth-Token")
	c.do(http.StatusOK, http.MethodGet, c.system, nil, "X-Auth-Token", token)
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil, "X-Auth-Token", token+"x")
	c.do(http.StatusUnauthorized, http.MethodGet, "/redfish/v1/SessionService", nil)
	if doc := c.do(http.StatusServiceUnavailable, http.MethodPost, sessions, body); !strings.Contains(messageID(doc), "SessionLimitExceeded") {
		t.Errorf("refusal: %v", doc)
	}
	c.do(http.StatusUnauthorized, http.MethodPost, sessions, map[string]any{"UserName": "admin", "Password": "wrong"})
	if n := s.BMC.Observed().Sessions; n != 1 {
		t.Errorf("%d sessions open", n)
	}
	c.do(http.StatusNoContent, http.MethodDelete, resp.Header.Get("Location"), nil, "X-Auth-Token", token)
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil, "X-Auth-Token", token)
}

func TestQuirkNoSessions(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{NoSessions: true})
	c.do(http.StatusNotFound, http.MethodPost, sessions, map[string]any{"UserName": c.username, "Password": c.password})
	if _, linked := c.get("/redfish/v1")["Links"]; linked {
		t.Error("the root links to sessions")
	}
}

func TestQuirkMediaPlace(t *testing.T) {
	manager := "/redfish/v1/Managers/BMC"
	for on, want := range map[string][2]int{"": {200, 200}, "system": {200, 404}, "manager": {404, 200}} {
		_, c := quirky(t, redfish.Quirks{MediaOn: on})
		c.do(want[0], http.MethodGet, c.system+"/VirtualMedia/Cd", nil)
		c.do(want[1], http.MethodGet, manager+"/VirtualMedia/Cd", nil)
		if _, linked := c.get(c.system)["VirtualMedia"]; linked != (want[0] == 200) {
			t.Errorf("on %q: system links to media: %v", on, linked)
		}
		if _, linked := c.get(manager)["VirtualMedia"]; linked != (want[1] == 200) {
			t.Errorf("on %q: manager links to media: %v", on, linked)
		}
	}
}

func TestQuirkInsertImageOnly(t *testing.T) {
	p := newPlane(t)
	_, c := quirky(t, redfish.Quirks{InsertImageOnly: true})
	image := p.bootISO()
	c.do(http.StatusBadRequest, http.MethodPost, c.system+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia",
		map[string]any{"Image": image, "Inserted": true})
	c.insert(image)
}

func TestQuirkMediaByPatch(t *testing.T) {
	p := newPlane(t)
	_, c := quirky(t, redfish.Quirks{MediaByPatch: true})
	cd := c.system + "/VirtualMedia/Cd"
	if _, given := c.get(cd)["Actions"]; given {
		t.Error("there are actions")
	}
	c.do(http.StatusNotFound, http.MethodPost, cd+"/Actions/VirtualMedia.InsertMedia", map[string]any{"Image": p.bootISO()})
	c.do(http.StatusNoContent, http.MethodPatch, cd, map[string]any{"Image": p.bootISO(), "Inserted": true})
	if c.get(cd)["Inserted"] != true {
		t.Error("not inserted")
	}
	c.do(http.StatusNoContent, http.MethodPatch, cd, map[string]any{"Image": nil, "Inserted": false})
	if c.get(cd)["Inserted"] != false {
		t.Error("not ejected")
	}
}

func TestQuirkStrictEject(t *testing.T) {
	p := newPlane(t)
	_, c := quirky(t, redfish.Quirks{StrictEject: true})
	eject := c.system + "/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
	c.do(http.StatusBadRequest, http.MethodPost, eject, map[string]any{})
	c.insert(p.bootISO())
	c.do(http.StatusUnsupportedMediaType, http.MethodPost, eject, nil)
	c.do(http.StatusNoContent, http.MethodPost, eject, map[string]any{})
}

func TestSeveralSystems(t *testing.T) {
	_, s := start(t, lab.Config{Definitions: []lab.Definition{{Name: "gpu", SystemID: "1", OtherSystems: []string{"HGX_Baseboard_0"}}}})
	c := newConsole(t, s)
	if members := c.get("/redfish/v1/Systems")["Members"].([]any); len(members) != 2 {
		t.Errorf("systems: %v", members)
	}
	c.reset("On")
	if s.Machine.Power() != machine.On || s.Others()[0].Power() != machine.Off {
		t.Error("the reset reached the other system")
	}
	if a := s.BMC.Observed().Actions; len(a) != 1 || a[0].System != "1" {
		t.Errorf("actions: %+v", a)
	}
}

func TestQuirkDocuments(t *testing.T) {
	_, bad := quirky(t, redfish.Quirks{BadLeaves: true})
	if cpu := bad.get(bad.system + "/Processors/CPU1"); cpu["MaxSpeedMHz"] != "" || cpu["Socket"] != float64(1) {
		t.Errorf("processor: %v", cpu)
	}
	_, minimal := quirky(t, redfish.Quirks{Minimal: true})
	doc := minimal.get(minimal.system)
	for _, part := range []string{"Bios", "SecureBoot", "EthernetInterfaces", "Processors"} {
		if _, given := doc[part]; given {
			t.Errorf("a minimal system links to %s", part)
		}
		minimal.do(http.StatusNotFound, http.MethodGet, minimal.system+"/"+part, nil)
	}
	minimal.reset("On")
	minimal.bootFrom("Hdd", "Continuous")
}

func TestQuirkOddMACs(t *testing.T) {
	s, c := quirky(t, redfish.Quirks{OddMACs: true})
	good := 0
	members := c.get(c.system + "/EthernetInterfaces")["Members"].([]any)
	for _, m := range members {
		mac, _ := c.get(m.(map[string]any)["@odata.id"].(string))["MACAddress"].(string)
		for _, n := range s.Identity().NICs {
			if mac == strings.ToUpper(n.MAC) {
				good++
			}
		}
	}
	if good != 2 || len(members) != 6 {
		t.Errorf("%d good MACs among %d interfaces", good, len(members))
	}
}

func TestQuirkNotReady(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{NotReady: []redfish.Answer{
		{Status: 400, MessageID: "IDRAC.2.8.SWC0700"}, {Status: 503, MessageID: "IDRAC.2.8.SYS518", RetryAfter: 30 * time.Second},
	}})
	c.do(http.StatusBadRequest, http.MethodGet, c.system, nil)
	resp, _, err := c.try(http.MethodGet, c.system, nil)
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "30" {
		t.Errorf("second answer: %v, %v", resp, err)
	}
	c.get(c.system)
}

func TestQuirkTasks(t *testing.T) {
	s, c := quirky(t, redfish.Quirks{AsyncTasks: 2})
	resp, _, err := c.try(http.MethodPost, resetPath(c), resetBody("On"))
	if err != nil || resp.StatusCode != http.StatusAccepted {
		t.Fatalf("reset: %v, %v", resp, err)
	}
	monitor := resp.Header.Get("Location")
	for range 2 {
		c.do(http.StatusAccepted, http.MethodGet, monitor, nil)
		if s.Machine.Power() != machine.Off {
			t.Error("the reset happened before the task ended")
		}
	}
	c.do(http.StatusOK, http.MethodGet, monitor, nil)
	if s.Machine.Power() != machine.On {
		t.Error("the task ended without the reset")
	}
	_, inBody := quirky(t, redfish.Quirks{AsyncTasks: 1, TaskInBody: true})
	resp, doc, err := inBody.try(http.MethodPost, resetPath(inBody), resetBody("On"))
	if err != nil || resp.Header.Get("Location") != "" || doc["@odata.id"] == nil {
		t.Errorf("task in the body: %v, %v", doc, err)
	}
	if state := inBody.get(doc["@odata.id"].(string))["TaskState"]; state != "Running" {
		t.Errorf("state %v", state)
	}
	if state := inBody.get(doc["@odata.id"].(string))["TaskState"]; state != "Completed" {
		t.Errorf("state %v", state)
	}
}

func TestAccounts(t *testing.T) {
	s, c := quirky(t, redfish.Quirks{AccountSlots: true, DropsSessions: true})
	accounts := "/redfish/v1/AccountService/Accounts"
	c.do(http.StatusMethodNotAllowed, http.MethodPost, accounts, map[string]any{"UserName": "x", "Password": "y"})
	own := ""
	for _, m := range c.get(accounts)["Members"].([]any) {
		path := m.(map[string]any)["@odata.id"].(string)
		if c.get(path)["UserName"] == c.username {
			own = path
		}
	}
	resp, _, err := c.try(http.MethodPost, sessions, map[string]any{"UserName": c.username, "Password": c.password})
	if err != nil {
		t.Fatal(err)
	}
	token := resp.Header.Get("X-Auth-Token")
	c.do(http.StatusBadRequest, http.MethodPatch, own, map[string]any{"Password": 5})
	c.do(http.StatusBadRequest, http.MethodPatch, own, map[string]any{"Shoe": "5"})
	next := c.password + "-next"
	c.do(http.StatusOK, http.MethodPatch, own, map[string]any{"Password": next})
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil)
	c.password = next
	c.get(c.system)
	c.username = ""
	c.do(http.StatusUnauthorized, http.MethodGet, c.system, nil, "X-Auth-Token", token)
	await(t, s, event.PasswordChanged)
}

func TestQuirkFactoryPassword(t *testing.T) {
	_, c := quirky(t, redfish.Quirks{FactoryPassword: true})
	doc := c.do(http.StatusForbidden, http.MethodGet, c.system, nil)
	info := doc["error"].(map[string]any)["@Message.ExtendedInfo"].([]any)[0].(map[string]any)
	own := info["MessageArgs"].([]any)[0].(string)
	if c.get(own)["PasswordChangeRequired"] != true {
		t.Error("the account does not say that its password must change")
	}
	c.do(http.StatusOK, http.MethodPatch, own, map[string]any{"Password": "another-one"})
	c.password = "another-one"
	c.get(c.system)
}

func TestQuirkApplyTime(t *testing.T) {
	attributes := map[string]any{"NumCores": 8}
	annotated := map[string]any{"Attributes": attributes, "@Redfish.SettingsApplyTime": map[string]any{"ApplyTime": "OnReset"}}
	plain := map[string]any{"Attributes": attributes}
	for kind, want := range map[string][2]int{"": {204, 204}, "required": {204, 400}, "refused": {400, 204}} {
		_, c := quirky(t, redfish.Quirks{ApplyTime: kind})
		settings := c.system + "/Bios/Settings"
		c.do(want[0], http.MethodPatch, settings, annotated)
		c.do(want[1], http.MethodPatch, settings, plain)
		c.do(http.StatusBadRequest, http.MethodPatch, settings, map[string]any{"Attributes": map[string]any{"NumCores": "8"}})
		cores := func() any { return c.get(c.system + "/Bios")["Attributes"].(map[string]any)["NumCores"] }
		if cores() != float64(0) {
			t.Errorf("%q: applied before the reset", kind)
		}
		c.reset("On")
		if cores() != float64(8) {
			t.Errorf("%q: after the reset %v", kind, cores())
		}
	}
}
