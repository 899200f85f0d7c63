package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

const reset = "POST " + sys + "/Actions/ComputerSystem.Reset"

func TestResetTypesAreFoundInActionInfo(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	info := "/redfish/v1/Systems/1/ResetActionInfo"
	b.set(sys, object{"PowerState": "On", "Actions": object{"#ComputerSystem.Reset": object{
		"target": sys + "/Actions/ComputerSystem.Reset", "@Redfish.ActionInfo": info}}})
	b.set(info, object{"Parameters": []object{{"Name": "ResetType", "AllowableValues": []string{"On", "ForceOff"}}}})
	want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOff}))
	if posts := b.seen(reset); len(posts) != 1 || posts[0].body != `{"ResetType":"ForceOff"}` {
		t.Errorf("posts %v", posts)
	}
	want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
	if n := len(b.seen("GET " + info)); n != 1 {
		t.Errorf("ActionInfo was read %d times", n)
	}
	_, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.SoftPowerOff})
	expect(t, err, metal.CodeUnsupported, "GracefulShutdown", "On, ForceOff")
}

func TestARefusedResetToTheStateThatIsThereIsSuccess(t *testing.T) {
	for _, status := range []int{400, 409} {
		b, d := newBMC(t), newDriver(t)
		b.set(sys, object{"PowerState": "On"})
		b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
			b.documents[sys]["PowerState"] = "Off" // somebody was quicker
			refuse(w, status, "ResourceInUse", "The host is powered off")
			return true
		})
		got := want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOff}))
		if got != (metal.PowerResult{State: metal.PowerOff}) {
			t.Errorf("%d: %+v", status, got)
		}
	}
}

func TestARefusedResetIsReportedInTheBMCsWords(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 409, "ResourceInUse", "firmware update under way")
		return true
	})
	_, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn})
	expect(t, err, metal.CodeBMCError, b.address(), sys+"/Actions", "409", "firmware update under way")
}

func TestPowerOnIsRepeatedWhileTheBMCSettles(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		settling := countLocked(b, reset) < 4
		if settling {
			refuse(w, 409, "ActionParameterValueConflict", "not now")
		}
		return settling
	})
	want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
	if n := len(b.seen(reset)); n != 4 {
		t.Errorf("%d posts", n)
	}
}

// countLocked counts requests; hooks run with the lock held.
func countLocked(b *emulated, line string) int {
	n := 0
	for _, r := range b.requests {
		if r.line() == line {
			n++
		}
	}
	return n
}

func TestUnknownPowerIsNeverActedOn(t *testing.T) {
	for _, state := range []any{nil, "", "Paused", 7, "missing"} {
		b, d := newBMC(t), newDriver(t)
		b.set(sys, object{"PowerState": state})
		if state == "missing" {
			b.drop(sys, "PowerState")
		}
		got := want[metal.PowerResult](t)(d.GetPower(t.Context(), b.target()))
		if got.State != metal.PowerUnknown {
			t.Errorf("%v reads as %q", state, got.State)
		}
		for _, target := range []metal.PowerState{metal.PowerOn, metal.PowerOff, metal.SoftPowerOff} {
			_, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: target})
			expect(t, err, metal.CodeBMCError, b.address(), "does not tell the power state")
		}
		if posts := b.seen("POST"); len(posts) != 0 {
			t.Errorf("%v: posts %v", state, posts)
		}
	}
}

func TestAnOutageIsNoState(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.set(sys, object{"PowerState": "On"})
	down := true
	b.on("GET "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		if down {
			w.WriteHeader(503)
		}
		return down
	})
	_, err := d.GetPower(t.Context(), b.target())
	expect(t, err, metal.CodeBMCError, "503")
	_, err = d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOff})
	expect(t, err, metal.CodeBMCError, "503")
	if posts := b.seen("POST"); len(posts) != 0 {
		t.Errorf("posts during an outage: %v", posts)
	}
	down = false
	got := want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
	if got.Changed || len(b.seen("POST")) != 0 {
		t.Errorf("power on of a running machine: %+v", got)
	}
}

