package runner

import (
	"encoding/base64"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

var mediaActions = map[string]action{
	"publish":     {start: startPublish, result: published},
	"retract":     {start: startRetract},
	"new-token":   {start: newToken},
	"boot-fields": {start: forgetBoot},
	"boot-again":  {start: bootAgain},
}

// Keys of driver_internal_info that belong to the ramdisk under way
// (Ironic: conductor/utils.wipe_internal_info_on_power_off and friends).
const (
	keyAgentURL     = "agent_url"
	keyAgentCA      = "agent_verify_ca"
	keyToken        = "agent_secret_token"
	keyPregenerated = "agent_secret_token_pregenerated"
	keyWholeDisk    = "is_whole_disk_image"
)

// usesRamdisk reports whether the node's deploy interface works through the
// ramdisk.
func (r *run) usesRamdisk() bool {
	return r.node.DeployInterface == "direct" || r.node.DeployInterface == "autodetect"
}

func (r *run) virtualMedia() bool { return r.node.BootInterface == "redfish-virtual-media" }

// bootRamdisk boots the ramdisk with the given kernel parameters. Off first:
// media and boot device are set on a machine that stands still.
func (r *run) bootRamdisk(params ...string) []task {
	r.plan.Ramdisk = true
	tasks := []task{setPower(metal.PowerOff), {Do: "boot-fields"}}
	if r.virtualMedia() {
		tasks = append(tasks,
			task{Do: "eject"}.tried(),
			task{Do: "new-token"},
			task{Do: "publish", Args: metal.ToJSON(params)},
			task{Do: "insert"},
			bootDevice("cdrom", false))
	} else {
		tasks = append(tasks, bootDevice("pxe", false).tried())
	}
	return append(tasks, setPower(metal.PowerOn))
}

// rebootRamdisk starts the machine anew, into the same ramdisk: its media are in
// and its token holds, only the boot device is for once.
func (r *run) rebootRamdisk() []task {
	tasks := []task{setPower(metal.PowerOff), {Do: "boot-again"}}
	if r.virtualMedia() {
		tasks = append(tasks, bootDevice("cdrom", false))
	} else {
		tasks = append(tasks, bootDevice("pxe", false).tried())
	}
	return append(append(tasks, setPower(metal.PowerOn)), r.waitForCall()...)
}

func bootAgain(r *run, _ task) (verdict, error) {
	r.forgetRamdisk(false)
	return done, nil
}

// leaveRamdisk ends the ramdisk: off, nothing inserted, nothing published.
// Used where a failure is cleaned up, so nothing in it may fail.
func (r *run) leaveRamdisk() []task {
	if !r.usesRamdisk() && metal.Verb(r.op.Verb) != metal.VerbInspect {
		return nil
	}
	tasks := []task{setPower(metal.PowerOff).tried()}
	for _, t := range r.ejectTasks() {
		tasks = append(tasks, t.tried())
	}
	return tasks
}

func (r *run) ejectTasks() []task {
	if !r.virtualMedia() {
		return nil
	}
	return []task{task{Do: "eject"}.tried(), {Do: "retract"}}
}

func startPublish(r *run, t task) (verdict, error) {
	var params []string
	_ = t.Args.Decode(&params)
	ramdisk, err := r.ramdisk()
	if err != nil {
		return stay, err
	}
	r.plan.Media = "boot-" + r.node.UUID + ".iso"
	args := metal.PublishMediaArgs{
		Name: r.plan.Media, KernelURL: ramdisk.Kernel, RamdiskURL: ramdisk.Initrd,
		BootloaderURL: ramdisk.Bootloader, ISOURL: ramdisk.ISO,
		KernelParams: r.kernelLine(params),
	}
	if !r.node.NetworkData.Empty() {
		args.Files = map[string]string{
			"openstack/latest/network_data.json": base64.StdEncoding.EncodeToString([]byte(r.node.NetworkData)),
		}
		args.Label = "config-2" // where the ramdisk looks for it
	}
	if r.node.BootMode != nil {
		args.BootMode = *r.node.BootMode
	}
	return r.command(metal.Request{Operation: metal.MediaPublish, Secrets: r.tokenParam()}, args, 0)
}

// kernelLine is the configured append line, or the node's own in its place,
// and what the operation adds.
func (r *run) kernelLine(params []string) []string {
	words := r.Settings.KernelParams
	for _, info := range []metal.JSON{r.node.InstanceInfo, r.node.DriverInfo} {
		if own, ok := info.Lookup("kernel_append_params").(string); ok {
			own = strings.ReplaceAll(own, "%default%", strings.Join(r.Settings.KernelParams, " "))
			words = strings.Fields(own)
			break
		}
	}
	words = append(append([]string{}, words...), "boot_method=vmedia")
	if r.op.RequestID != "" {
		words = append(words, "ipa-global-request-id="+r.op.RequestID)
	}
	return append(words, params...)
}

// ramdisk is the one that the operation boots.
func (r *run) ramdisk() (hardware.Ramdisk, error) {
	if metal.Verb(r.op.Verb) == metal.VerbRescue {
		return r.Catalogue.RescueRamdiskFor(r.node)
	}
	return r.Catalogue.RamdiskFor(r.node)
}

func published(r *run, _ task, res metal.CommandResult) (verdict, error) {
	var p metal.PublishMediaResult
	if !res.OK {
		return stay, refusal{res}
	}
	if err := metal.JSON(res.ResultJSON).Decode(&p); err != nil {
		return stay, err
	}
	r.plan.URL = p.URL
	return done, nil
}

func startRetract(r *run, _ task) (verdict, error) {
	return r.command(metal.Request{Operation: metal.MediaRetract},
		metal.RetractMediaArgs{Name: "boot-" + r.node.UUID + ".iso"}, 0)
}

// newToken makes the token that the ramdisk will find on its kernel line. A
// medium that was made elsewhere takes none: its ramdisk is told one when it
// looks itself up (Ironic: prepare_ramdisk's can_provide_config).
func newToken(r *run, _ task) (verdict, error) {
	if ramdisk, err := r.Catalogue.RamdiskFor(r.node); err != nil || ramdisk.ISO != "" {
		return done, err
	}
	ref := metal.RamdiskToken(r.node.UUID).Ref()
	r.out.NewTokens = append(r.out.NewTokens, ref)
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(keyToken, ref).With(keyPregenerated, true)
	return done, nil
}

func forgetBoot(r *run, _ task) (verdict, error) {
	r.forgetRamdisk(true)
	return done, nil
}

// forgetRamdisk wipes what is known of a ramdisk that is gone; a token made in
// advance outlives a mere power cycle.
func (r *run) forgetRamdisk(all bool) {
	info := r.node.DriverInternalInfo
	info = info.Without(keyAgentURL, keyAgentCA, "agent_cached_clean_steps", "agent_cached_deploy_steps", "hardware_manager_version")
	if pre, _ := info.Lookup(keyPregenerated).(bool); all || !pre {
		if info.Text(keyToken) != "" {
			r.dropSecrets(metal.RamdiskToken(r.node.UUID))
		}
		info = info.Without(keyToken, keyPregenerated)
	}
	r.node.DriverInternalInfo = info
	r.plan.Beat = false
}

// tokenParam are the secret parameters of what needs the ramdisk's token, and
// no other secret. It is always the node's own one that is sent.
func (r *run) tokenParam() map[string]string {
	params := map[string]string{}
	if r.node.DriverInternalInfo.Text(keyToken) != "" {
		params[metal.TokenParam] = metal.RamdiskToken(r.node.UUID).Ref()
	}
	return params
}

// ramdiskCall is the skeleton of a call to the ramdisk's API.
func (r *run) ramdiskCall(command string, params map[string]any, wait bool) (metal.Request, metal.RamdiskCallArgs, error) {
	info := r.node.DriverInternalInfo
	req := metal.Request{Operation: metal.RamdiskCall, Secrets: r.tokenParam()}
	args := metal.RamdiskCallArgs{
		AgentURL: info.Text(keyAgentURL), VerifyCA: info.Text(keyAgentCA), Command: command, Params: params, Wait: wait,
	}
	if args.AgentURL == "" {
		return req, args, errNoAgentURL
	}
	return req, args, nil
}
