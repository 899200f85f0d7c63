package hardware

import (
	"path"
	"strings"

	"ferrule/metal"
)

// direct has the ramdisk download the image and write it (conductor reference,
// "active / rebuild").
var direct = Interface{
	Type: metal.DeployInterface, Name: "direct", Ramdisk: true,
	Properties: deployProperties,
	Needs:      []metal.Operation{metal.RamdiskCall},
	Steps:      directSteps,
	Validate:   validateDirect,
	Deploy:     directDeploy,
}

// autodetect is direct, the one interface that it could choose.
var autodetect = Interface{
	Type: metal.DeployInterface, Name: "autodetect", Ramdisk: true,
	Properties: deployProperties,
	Needs:      []metal.Operation{metal.RamdiskCall},
	Steps:      directSteps,
	Validate:   validateDirect,
	Deploy:     directDeploy,
}

var deployProperties = []Property{
	{Key: "image_download_source", Help: "http, local or swift: all the same here, as the ramdisk downloads the image from its URL."},
	{Key: "force_persistent_boot_device", Help: "Never: a deployed machine is to start from its disk once, and then as its firmware will; else always."},
	{Key: "image_http_proxy", Help: "Proxy for http downloads of the image."},
	{Key: "image_https_proxy", Help: "Proxy for https downloads of the image."},
	{Key: "image_no_proxy", Help: "Hosts that are reached without the proxy."},
	{Key: "agent_verify_ca", Help: "true, false, or the path of a CA bundle with which the ramdisk's own API is verified."},
	{Key: "deploy_forces_oob_reboot", Help: "Restart through the BMC at the end of a deployment, not through the ramdisk."},
}

// deployStep is a step of a deploy interface.
func deployStep(name string, priority int, tasks func(m Machine, s metal.Step) []Task) Step {
	return Step{
		Step:  metal.Step{Interface: string(metal.DeployInterface), Step: name, Priority: priority},
		Kinds: []metal.StepKind{metal.DeploySteps}, Tasks: tasks,
	}
}

var directSteps = []Step{
	deployStep("deploy", 100, func(m Machine, _ metal.Step) []Task { return m.EnterRamdisk(metal.DeploySteps) }),
	{
		Step:  metal.Step{Interface: string(metal.DeployInterface), Step: "write_image", Priority: 80},
		Kinds: []metal.StepKind{metal.DeploySteps},
		Tasks: func(Machine, metal.Step) []Task { return AgentStep() },
		Args:  writeImageArgs, ConfigDrive: true,
	},
	deployStep("prepare_instance_boot", 60, prepareInstanceBoot),
	deployStep("tear_down_agent", 40, tearDownAgent),
	deployStep("switch_to_tenant_network", 30, nil),
	deployStep("boot_instance", 20, func(m Machine, _ metal.Step) []Task {
		return append(m.LeaveMedia(), Task{Do: TaskForgetRamdisk}, SetPower(metal.PowerOn))
	}),
}

var directDeploy = Deploy{
	Prepare: func(n *metal.Node) {
		noteWholeDisk(n)
		if n.InstanceInfo.Text("image_type") == "" {
			n.InstanceInfo = n.InstanceInfo.With("image_type", "whole-disk")
		}
		n.InstanceInfo = n.InstanceInfo.With("image_url", n.InstanceInfo.Text("image_source"))
	},
	Adopt: noteWholeDisk,
	Begin: []Task{SetPower(metal.PowerOff)},
	TearDown: func(m Machine) []Task {
		return append([]Task{SetPower(metal.PowerOff)}, m.LeaveMedia()...)
	},
}

func noteWholeDisk(n *metal.Node) {
	n.DriverInternalInfo = n.DriverInternalInfo.With(metal.InfoWholeDisk, true)
}

// tearDownAgent flushes the disks before the machine goes off, by itself or not.
func tearDownAgent(Machine, metal.Step) []Task {
	return []Task{
		CallRamdisk("standby.sync", nil),
		CallRamdisk(RamdiskPowerOff, nil).Tried(),
		SetPower(metal.PowerOff),
	}
}