func TestThePowerTargetIsAwaited(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	looks := 0
	b.on("GET "+sys, func(http.ResponseWriter, *http.Request, object) bool {
		if countLocked(b, reset) > 0 {
			looks++
			b.documents[sys]["PowerState"] = map[bool]string{true: "PoweringOn", false: "On"}[looks < 3]
		}
		return false
	})
	got := want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
	if got.State != metal.PowerOn || looks < 3 {
		t.Errorf("%+v after %d looks", got, looks)
	}
	b, d = newBMC(t), newDriver(t)
	b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool { w.WriteHeader(204); return true })
	_, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn, TimeoutSeconds: 1})
	expect(t, err, metal.CodeBMCError, "did not show power state On within 1s", `"Off"`)
}

func TestALostAnswerIsLookedAfter(t *testing.T) {
	for _, acted := range []bool{true, false} {
		b, d := newBMC(t), newDriver(t)
		b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
			if acted {
				b.documents[sys]["PowerState"] = "On"
			}
			panic(http.ErrAbortHandler)
		})
		got, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn, TimeoutSeconds: 1})
		if acted && (err != nil || !got.Changed) {
			t.Errorf("%+v, %v", got, err)
		}
		if !acted {
			expect(t, err, metal.CodeOutcomeUnknown, b.address(), "answer was lost")
		}
		if n := len(b.seen(reset)); n != 1 {
			t.Errorf("%d posts for one intent", n)
		}
	}
}

func TestBootOverrideGoesToTheSettingsResource(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	settings := sys + "/Settings"
	b.set(sys, object{"@Redfish.Settings": object{"SettingsObject": link(settings)}})
	b.set(settings, object{"Boot": object{"BootSourceOverrideTarget": "None"}})
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 400, "PropertyNotWritable", "BootSourceOverrideTarget is read only", "BootSourceOverrideTarget")
		return true
	})
	for range 2 {
		want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"}))
	}
	if b.documents[settings]["Boot"].(object)["BootSourceOverrideTarget"] != "Pxe" {
		t.Errorf("settings: %v", b.documents[settings])
	}
	if n := len(b.seen("PATCH " + sys)); n != 3 { // one refused, then the settings twice
		t.Errorf("%d patches", n)
	}
}

func TestBootPropertiesThatTheBMCDoesNotKnowAreLeftOut(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.documents[sys]["Boot"] = object{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, body object) bool {
		_, has := body["Boot"].(object)["BootSourceOverrideMode"]
		if has {
			refuse(w, 400, "PropertyUnknown", "BootSourceOverrideMode", "BootSourceOverrideMode")
		}
		return has
	})
	want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"}))
	if n := len(b.seen("PATCH")); n != 1 {
		t.Errorf("%d patches", n)
	}
}

func TestABootModeThatTheBMCWantsIsAdded(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, body object) bool {
		_, has := body["Boot"].(object)["BootSourceOverrideMode"]
		if !has {
			refuse(w, 400, "PropertyMissing", "The property is required", "BootSourceOverrideMode")
		}
		return !has
	})
	for range 2 {
		want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "cdrom"}))
	}
	if n := len(b.seen("PATCH")); n != 3 {
		t.Errorf("%d patches; the finding is to be remembered", n)
	}
}

func TestABootOverrideThatIsNotKeptFailsByName(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool { w.WriteHeader(200); return true })
	_, err := d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"})
	expect(t, err, metal.CodeBMCError, "accepted but did not keep the boot override", "BootSourceOverrideEnabled is Disabled, not Once", "BootSourceOverrideTarget is None, not Pxe")
}

func TestContinuousFallsBackToOnce(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, body object) bool {
		bad := body["Boot"].(object)["BootSourceOverrideEnabled"] == "Continuous"
		if bad {
			refuse(w, 400, "PropertyValueNotInList", "Continuous is not allowed", "Continuous", "BootSourceOverrideEnabled")
		}
		return bad
	})
	got := want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "disk", Persistent: true}))
	if got != (metal.BootDeviceArgs{Device: "disk"}) {
		t.Errorf("the result hides what was kept: %+v", got)
	}
}

