package redfish

import "net/http"

const applyTimeKey = "@Redfish.SettingsApplyTime"

func initialBios() map[string]any {
	return map[string]any{"NumCores": float64(0), "ProcVirtualization": "Enabled", "BootMode": "Uefi", "QuietBoot": true}
}

func biosDoc(path, id string, attributes map[string]any) doc {
	copied := doc{}
	for k, v := range attributes {
		copied[k] = v
	}
	return doc{
		"@odata.id": path, "@odata.type": "#Bios.v1_2_0.Bios", "Id": id, "Name": "BIOS",
		"AttributeRegistry": "LabBios.v1_0_0", "Attributes": copied,
	}
}

func showBios(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	body := biosDoc(r.URL.Path, "Bios", b.systems[s.ID].bios)
	settings := doc{"@odata.type": "#Settings.v1_3_5.Settings", "SettingsObject": link(r.URL.Path + "/Settings")}
	if b.cfg.Quirks.ApplyTime == "required" {
		settings["SupportedApplyTimes"] = []string{"OnReset", "Immediate"}
	}
	body["@Redfish.Settings"] = settings
	body["Actions"] = doc{"#Bios.ResetBios": doc{"target": r.URL.Path + "/Actions/Bios.ResetBios"}}
	return ok(body)
}

func showBiosSettings(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return ok(biosDoc(r.URL.Path, "Settings", b.systems[s.ID].pendingBios))
}

// patchBiosSettings keeps the attributes until the next reset.
func patchBiosSettings(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	_, annotated := r.body[applyTimeKey]
	switch {
	case b.cfg.Quirks.ApplyTime == "required" && !annotated:
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyMissing", "The property %s is required.", applyTimeKey)
	case b.cfg.Quirks.ApplyTime == "refused" && annotated:
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The property %s is unknown.", applyTimeKey)
	}
	attributes, given := r.body["Attributes"].(doc)
	if !given {
		return refuse(http.StatusBadRequest, "Base.1.12.PropertyMissing", "Attributes is required.")
	}
	if refusal, good := checkBiosAttributes(attributes); !good {
		return refusal
	}
	return b.perform(func() reply {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.systems[s.ID].pendingBios = attributes
		return noContent()
	})
}

// checkBiosAttributes wants known names and the types of the values there are.
func checkBiosAttributes(attributes doc) (reply, bool) {
	known := initialBios()
	for name, value := range attributes {
		have, exists := known[name]
		if !exists {
			return refuse(http.StatusBadRequest, "Base.1.12.PropertyUnknown", "The attribute %s is unknown.", name), false
		}
		same := false
		switch have.(type) {
		case float64:
			_, same = value.(float64)
		case string:
			_, same = value.(string)
		case bool:
			_, same = value.(bool)
		}
		if !same {
			return refuse(http.StatusBadRequest, "Base.1.12.PropertyValueTypeError", "The attribute %s has a value of the wrong type.", name), false
		}
	}
	return reply{}, true
}

func resetBios(b *BMC, r request) reply {
	s := b.target(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.systems[s.ID].pendingBios = initialBios()
	return noContent()
}
