package runner

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"ferrule/hardware"
	"ferrule/metal"
)

// deployTasks put an instance on the node. Ironic: conductor/deployments.do_node_deploy.
func (r *run) deployTasks() ([]task, error) {
	if err := r.deploySteps(); err != nil {
		return nil, err
	}
	finish := append(append(stepsTasks(), r.consoleTasks(true)...), finishWith(metal.EventDone))
	if !r.usesRamdisk() {
		return finish, nil
	}
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(keyWholeDisk, true)
	if r.node.InstanceInfo.Text("image_type") == "" {
		r.node.InstanceInfo = r.node.InstanceInfo.With("image_type", "whole-disk")
	}
	r.node.InstanceInfo = r.node.InstanceInfo.With("image_url", r.node.InstanceInfo.Text("image_source"))
	return append([]task{setPower(metal.PowerOff)}, finish...), nil
}

// deploySteps makes the list as far as it is known before the ramdisk has told
// its steps: a user's step wins over a template's, and both over the driver's.
// What no driver offers waits for the ramdisk, or is passed over where none is
// booted, as Ironic does.
func (r *run) deploySteps() error {
	var args struct {
		User     []metal.Step `json:"deploy_steps"`
		Template []metal.Step `json:"template_steps"`
	}
	if err := r.op.Args.Decode(&args); err != nil {
		return fmt.Errorf("read the deploy steps: %w", err)
	}
	wanted, more := metal.Overridden(args.Template, args.User)
	wanted = append(wanted, more...)
	steps, rest := metal.Overridden(r.driverSteps(kindDeploy), wanted)
	r.plan.Steps = r.ordered(without(steps, r.Settings.ForbiddenDeploySteps))
	r.plan.Asked = without(rest, r.Settings.ForbiddenDeploySteps)
	if len(r.plan.Steps) == 0 {
		return errors.New("no deploy step is left to run")
	}
	return nil
}

// mergeDeploySteps puts the ramdisk's steps behind the one under way, by
// priority. A deployment keeps its own steps where both have one.
func (r *run) mergeDeploySteps(inBand []metal.Step) error {
	own := r.driverSteps(kindDeploy)
	inBand = slices.DeleteFunc(inBand, func(s metal.Step) bool { _, ok := findStep(own, s); return ok })
	inBand, unknown := metal.Overridden(inBand, r.plan.Asked)
	r.plan.Asked = nil
	for _, s := range unknown {
		if s.Priority > 0 {
			return fmt.Errorf("neither the node's drivers nor its ramdisk offer the deploy step %s", s.Name())
		}
	}
	for _, s := range inBand {
		if err := s.CheckArgs(s.Args); err != nil {
			return err
		}
	}
	tail := append(slices.Clone(r.plan.Steps[r.plan.Index+1:]), without(inBand, r.Settings.ForbiddenDeploySteps)...)
	r.plan.Steps = append(slices.Clone(r.plan.Steps[:r.plan.Index+1]), r.ordered(tail)...)
	return nil
}

// deployStep is what a step of the direct deploy interface consists of.
func (r *run) deployStep(s metal.Step) []task {
	if !r.usesRamdisk() {
		return nil
	}
	switch s.Step {
	case "deploy":
		return r.enterRamdisk(kindDeploy)
	case "write_image":
		return agentStep()
	case "prepare_instance_boot":
		return r.prepareInstanceBoot()
	case "tear_down_agent":
		// The disks are flushed before the machine goes off, by itself or not.
		return []task{
			ramdiskTask("standby.sync", nil),
			ramdiskTask(powerOffCall, nil).tried(),
			setPower(metal.PowerOff),
		}
	case "switch_to_tenant_network":
		return nil
	case "boot_instance":
		return append(r.ejectTasks(), task{Do: "boot-fields"}, setPower(metal.PowerOn))
	}
	return nil
}

// prepareInstanceBoot makes the machine start from the disk just written. The
// ramdisk mends the EFI boot entries; a BIOS machine has none.
func (r *run) prepareInstanceBoot() []task {
	var tasks []task
	if r.node.BootMode == nil || *r.node.BootMode != "bios" { // Ironic's default is UEFI
		tasks = append(tasks,
			ramdiskTask("standby.get_partition_uuids", nil).tried(),
			ramdiskTask("image.install_bootloader", map[string]any{
				"root_uuid": nil, "efi_system_part_uuid": nil, "prep_boot_part_uuid": nil, "target_boot_mode": "uefi",
			}))
	}
	once := r.node.DriverInfo.Text("force_persistent_boot_device") == "Never"
	return append(tasks, bootDevice("disk", !once))
}

// imageInfo is the argument of write_image (ipa-protocol, "write_image").
func (r *run) imageInfo(img hardware.Image) map[string]any {
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