func TestOnceThatIsKeptAsContinuousIsReportedSo(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("PATCH "+sys, func(_ http.ResponseWriter, _ *http.Request, body object) bool {
		body["Boot"].(object)["BootSourceOverrideEnabled"] = "Continuous"
		return false
	})
	got := want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "cdrom"}))
	if !got.Persistent {
		t.Errorf("%+v", got)
	}
}

func TestABootChangeDuringPOSTIsRepeated(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		post := countLocked(b, "PATCH "+sys) < 5
		if post {
			refuse(w, 400, "UnableToModifyDuringSystemPOST", "in POST")
		}
		return post
	})
	want[metal.BootDeviceArgs](t)(d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"}))
	b, d = newBMC(t), newDriver(t)
	d.pace.postFor = 0
	b.on("PATCH "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 400, "UnableToModifyDuringSystemPOST", "in POST")
		return true
	})
	_, err := d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"})
	expect(t, err, metal.CodeBMCError, "POST")
}

func TestTheETagOfAFreshReadGoesBackExactly(t *testing.T) {
	for _, tag := range []string{`"abc"`, `W/"17"`, `"abc-gzip"`} {
		b, d := newBMC(t), newDriver(t)
		b.etags[sys] = tag
		want := strings.Replace(tag, "-gzip", "", 1)
		b.on("PATCH "+sys, func(w http.ResponseWriter, r *http.Request, _ object) bool {
			bad := r.Header.Get("If-Match") != want
			if bad {
				refuse(w, 412, "PreconditionFailed", "ETag")
			}
			return bad
		})
		if _, err := d.SetBootDevice(t.Context(), b.target(), metal.BootDeviceArgs{Device: "pxe"}); err != nil {
			t.Errorf("%s: %v", tag, err)
		}
		if n := len(b.seen("PATCH")); n != 1 {
			t.Errorf("%s: %d patches", tag, n)
		}
	}
}

func TestVirtualMediaOfTheManagerIsFound(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	for _, p := range []string{"", "/Cd", "/Floppy"} {
		doc := b.documents[sys+"/VirtualMedia"+p]
		delete(b.documents, sys+"/VirtualMedia"+p)
		b.set("/redfish/v1/Managers/1/VirtualMedia"+p, doc)
	}
	base := "/redfish/v1/Managers/1/VirtualMedia"
	b.set(base, collection(base+"/Cd"))
	b.set(base+"/Cd", mediaSlot(base+"/Cd", "CD"))
	b.set("/redfish/v1/Managers/1", object{"VirtualMedia": link(base)})
	b.drop(sys, "VirtualMedia")
	args := metal.InsertMediaArgs{Device: "cdrom", ImageURL: "http://192.0.2.1/x.iso"}
	want[metal.MediaStatus](t)(d.InsertMedia(t.Context(), b.target(), args))
	want[metal.MediaStatus](t)(d.InsertMedia(t.Context(), b.target(), args))
	if n := len(b.seen("GET /redfish/v1/Managers/1/VirtualMedia/Cd")); n == 0 {
		t.Error("the manager's slot was not used")
	}
	if managerReads := slices.DeleteFunc(b.seen("GET /redfish/v1/Managers/1"), func(r request) bool { return r.path != "/redfish/v1/Managers/1" }); len(managerReads) != 1 {
		t.Errorf("where the slots are was found out %d times", len(managerReads))
	}
}

func TestInsertMediaAddsWhatTheBMCAsksFor(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	insert := sys + "/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia"
	b.on("POST "+insert, func(w http.ResponseWriter, _ *http.Request, body object) bool {
		for _, name := range []string{"TransferProtocolType", "TransferMethod"} {
			if body[name] == nil {
				refuse(w, 400, "ActionParameterMissing", "a parameter is missing", "VirtualMedia.InsertMedia", name)
				return true
			}
		}
		return false
	})
	args := metal.InsertMediaArgs{Device: "cdrom", ImageURL: "https://192.0.2.1/x.iso"}
	for range 2 {
		want[metal.MediaStatus](t)(d.InsertMedia(t.Context(), b.target(), args))
	}
	posts := b.seen("POST " + insert)
	if len(posts) != 4 || posts[0].body != `{"Image":"https://192.0.2.1/x.iso"}` ||
		posts[3].body != `{"Image":"https://192.0.2.1/x.iso","TransferMethod":"Stream","TransferProtocolType":"HTTPS"}` {
		t.Errorf("posts %v", posts)
	}
}

