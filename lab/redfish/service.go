package redfish

import (
	"net/http"
	"strconv"
)

const (
	managerID   = "BMC"
	firmwareOne = "1.10.4"
)

func collection(path, kind string, members []string) doc {
	return doc{
		"@odata.id": path, "@odata.type": "#" + kind + "." + kind, "Name": kind,
		"Members": links(members), "Members@odata.count": len(members),
	}
}

func healthy() doc { return doc{"State": "Enabled", "Health": "OK", "HealthRollup": "OK"} }

func serviceRoot(b *BMC, _ request) reply {
	body := doc{
		"@odata.id": root, "@odata.type": "#ServiceRoot.v1_15_0.ServiceRoot",
		"Id": "RootService", "Name": "Root Service", "RedfishVersion": "1.15.0",
		"UUID":           b.cfg.Systems[0].Machine.Hardware().Serial,
		"Systems":        link(root + "/Systems"),
		"Managers":       link(root + "/Managers"),
		"Chassis":        link(root + "/Chassis"),
		"AccountService": link(root + "/AccountService"),
		"UpdateService":  link(root + "/UpdateService"),
	}
	if !b.cfg.Quirks.NoSessions {
		body["SessionService"] = link(root + "/SessionService")
		body["Links"] = doc{"Sessions": link(sessionsPath)}
	}
	return ok(body)
}

func listManagers(*BMC, request) reply {
	return ok(collection(root+"/Managers", "ManagerCollection", []string{root + "/Managers/" + managerID}))
}

func showManager(b *BMC, r request) reply {
	if r.PathValue("manager") != managerID {
		return notFound(r.URL.Path)
	}
	path := root + "/Managers/" + managerID
	body := doc{
		"@odata.id": path, "@odata.type": "#Manager.v1_18_0.Manager", "Id": managerID, "Name": "Manager",
		"ManagerType": "BMC", "FirmwareVersion": firmwareOne, "PowerState": "On", "Status": healthy(),
		"Links": doc{"ManagerForServers": links(b.systemPaths())},
		"Actions": doc{"#Manager.Reset": doc{
			"target":                            path + "/Actions/Manager.Reset",
			"ResetType@Redfish.AllowableValues": []string{"GracefulRestart", "ForceRestart"},
		}},
	}
	if b.cfg.Quirks.MediaOn != "system" {
		body["VirtualMedia"] = link(path + "/VirtualMedia")
	}
	return ok(body)
}

func resetManager(b *BMC, r request) reply {
	if r.PathValue("manager") != managerID {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.sessions)
	return noContent()
}

func chassisID(i int) string { return "Chassis" + strconv.Itoa(i+1) }

func listChassis(b *BMC, _ request) reply {
	var paths []string
	for i := range b.cfg.Systems {
		paths = append(paths, root+"/Chassis/"+chassisID(i))
	}
	return ok(collection(root+"/Chassis", "ChassisCollection", paths))
}

// chassis is the index of the system in the chassis that the request names.
func (b *BMC) chassis(r request) (int, bool) {
	for i := range b.cfg.Systems {
		if r.PathValue("chassis") == chassisID(i) {
			return i, true
		}
	}
	return 0, false
}

func showChassis(b *BMC, r request) reply {
	i, found := b.chassis(r)
	if !found {
		return notFound(r.URL.Path)
	}
	s := b.cfg.Systems[i]
	h := s.Machine.Hardware()
	path := root + "/Chassis/" + chassisID(i)
	b.mu.Lock()
	led := b.systems[s.ID].led
	b.mu.Unlock()
	return ok(doc{
		"@odata.id": path, "@odata.type": "#Chassis.v1_22_0.Chassis", "Id": chassisID(i), "Name": "Chassis",
		"ChassisType": "RackMount", "Manufacturer": h.Manufacturer, "Model": h.Product, "SerialNumber": h.Serial,
		"PowerState": string(s.Machine.Power()), "Status": healthy(), "IndicatorLED": led,
		"Thermal": link(path + "/Thermal"), "Power": link(path + "/Power"),
		"Links": doc{"ComputerSystems": links([]string{root + "/Systems/" + s.ID}), "ManagedBy": links([]string{root + "/Managers/" + managerID})},
	})
}

func patchIndicator(b *BMC, r request) reply {
	i, found := b.chassis(r)
	if !found {
		return notFound(r.URL.Path)
	}
	return b.setIndicator(b.cfg.Systems[i].ID, r.body)
}

