package runner

import (
	"path"

	"ferrule/metal"
)

// deployTasks put an instance on the node. Ironic: conductor/deployments.do_node_deploy.
func (r *run) deployTasks() []task {
	r.plan.Steps = driverSteps(r.node, kindDeploy)
	if r.node.DeployInterface == "fake" {
		return []task{{Do: "steps"}, finishWith(metal.EventDone)}
	}
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(keyWholeDisk, true)
	if r.node.InstanceInfo.Text("image_type") == "" {
		r.node.InstanceInfo = r.node.InstanceInfo.With("image_type", "whole-disk")
	}
	r.node.InstanceInfo = r.node.InstanceInfo.With("image_url", r.node.InstanceInfo.Text("image_source"))
	return []task{setPower(metal.PowerOff), {Do: "steps"}, finishWith(metal.EventDone)}
}

// deploySteps are the steps of the direct deploy interface, highest priority
// first (conductor reference, "active / rebuild").
var deploySteps = []metal.Step{
	{Interface: "deploy", Step: "deploy", Priority: 100},
	{Interface: "deploy", Step: "write_image", Priority: 80},
	{Interface: "deploy", Step: "prepare_instance_boot", Priority: 60},
	{Interface: "deploy", Step: "tear_down_agent", Priority: 40},
	{Interface: "deploy", Step: "switch_to_tenant_network", Priority: 30},
	{Interface: "deploy", Step: "boot_instance", Priority: 20},
}

// deployStep is what a step of the direct deploy interface consists of.
func (r *run) deployStep(s metal.Step) ([]task, bool) {
	if s.Interface != "deploy" || r.node.DeployInterface == "fake" {
		return nil, false
	}
	switch s.Step {
	case "deploy":
		return r.enterRamdisk(kindDeploy), true
	case "write_image":
		return []task{{Do: "agent-step"}, fire(metal.EventWait), {Do: "agent-poll"}, fire(metal.EventResume)}, true
	case "prepare_instance_boot":
		return r.prepareInstanceBoot(), true
	case "tear_down_agent":
		// The disks are flushed before the machine goes off, by itself or not.
		return []task{
			ramdiskTask("standby.sync", nil),
			ramdiskTask(powerOffCall, nil).tried(),
			setPower(metal.PowerOff),
		}, true
	case "switch_to_tenant_network":
		return nil, true
	case "boot_instance":
		return append(r.ejectTasks(), task{Do: "boot-fields"}, setPower(metal.PowerOn)), true
	}
	return nil, false
}

// prepareInstanceBoot makes the machine start from the disk just written. The
// ramdisk mends the EFI boot entries; a BIOS machine has none.
func (r *run) prepareInstanceBoot() []task {
	var tasks []task
	if r.node.BootMode != nil && *r.node.BootMode == "uefi" {
		tasks = append(tasks,
			ramdiskTask("standby.get_partition_uuids", nil).tried(),
			ramdiskTask("image.install_bootloader", map[string]any{
				"root_uuid": nil, "efi_system_part_uuid": nil, "prep_boot_part_uuid": nil, "target_boot_mode": "uefi",
			}).tried())
	}
	return append(tasks, bootDevice("disk", true))
}

// imageInfo is the argument of write_image (ipa-protocol, "write_image").
func (r *run) imageInfo(img metal.Image) map[string]any {
	info := map[string]any{
		"id": path.Base(img.Source), "urls": []string{img.Source}, "disk_format": nullable(img.DiskFormat),
		"container_format": "bare", "stream_raw_images": true, "node_uuid": r.node.UUID,
		"checksum": nullable(img.Checksum),
	}
	if img.OSHashAlgo != "" {
		info["os_hash_algo"], info["os_hash_value"] = img.OSHashAlgo, img.OSHashValue
	}
	driver := r.node.DriverInfo
	proxies := map[string]any{}
	for scheme, key := range map[string]string{"http": "image_http_proxy", "https": "image_https_proxy"} {
		if p := driver.Text(key); p != "" {
			proxies[scheme] = p
		}
	}
	if len(proxies) > 0 {
		info["proxies"] = proxies
		if no := driver.Text("image_no_proxy"); no != "" {
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