func TestVirtualMediaWithoutActionsIsPatched(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.drop(sys+"/VirtualMedia/Cd", "Actions")
	want[metal.MediaStatus](t)(d.InsertMedia(t.Context(), b.target(), metal.InsertMediaArgs{Device: "cdrom", ImageURL: "http://192.0.2.1/x.iso"}))
	want[metal.MediaStatus](t)(d.EjectMedia(t.Context(), b.target(), metal.EjectMediaArgs{Devices: []string{"cdrom"}}))
	patches := b.seen("PATCH")
	if len(patches) != 2 || patches[0].body != `{"Image":"http://192.0.2.1/x.iso","Inserted":true}` || patches[1].body != `{"Image":null,"Inserted":false}` {
		t.Errorf("patches %v", patches)
	}
}

func TestEjectOfWhatIsGoneIsSuccess(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.set(sys+"/VirtualMedia/Cd", object{"Inserted": true, "Image": "http://192.0.2.1/x.iso"})
	b.on("POST "+sys+"/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		b.documents[sys+"/VirtualMedia/Cd"]["Inserted"] = false
		refuse(w, 400, "GeneralError", "nothing inserted")
		return true
	})
	want[metal.MediaStatus](t)(d.EjectMedia(t.Context(), b.target(), metal.EjectMediaArgs{}))
	b.drop(sys, "VirtualMedia")
	want[metal.MediaStatus](t)(newDriver(t).EjectMedia(t.Context(), b.target(), metal.EjectMediaArgs{}))
	_, err := newDriver(t).InsertMedia(t.Context(), b.target(), metal.InsertMediaArgs{Device: "cdrom", ImageURL: "http://192.0.2.1/x.iso"})
	expect(t, err, metal.CodeUnsupported, "no virtual media")
}

func TestMediaThatIsNotInsertedFails(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("POST "+sys+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		w.WriteHeader(204)
		return true
	})
	_, err := d.InsertMedia(t.Context(), b.target(), metal.InsertMediaArgs{Device: "cdrom", ImageURL: "http://192.0.2.1/x.iso"})
	expect(t, err, metal.CodeBMCError, "accepted inserting")
}

func TestSeveralSystemsNeedAName(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.set("/redfish/v1/Systems", collection("/redfish/v1/Systems/HGX_Baseboard_0", sys))
	b.set("/redfish/v1/Systems/HGX_Baseboard_0", object{"PowerState": "On"})
	target := b.target()
	_, err := d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeInvalidConfig, "redfish_system_id", "/redfish/v1/Systems/HGX_Baseboard_0", sys)
	target.Options = driver.Options{optAuthType: authBasic, optSystemID: sys + "/"}
	want[metal.PowerResult](t)(d.SetPower(t.Context(), target, metal.SetPowerArgs{Target: metal.PowerOn}))
	if n := len(b.seen("GET /redfish/v1/Systems/HGX")) + len(b.seen("POST /redfish/v1/Systems/HGX")); n != 0 {
		t.Errorf("%d requests reached the other System", n)
	}
	target.Options[optSystemID] = "nope"
	_, err = d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeInvalidConfig, "no System /redfish/v1/Systems/nope", sys)
	b.set("/redfish/v1/Odd/1", object{"@odata.type": "#Manager.v1_5_0.Manager"})
	target.Options[optSystemID] = "/redfish/v1/Odd/1"
	_, err = d.GetPower(t.Context(), target)
	expect(t, err, metal.CodeInvalidConfig, "this is a Manager, not a System")
}

func TestABMCThatIsNotReadyIsAskedAgain(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("GET "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		switch n := countLocked(b, "GET "+sys); {
		case n <= 3:
			refuse(w, 400, "SWC0700", "iDRAC is not ready")
		case n == 4:
			w.Header().Set("Retry-After", "0")
			refuse(w, 503, "SYS518", "busy")
		default:
			return false
		}
		return true
	})
	want[metal.PowerResult](t)(d.GetPower(t.Context(), b.target()))
	if n := len(b.seen("GET " + sys)); n != 5 {
		t.Errorf("%d reads", n)
	}
}