// setIndicator takes the one property that a change of the indicator has.
func (b *BMC) setIndicator(system string, change doc) reply {
	led, _ := change["IndicatorLED"].(string)
	if len(change) != 1 || (led != "Lit" && led != "Off" && led != "Blinking") {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueNotInList", "IndicatorLED takes Lit, Off or Blinking.")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.systems[system].led = led
	return noContent()
}

func showThermal(b *BMC, r request) reply {
	if _, found := b.chassis(r); !found {
		return notFound(r.URL.Path)
	}
	inlet := doc{
		"@odata.id": r.URL.Path + "#/Temperatures/0", "MemberId": "0", "Name": "Inlet", "ReadingCelsius": 23,
		"UpperThresholdCritical": 42, "PhysicalContext": "Intake", "Status": healthy(),
	}
	fan := doc{
		"@odata.id": r.URL.Path + "#/Fans/0", "MemberId": "0", "Name": "Fan 1", "Reading": 4800, "ReadingUnits": "RPM",
		"Status": healthy(),
	}
	if b.cfg.Quirks.BadLeaves {
		inlet["UpperThresholdCritical"] = "N/A"
		fan["MemberId"] = 0
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Thermal.v1_7_1.Thermal", "Id": "Thermal", "Name": "Thermal",
		"Temperatures": []doc{inlet}, "Fans": []doc{fan},
	})
}

func showPower(b *BMC, r request) reply {
	if _, found := b.chassis(r); !found {
		return notFound(r.URL.Path)
	}
	control := doc{
		"@odata.id": r.URL.Path + "#/PowerControl/0", "MemberId": "0", "Name": "Power", "PowerConsumedWatts": 180,
		"Status": healthy(),
	}
	if b.cfg.Quirks.BadLeaves {
		control["MemberId"] = 0
		control["PowerConsumedWatts"] = "N/A"
	}
	supply := doc{
		"@odata.id": r.URL.Path + "#/PowerSupplies/0", "MemberId": "0", "Name": "PSU 1", "PowerCapacityWatts": 800,
		"LineInputVoltage": 230, "Status": healthy(),
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Power.v1_7_1.Power", "Id": "Power", "Name": "Power",
		"PowerControl": []doc{control}, "PowerSupplies": []doc{supply},
	})
}

func updateService(*BMC, request) reply {
	path := root + "/UpdateService"
	return ok(doc{
		"@odata.id": path, "@odata.type": "#UpdateService.v1_11_0.UpdateService", "Id": "UpdateService",
		"Name": "Update Service", "ServiceEnabled": true, "Status": healthy(),
		"FirmwareInventory": link(path + "/FirmwareInventory"),
		"Actions": doc{"#UpdateService.SimpleUpdate": doc{
			"target": path + "/Actions/UpdateService.SimpleUpdate",
			"TransferProtocol@Redfish.AllowableValues": []string{"HTTP", "HTTPS"},
		}},
	})
}

func listFirmware(*BMC, request) reply {
	path := root + "/UpdateService/FirmwareInventory"
	return ok(collection(path, "SoftwareInventoryCollection", []string{path + "/BIOS", path + "/BMC"}))
}

func showFirmware(_ *BMC, r request) reply {
	versions := map[string]string{"BIOS": biosVersion, "BMC": firmwareOne}
	version, known := versions[r.PathValue("id")]
	if !known {
		return notFound(r.URL.Path)
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#SoftwareInventory.v1_8_0.SoftwareInventory", "Id": r.PathValue("id"),
		"Name": r.PathValue("id") + " firmware", "Version": version, "Updateable": true, "Status": healthy(),
	})
}

// simpleUpdate fetches the image and takes it for installed.
func simpleUpdate(b *BMC, r request) reply {
	source, _ := r.body["ImageURI"].(string)
	if source == "" {
		return refuse(http.StatusBadRequest, "Base.1.12.ActionParameterMissing", "ImageURI is required.")
	}
	return b.accept(max(1, b.cfg.Quirks.AsyncTasks), func() reply {
		path, err := b.download(source)
		if err != nil {
			return refuse(http.StatusBadRequest, "Base.1.12.GeneralError", "The image could not be fetched: %s.", err)
		}
		b.discard(path)
		return noContent()
	})
}
