package runner

import (
	"encoding/base64"
	"strings"

	"ferrule/hardware"
	"ferrule/metal"
)

var mediaActions = map[string]action{
	hardware.TaskPublishMedia:   {start: startPublish, result: published},
	hardware.TaskRetractMedia:   {start: startRetract},
	hardware.TaskNewToken:       {start: newToken},
	hardware.TaskForgetRamdisk:  {start: forgetBoot},
	hardware.TaskEnterRamdisk:   {start: enterRamdisk},
	hardware.TaskRestartRamdisk: {start: bootAgain},
}

// enterRamdisk notes that the operation runs a ramdisk from here on.
func enterRamdisk(r *run, _ task) (verdict, error) {
	r.plan.Ramdisk = true
	return done, nil
}

func bootAgain(r *run, _ task) (verdict, error) {
	r.forgetRamdisk(false)
	return done, nil
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
	if ramdisk := verbPlans[metal.Verb(r.op.Verb)].ramdisk; ramdisk != nil {
		return ramdisk(r.machine())
	}
	return r.machine().DeployRamdisk()
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
	if ramdisk, err := r.machine().DeployRamdisk(); err != nil || ramdisk.ISO != "" {
		return done, err
	}
	ref := metal.RamdiskToken(r.node.UUID).Ref()
	r.out.NewTokens = append(r.out.NewTokens, ref)
	r.node.DriverInternalInfo = r.node.DriverInternalInfo.With(metal.InfoToken, ref).With(metal.InfoPregenerated, true)
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
	info = info.Without(metal.InfoAgentURL, metal.InfoAgentCA, metal.InfoCachedClean, metal.InfoCachedDeploy, metal.InfoManagerVersion)
	if pre, _ := info.Lookup(metal.InfoPregenerated).(bool); all || !pre {
		if info.Text(metal.InfoToken) != "" {
			r.dropSecrets(metal.RamdiskToken(r.node.UUID))
		}
		info = info.Without(metal.InfoToken, metal.InfoPregenerated)
	}
	r.node.DriverInternalInfo = info
	r.plan.Beat = false
}

// tokenParam are the secret parameters of what needs the ramdisk's token, and
// no other secret. It is always the node's own one that is sent.
func (r *run) tokenParam() map[string]string {
	params := map[string]string{}
	if r.node.DriverInternalInfo.Text(metal.InfoToken) != "" {
		params[metal.TokenParam] = metal.RamdiskToken(r.node.UUID).Ref()
	}
	return params
}

// ramdiskCall is the skeleton of a call to the ramdisk's API.
func (r *run) ramdiskCall(command string, params map[string]any, wait bool) (metal.Request, metal.RamdiskCallArgs, error) {
	info := r.node.DriverInternalInfo
	req := metal.Request{Operation: metal.RamdiskCall, Secrets: r.tokenParam()}
	args := metal.RamdiskCallArgs{
		AgentURL: info.Text(metal.InfoAgentURL), VerifyCA: info.Text(metal.InfoAgentCA), Command: command, Params: params, Wait: wait,
	}
	if args.AgentURL == "" {
		return req, args, errNoAgentURL
	}
	return req, args, nil
}