func TestOtherRefusalsAreFinalAtOnce(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("GET "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		refuse(w, 400, "QueryNotSupported", "no")
		return true
	})
	_, err := d.GetPower(t.Context(), b.target())
	expect(t, err, metal.CodeBMCError, "400", "no")
	if n := len(b.seen("GET " + sys)); n != 1 {
		t.Errorf("%d reads", n)
	}
}

func TestARetryAfterBeyondAllPatienceIsNotWaitedFor(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("GET "+sys, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		w.Header().Set("Retry-After", "86400")
		refuse(w, 503, "SYS518", "busy")
		return true
	})
	_, err := d.GetPower(t.Context(), b.target())
	expect(t, err, metal.CodeBMCError, "503", "busy")
}

func TestAcceptedWritesAreFollowedToTheirEnd(t *testing.T) {
	for _, place := range []string{"header", "body", "url"} {
		b, d := newBMC(t), newDriver(t)
		monitor := "/redfish/v1/TaskService/TaskMonitors/9"
		b.on(reset, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
			body := object{}
			switch place {
			case "header":
				w.Header().Set("Location", monitor)
			case "url":
				w.Header().Set("Location", b.server.URL+monitor)
			case "body":
				body = object{"@odata.id": monitor, "TaskState": "New"}
			}
			answer(w, 202, body)
			return true
		})
		b.on("GET "+monitor, func(w http.ResponseWriter, _ *http.Request, _ object) bool {
			switch n := countLocked(b, "GET "+monitor); {
			case n <= 3:
				w.WriteHeader(202)
			case n == 4:
				answer(w, 200, object{"TaskState": "Running"})
			default:
				b.documents[sys]["PowerState"] = "On"
				answer(w, 200, object{"TaskState": "Completed"})
			}
			return true
		})
		got := want[metal.PowerResult](t)(d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn}))
		if !got.Changed || len(b.seen("GET "+monitor)) != 5 {
			t.Errorf("%s: %+v, %d looks at the task", place, got, len(b.seen("GET "+monitor)))
		}
	}
}

func TestATaskThatFailsIsTheResult(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.on("POST "+sys+"/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia", func(w http.ResponseWriter, _ *http.Request, _ object) bool {
		w.Header().Set("Location", "/redfish/v1/TaskService/Tasks/1")
		w.WriteHeader(202)
		return true
	})
	b.set("/redfish/v1/TaskService/Tasks/1", object{"TaskState": "Exception", "Messages": []object{{"Message": "image server not found"}}})
	_, err := d.InsertMedia(t.Context(), b.target(), metal.InsertMediaArgs{Device: "cdrom", ImageURL: "http://192.0.2.1/x.iso"})
	expect(t, err, metal.CodeBMCError, "Exception", "image server not found")
}

func TestPathsThatTheBMCNamesAreCheckedEverywhere(t *testing.T) {
	for _, evil := range []string{"http://192.0.2.99/redfish/v1/x", "//192.0.2.99/x", "/redfish/v1/../x", "/etc", "/redfish/v1/x?y"} {
		b, d := newBMC(t), newDriver(t)
		b.set(sys, object{
			"EthernetInterfaces": link(evil), "VirtualMedia": link(evil), "SecureBoot": link(evil), "Storage": link(evil), "Processors": link(evil),
			"@Redfish.Settings": object{"SettingsObject": link(evil)},
			"Links":             object{"ManagedBy": []object{link(evil)}, "Chassis": []object{link(evil)}},
			"Actions":           object{"#ComputerSystem.Reset": object{"target": evil}},
		})
		_, err := d.SetPower(t.Context(), b.target(), metal.SetPowerArgs{Target: metal.PowerOn})
		expect(t, err, metal.CodeInvalidAddress, "not followed")
		_, err = d.MACs(t.Context(), b.target())
		expect(t, err, metal.CodeInvalidAddress, "not followed")
		_, err = d.GetSecureBoot(t.Context(), b.target())
		expect(t, err, metal.CodeInvalidAddress, "not followed")
		want[metal.InspectResult](t)(d.Inspect(t.Context(), b.target()))
		want[metal.SensorsResult](t)(d.GetSensors(t.Context(), b.target()))
		for _, r := range b.seen("") {
			if r.path != "/redfish/v1/" && r.path != "/redfish/v1/Systems" && r.path != sys && !strings.HasPrefix(r.path, "/redfish/v1/Managers") {
				t.Errorf("%s: %s was asked for", evil, r.line())
			}
		}
	}
}

