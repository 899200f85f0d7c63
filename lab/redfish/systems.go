package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"ferrule/lab/machine"
	"ferrule/lab/ramdisk"
)

const biosVersion = "2.4.1"

func (b *BMC) systemPaths() []string {
	var paths []string
	for _, s := range b.cfg.Systems {
		paths = append(paths, root+"/Systems/"+s.ID)
	}
	return paths
}

// target is the machine that a request's path names, nil for none; a path
// under a manager names the first.
func (b *BMC) target(r request) *System {
	if m := r.PathValue("manager"); m != "" {
		if m != managerID {
			return nil
		}
		return &b.cfg.Systems[0]
	}
	for i := range b.cfg.Systems {
		if b.cfg.Systems[i].ID == r.PathValue("system") {
			return &b.cfg.Systems[i]
		}
	}
	return nil
}

func listSystems(b *BMC, _ request) reply {
	return ok(collection(root+"/Systems", "ComputerSystemCollection", b.systemPaths()))
}

func showSystem(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	path := root + "/Systems/" + s.ID
	body := doc{
		"@odata.id": path, "@odata.type": "#ComputerSystem.v1_20_0.ComputerSystem", "Id": s.ID, "Name": "System",
		"Boot":    b.bootDoc(b.shownBoot(s)),
		"Actions": doc{"#ComputerSystem.Reset": b.resetDoc(path)},
	}
	switch b.cfg.Quirks.PowerState {
	case "missing":
	case "null":
		body["PowerState"] = nil
	default:
		body["PowerState"] = string(s.Machine.Power())
	}
	if b.cfg.Quirks.BootSettings {
		body["@Redfish.Settings"] = doc{
			"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(path + "/Settings"),
		}
	}
	if !b.cfg.Quirks.Minimal {
		b.describe(body, path, s)
	}
	return ok(body)
}

// describe adds what a minimal system leaves out.
func (b *BMC) describe(body doc, path string, s *System) {
	h := s.Machine.Hardware()
	b.mu.Lock()
	led := b.systems[s.ID].led
	b.mu.Unlock()
	index := slices.IndexFunc(b.cfg.Systems, func(o System) bool { return o.ID == s.ID })
	for k, v := range (doc{
		"SystemType": "Physical", "UUID": h.Serial, "Manufacturer": h.Manufacturer, "Model": h.Product,
		"SerialNumber": h.Serial, "AssetTag": "", "HostName": h.Hostname, "IndicatorLED": led,
		"BiosVersion": biosVersion, "Status": healthy(),
		"ProcessorSummary": doc{"Count": 1, "LogicalProcessorCount": h.CPUs, "CoreCount": h.CPUs, "Model": h.CPUModel, "Status": healthy()},
		"MemorySummary":    doc{"TotalSystemMemoryGiB": float64(h.MemoryMiB) / 1024, "Status": healthy()},
		"Links": doc{
			"ManagedBy": links([]string{root + "/Managers/" + managerID}),
			"Chassis":   links([]string{root + "/Chassis/" + chassisID(index)}),
		},
	}) {
		body[k] = v
	}
	for _, part := range []string{"SecureBoot", "Bios", "EthernetInterfaces", "Processors", "Memory", "SimpleStorage", "Storage"} {
		body[part] = link(path + "/" + part)
	}
	if b.cfg.Quirks.MediaOn != "manager" {
		body["VirtualMedia"] = link(path + "/VirtualMedia")
	}
	if b.cfg.Quirks.BadLeaves {
		body["AssetTag"] = 17
		body["MemorySummary"].(doc)["TotalSystemMemoryGiB"] = fmt.Sprint(h.MemoryMiB / 1024)
	}
}

// resetTypes is what the system offers.
func (b *BMC) resetTypes() []string {
	if offered := b.cfg.Quirks.ResetTypes; len(offered) > 0 {
		return offered
	}
	var types []string
	for _, t := range machine.ResetTypes() {
		types = append(types, string(t))
	}
	return types
}

func (b *BMC) resetDoc(path string) doc {
	d := doc{"target": path + "/Actions/ComputerSystem.Reset"}
	if b.cfg.Quirks.ActionInfo {
		d["@Redfish.ActionInfo"] = path + "/ResetActionInfo"
	} else {
		d["ResetType@Redfish.AllowableValues"] = b.resetTypes()
	}
	return d
}

func showActionInfo(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#ActionInfo.v1_3_0.ActionInfo", "Id": "ResetActionInfo",
		"Name":       "Reset Action Info",
		"Parameters": []doc{{"Name": "ResetType", "Required": true, "DataType": "String", "AllowableValues": b.resetTypes()}},
	})
}