// prepareInstanceBoot makes the machine start from the disk just written. The
// ramdisk mends the EFI boot entries; a BIOS machine has none.
func prepareInstanceBoot(m Machine, _ metal.Step) []Task {
	var tasks []Task
	if n := m.Node; n.BootMode == nil || *n.BootMode != "bios" { // Ironic's default is UEFI
		tasks = append(tasks,
			CallRamdisk("standby.get_partition_uuids", nil).Tried(),
			CallRamdisk("image.install_bootloader", map[string]any{
				"root_uuid": nil, "efi_system_part_uuid": nil, "prep_boot_part_uuid": nil, "target_boot_mode": "uefi",
			}))
	}
	once := m.Node.DriverInfo.Text("force_persistent_boot_device") == "Never"
	return append(tasks, SetBootDevice("disk", !once))
}

// validateDirect checks the boot interface, and that there is an image with a
// checksum (conductor, section 12).
func validateDirect(m Machine) error {
	if err := m.Validate(metal.BootInterface); err != nil {
		return err
	}
	_, err := ImageOf(m.Node)
	return err
}

// Image is what the direct deploy interface writes.
type Image struct {
	Source      string
	DiskFormat  string // "" where unknown
	Checksum    string
	OSHashAlgo  string
	OSHashValue string
}

// ImageOf reads the image from the node's instance_info.
func ImageOf(n *metal.Node) (Image, error) {
	info := n.InstanceInfo.Object()
	text := func(key string) string { s, _ := info[key].(string); return s }
	img := Image{
		Source: text("image_source"), DiskFormat: text("image_disk_format"), Checksum: text("image_checksum"),
		OSHashAlgo: text("image_os_hash_algo"), OSHashValue: text("image_os_hash_value"),
	}
	if img.Source == "" {
		return img, metal.Errorf(metal.Invalid, "Cannot validate image information for node %s because one or more parameters are missing from its instance_info. Missing are: ['image_source']", n.Label())
	}
	if !strings.HasPrefix(img.Source, "http://") && !strings.HasPrefix(img.Source, "https://") {
		return img, metal.Errorf(metal.Invalid, "The image_source %q of node %s is not an http or https URL, the only sort that can be written.", metal.HideUserinfo(img.Source), n.Label())
	}
	if t := text("image_type"); t == "partition" || text("kernel") != "" && t == "" {
		return img, metal.Errorf(metal.Invalid, "Node %s asks for a partition image, and only whole-disk images can be written: leave out instance_info/kernel and set image_type to whole-disk.", n.Label())
	}
	if img.Checksum == "" && (img.OSHashAlgo == "" || img.OSHashValue == "") {
		return img, metal.Errorf(metal.Invalid, "Cannot validate image information for node %s: image_checksum, or image_os_hash_algo and image_os_hash_value together, must be given in its instance_info for an http image.", n.Label())
	}
	return img, nil
}

// writeImageArgs are the arguments of write_image (ipa-protocol, "write_image").
func writeImageArgs(m Machine) (map[string]any, error) {
	img, err := ImageOf(m.Node)
	if err != nil {
		return nil, err
	}
	return map[string]any{"image_info": imageInfo(m.Node, img), "configdrive": nil}, nil
}

func imageInfo(n *metal.Node, img Image) map[string]any {
	info := map[string]any{
		"id": path.Base(img.Source), "urls": []string{img.Source}, "disk_format": nullable(img.DiskFormat),
		"container_format": "bare", "stream_raw_images": true, "node_uuid": n.UUID,
		"checksum": nullable(img.Checksum),
	}
	if img.OSHashAlgo != "" {
		info["os_hash_algo"], info["os_hash_value"] = img.OSHashAlgo, img.OSHashValue
	}
	proxies := map[string]any{}
	for scheme, key := range map[string]string{"http": "image_http_proxy", "https": "image_https_proxy"} {
		if p := n.DriverInfo.Text(key); p != "" {
			proxies[scheme] = p
		}
	}
	if len(proxies) > 0 {
		info["proxies"] = proxies
		if no := n.DriverInfo.Text("image_no_proxy"); no != "" {
			info["no_proxy"] = no
		}
	}
	return info
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}