func TestOddLeavesCostThemselvesOnly(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.set(sys, object{
		"Manufacturer": "Example", "Model": 12, "SerialNumber": nil, "MemorySummary": object{"TotalSystemMemoryGiB": "16"},
		"ProcessorSummary": object{"Count": "1"}, "Processors": link(sys + "/Processors"), "Storage": link(sys + "/Storage"), "BootProgress": 7,
	})
	b.set(sys+"/Processors", collection(sys+"/Processors/1", sys+"/Processors/gone"))
	b.set(sys+"/Processors/1", object{"MaxSpeedMHz": "", "Socket": 1, "TotalThreads": "32", "InstructionSet": "x86-64", "Model": "Example CPU"})
	b.set(sys+"/Storage", collection(sys+"/Storage/1"))
	b.set(sys+"/Storage/1", object{"Drives": []object{link(sys + "/Storage/1/Drives/a"), link(sys + "/Storage/1/Drives/b")}})
	b.set(sys+"/Storage/1/Drives/a", object{"Name": "a", "CapacityBytes": "64424509440", "MediaType": "SSD"})
	b.set(sys+"/Storage/1/Drives/b", object{"Name": "b", "CapacityBytes": "N/A"})
	got := want[metal.InspectResult](t)(d.Inspect(t.Context(), b.target()))
	wantProps := map[string]string{"cpu_arch": "x86_64", "memory_mb": "16384", "local_gb": "59", "vendor": "Example"}
	if fmt.Sprint(got.Properties) != fmt.Sprint(wantProps) {
		t.Errorf("properties %v", got.Properties)
	}
	inv := got.Inventory
	if inv.CPU.Count != 32 || inv.CPU.Frequency != nil || inv.CPU.SocketCount != 1 || len(inv.Disks) != 2 || len(inv.Interfaces) != 2 || inv.SystemVendor.ProductName != "12" {
		t.Errorf("inventory %+v", inv)
	}
}

func TestAMinimalSystemIsEnough(t *testing.T) {
	b, d := newBMC(t), newDriver(t)
	b.mu.Lock()
	b.documents[sys] = object{"PowerState": "Off", "Boot": object{}, "Actions": object{"#ComputerSystem.Reset": object{"target": sys + "/Actions/ComputerSystem.Reset"}}}
	b.mu.Unlock()
	ctx, target := t.Context(), b.target()
	want[metal.PowerResult](t)(d.SetPower(ctx, target, metal.SetPowerArgs{Target: metal.PowerOn}))
	want[metal.BootDeviceArgs](t)(d.SetBootDevice(ctx, target, metal.BootDeviceArgs{Device: "pxe"}))
	want[metal.InspectResult](t)(d.Inspect(ctx, target))
	want[metal.MACsResult](t)(d.MACs(ctx, target))
	want[metal.SensorsResult](t)(d.GetSensors(ctx, target))
	want[metal.IndicatorsResult](t)(d.GetIndicators(ctx, target))
	want[metal.FirmwareComponentsResult](t)(d.FirmwareComponents(ctx, target))
	want[metal.MediaStatus](t)(d.EjectMedia(ctx, target, metal.EjectMediaArgs{}))
	_, err := d.GetSecureBoot(ctx, target)
	expect(t, err, metal.CodeUnsupported, "SecureBoot")
	_, err = d.SetBootMode(ctx, target, metal.BootModeArgs{Mode: "uefi"})
	expect(t, err, metal.CodeUnsupported, "BootSourceOverrideMode")
}

func TestRetryAfterInBothForms(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0,
	} {
		if got := retryAfter(header); got != want {
			t.Errorf("%q: %s", header, got)
		}
	}
	if got := retryAfter(time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)); got < 58*time.Minute || got > time.Hour {
		t.Errorf("a date in an hour: %s", got)
	}
}
