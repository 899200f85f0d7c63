package redfish

import "net/http"

const (
	sessionsPath = root + "/SessionService/Sessions"
	systemPath   = root + "/Systems/{system}"
	managerPath  = root + "/Managers/{manager}"
	chassisPath  = root + "/Chassis/{chassis}"
)

type methods map[string]handler

func get(h handler) methods { return methods{http.MethodGet: h} }

func post(h handler) methods { return methods{http.MethodPost: h} }

// routeTable is every resource by its pattern.
func routeTable() map[string]methods {
	table := map[string]methods{
		root:                                           get(serviceRoot),
		root + "/SessionService":                       get(sessionService),
		sessionsPath:                                   {http.MethodGet: listSessions, http.MethodPost: openSession},
		sessionsPath + "/{id}":                         {http.MethodGet: showSession, http.MethodDelete: closeSession},
		root + "/AccountService":                       get(accountService),
		root + "/AccountService/Accounts":              {http.MethodGet: listAccounts, http.MethodPost: addAccount},
		accountPath:                                    {http.MethodGet: showAccount, http.MethodPatch: patchAccount, http.MethodDelete: removeAccount},
		root + "/TaskService/Tasks/{id}":               get(showTask),
		root + "/TaskService/Monitors/{id}":            get(monitorTask),
		root + "/UpdateService":                        get(updateService),
		root + "/UpdateService/FirmwareInventory":      get(listFirmware),
		root + "/UpdateService/FirmwareInventory/{id}": get(showFirmware),
		root + "/UpdateService/Actions/UpdateService.SimpleUpdate": post(simpleUpdate),
		root + "/Systems":                      get(listSystems),
		root + "/Managers":                     get(listManagers),
		root + "/Chassis":                      get(listChassis),
		managerPath:                            get(showManager),
		managerPath + "/Actions/Manager.Reset": post(resetManager),
		chassisPath:                            {http.MethodGet: showChassis, http.MethodPatch: patchIndicator},
		chassisPath + "/Thermal":               get(showThermal),
		chassisPath + "/Power":                 get(showPower),
	}
	addSystemRoutes(table)
	for _, owner := range []string{systemPath, managerPath} {
		table[owner+"/VirtualMedia"] = get(listMedia)
		table[owner+"/VirtualMedia/{media}"] = methods{http.MethodGet: showMedia, http.MethodPatch: patchMedia}
		table[owner+"/VirtualMedia/{media}/Actions/VirtualMedia.InsertMedia"] = post(insertMedia)
		table[owner+"/VirtualMedia/{media}/Actions/VirtualMedia.EjectMedia"] = post(ejectMedia)
	}
	return table
}

func addSystemRoutes(table map[string]methods) {
	for path, m := range map[string]methods{
		"":                              {http.MethodGet: showSystem, http.MethodPatch: patchSystem},
		"/Settings":                     {http.MethodGet: showBootSettings, http.MethodPatch: patchBootSettings},
		"/Actions/ComputerSystem.Reset": post(resetSystem),
		"/ResetActionInfo":              get(showActionInfo),
		"/SecureBoot":                   {http.MethodGet: showSecureBoot, http.MethodPatch: patchSecureBoot},
		"/Bios":                         get(showBios),
		"/Bios/Settings":                {http.MethodGet: showBiosSettings, http.MethodPatch: patchBiosSettings},
		"/Bios/Actions/Bios.ResetBios":  post(resetBios),
		"/EthernetInterfaces":           get(listNICs),
		"/EthernetInterfaces/{id}":      get(showNIC),
		"/Processors":                   get(listProcessors),
		"/Processors/{id}":              get(showProcessor),
		"/Memory":                       get(listMemory),
		"/Memory/{id}":                  get(showMemory),
		"/SimpleStorage":                get(listSimpleStorage),
		"/SimpleStorage/{id}":           get(showSimpleStorage),
		"/Storage":                      get(listStorage),
		"/Storage/{id}":                 get(showStorage),
		"/Storage/{id}/Drives/{drive}":  get(showDrive),
		"/Storage/{id}/Volumes":         get(listVolumes),
	} {
		table[systemPath+path] = m
	}
}

// hidden says whether a quirk leaves a resource out.
func (b *BMC) hidden(pattern string) bool {
	q := b.cfg.Quirks
	switch pattern {
	case root + "/SessionService", sessionsPath, sessionsPath + "/{id}":
		return q.NoSessions
	case systemPath + "/Settings":
		return !q.BootSettings
	case systemPath + "/ResetActionInfo":
		return !q.ActionInfo
	case systemPath + "/VirtualMedia", systemPath + "/VirtualMedia/{media}":
		return q.MediaOn == "manager"
	case managerPath + "/VirtualMedia", managerPath + "/VirtualMedia/{media}":
		return q.MediaOn == "system"
	case systemPath, systemPath + "/Actions/ComputerSystem.Reset":
		return false
	case systemPath + "/VirtualMedia/{media}/Actions/VirtualMedia.InsertMedia",
		systemPath + "/VirtualMedia/{media}/Actions/VirtualMedia.EjectMedia":
		return q.MediaOn == "manager" || q.MediaByPatch
	case managerPath + "/VirtualMedia/{media}/Actions/VirtualMedia.InsertMedia",
		managerPath + "/VirtualMedia/{media}/Actions/VirtualMedia.EjectMedia":
		return q.MediaOn == "system" || q.MediaByPatch
	}
	return q.Minimal && len(pattern) > len(systemPath) && pattern[:len(systemPath)] == systemPath
}
