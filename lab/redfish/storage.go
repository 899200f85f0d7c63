package redfish

const (
	controllerID = "1"
	driveID      = "Disk0"
)

func (b *BMC) storageOwner(r request) *System {
	if id := r.PathValue("id"); id != "" && id != controllerID {
		return nil
	}
	return b.target(r)
}

func listSimpleStorage(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "SimpleStorageCollection", []string{r.URL.Path + "/" + controllerID}))
}

func showSimpleStorage(b *BMC, r request) reply {
	s := b.storageOwner(r)
	if s == nil {
		return notFound(r.URL.Path)
	}
	h := s.Machine.Hardware()
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#SimpleStorage.v1_3_1.SimpleStorage", "Id": controllerID,
		"Name": "Simple Storage", "Status": healthy(),
		"Devices": []doc{{"Name": driveID, "Manufacturer": h.Manufacturer, "Model": h.DiskModel, "CapacityBytes": h.DiskBytes, "Status": healthy()}},
	})
}

func listStorage(b *BMC, r request) reply {
	if b.target(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "StorageCollection", []string{r.URL.Path + "/" + controllerID}))
}

func showStorage(b *BMC, r request) reply {
	if b.storageOwner(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Storage.v1_15_0.Storage", "Id": controllerID, "Name": "Storage",
		"Status":             healthy(),
		"StorageControllers": []doc{{"@odata.id": r.URL.Path + "#/StorageControllers/0", "MemberId": "0", "Name": "AHCI", "Status": healthy()}},
		"Drives":             links([]string{r.URL.Path + "/Drives/" + driveID}),
		"Drives@odata.count": 1,
		"Volumes":            link(r.URL.Path + "/Volumes"),
	})
}

func showDrive(b *BMC, r request) reply {
	s := b.storageOwner(r)
	if s == nil || r.PathValue("drive") != driveID {
		return notFound(r.URL.Path)
	}
	h := s.Machine.Hardware()
	return ok(doc{
		"@odata.id": r.URL.Path, "@odata.type": "#Drive.v1_18_0.Drive", "Id": driveID, "Name": "Disk 0",
		"Manufacturer": h.Manufacturer, "Model": h.DiskModel, "SerialNumber": h.Serial + "-D0",
		"CapacityBytes": h.DiskBytes, "MediaType": "SSD", "Protocol": "SATA", "Status": healthy(),
	})
}

func listVolumes(b *BMC, r request) reply {
	if b.storageOwner(r) == nil {
		return notFound(r.URL.Path)
	}
	return ok(collection(r.URL.Path, "VolumeCollection", nil))
}