func resetSystem(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	kind, given := r.body["ResetType"].(string)
	if !given {
		return refuse(http.StatusBadRequest, "Base.1.12.ActionParameterMissing", "The action requires the parameter ResetType.")
	}
	if !slices.Contains(b.resetTypes(), kind) {
		b.noteAction(s.ID, kind, false)
		return refuse(http.StatusBadRequest, "Base.1.12.ActionParameterNotSupported", "The value %s of ResetType is not supported.", kind)
	}
	if refusal, good := b.mayReset(s, kind); !good {
		b.noteAction(s.ID, kind, false)
		return refusal
	}
	b.noteAction(s.ID, kind, true)
	return b.perform(func() reply {
		b.applyPending(s)
		if err := s.Machine.Reset(machine.ResetType(kind)); err != nil {
			return refuse(http.StatusBadRequest, "Base.1.12.GeneralError", "%s.", err)
		}
		return noContent()
	})
}

func (b *BMC) mayReset(s *System, kind string) (reply, bool) {
	if b.Faults().RefuseReset {
		return refuse(http.StatusInternalServerError, "Base.1.12.InternalError", "The request failed because of an internal error."), false
	}
	status := b.cfg.Quirks.SameState
	if status == 0 {
		return reply{}, true
	}
	on := s.Machine.Power() == machine.On
	turnsOn := kind == string(machine.ResetOn) || kind == string(machine.ResetForceOn)
	if on != turnsOn {
		return reply{}, true
	}
	return refuse(status, "Base.1.12.ActionParameterValueConflict",
		"The machine is in the state that %s asks for already.", kind), false
}

func listNICs(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	var paths []string
	for _, n := range b.nics(s) {
		paths = append(paths, r.URL.Path+"/"+n.Name)
	}
	return ok(collection(r.URL.Path, "EthernetInterfaceCollection", paths))
}

// nics is the machine's own, with odd ones beside them where the BMC has such.
func (b *BMC) nics(s *System) []ramdisk.NIC {
	own := s.Machine.Hardware().NICs
	if !b.cfg.Quirks.OddMACs {
		return own
	}
	odd := []ramdisk.NIC{
		{Name: "FC.1", MAC: "21:00:F4:E9:00:00:00:01"}, {Name: "Empty.1", MAC: ""}, {Name: "Null.1", MAC: nullMAC},
		{Name: "IB.1", MAC: "80:00:02:08:FE:80:00:00:00:00:00:00:00:02:C9:03:00:00:00:01"},
	}
	for _, n := range own {
		odd = append(odd, ramdisk.NIC{Name: n.Name, MAC: strings.ToUpper(n.MAC)})
	}
	return odd
}

// nullMAC stands for a MAC shown as null.
const nullMAC = "null"

func showNIC(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	for _, n := range b.nics(s) {
		if n.Name != r.PathValue("id") {
			continue
		}
		var mac any = n.MAC
		if n.MAC == nullMAC {
			mac = nil
		}
		return ok(doc{
			"@odata.id": r.URL.Path, "@odata.type": "#EthernetInterface.v1_9_0.EthernetInterface", "Id": n.Name,
			"Name": n.Name, "MACAddress": mac, "PermanentMACAddress": mac, "SpeedMbps": 25000, "LinkStatus": "LinkUp",
			"InterfaceEnabled": true, "Status": healthy(),
		})
	}
	return notFound(r.URL.Path)
}

func listProcessors(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "ProcessorCollection", []string{r.URL.Path + "/CPU1"}))
}

func showProcessor(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil || r.PathValue("id") != "CPU1" {
		return notFound(r.URL.Path)
	}
	h := s.Machine.Hardware()
	architecture, instructions := "x86", "x86-64"
	if h.Architecture == "aarch64" {
		architecture, instructions = "ARM", "ARM-A64"
	}
	body := doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Processor.v1_18_0.Processor", "Id": "CPU1", "Name": "Processor 1",
		"Socket": "1", "ProcessorType": "CPU", "ProcessorArchitecture": architecture, "InstructionSet": instructions,
		"Manufacturer": h.Manufacturer, "Model": h.CPUModel, "MaxSpeedMHz": h.CPUMHz, "TotalCores": h.CPUs,
		"TotalThreads": h.CPUs, "Status": healthy(),
	}
	if b.cfg.Quirks.BadLeaves {
		body["MaxSpeedMHz"] = ""
		body["Socket"] = 1
	}
	return ok(body)
}

func listMemory(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "MemoryCollection", []string{r.URL.Path + "/DIMM1"}))
}

func showMemory(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil || r.PathValue("id") != "DIMM1" {
		return notFound(r.URL.Path)
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Memory.v1_17_0.Memory", "Id": "DIMM1", "Name": "DIMM 1",
		"MemoryType": "DRAM", "MemoryDeviceType": "DDR5", "CapacityMiB": s.Machine.Hardware().MemoryMiB,
		"OperatingSpeedMhz": 4800, "Status": healthy(),
	})
}
