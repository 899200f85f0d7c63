package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ferrule/hardware"
	"ferrule/metal"
)

// Actions are the operations of metal.AxisAction: what the hardware is told
// behind an answer that has been given already. Their outcome is in the node:
// the field that was changed, or last_error.
var actionActions = map[string]action{
	hardware.TaskSetBootMode:   {start: startBootMode, result: bootModeSet},
	hardware.TaskSetSecureBoot: {start: startSecureBoot, result: secureBootSet},
	hardware.TaskSetConsole:    {start: startConsole, result: consoleSet},
	hardware.TaskTurnConsole:   {start: turnConsole},
	hardware.TaskPublishImage:  {start: startPublishImage, result: published},
	hardware.TaskAttachMedia:   {start: startAttachMedia},
	hardware.TaskDetachMedia:   {start: startDetachMedia},
	hardware.TaskRetractImage:  {start: startRetractImage},
	hardware.TaskVendorMethod:  {start: startVendor, result: vendorDone, judges: true},
	hardware.TaskActionDone:    {start: actionDone},
}

func (r *run) actionTasks() ([]task, error) {
	var tasks []task
	switch metal.Action(r.op.Verb) {
	case metal.ActionBootMode:
		tasks = []task{{Do: hardware.TaskSetBootMode}}
	case metal.ActionSecureBoot:
		tasks = []task{{Do: hardware.TaskSetSecureBoot}}
	case metal.ActionConsole:
		tasks = []task{{Do: hardware.TaskSetConsole}}
	case metal.ActionAttachMedia:
		tasks = r.attachMediaTasks()
	case metal.ActionDetachMedia:
		tasks = r.detachMediaTasks()
	case metal.ActionVendor:
		tasks = []task{{Do: hardware.TaskVendorMethod}}
	case metal.ActionBootInstance:
		tasks = r.machine().BootInstance()
	default:
		return nil, fmt.Errorf("the action %q is unknown", r.op.Verb)
	}
	return append(tasks, task{Do: hardware.TaskActionDone}), nil
}

func (r *run) readArgs(into any) error {
	if err := r.op.Args.Decode(into); err != nil {
		return fmt.Errorf("read the arguments of %s: %w", r.op.Verb, err)
	}
	return nil
}

// manage issues an operation of the node's management interface, if that has it.
func (r *run) manage(op metal.Operation, args any) (verdict, error) {
	if err := r.machine().Manages(op); err != nil {
		return stay, err
	}
	return r.bmc(op, args, 0)
}

func startBootMode(r *run, _ task) (verdict, error) {
	var args metal.BootModeArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	return r.manage(metal.BootModeSet, args)
}

func bootModeSet(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var args metal.BootModeArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	r.node.BootMode = &args.Mode
	return done, nil
}

func startSecureBoot(r *run, _ task) (verdict, error) {
	var args metal.SecureBootArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	return r.manage(metal.SecureBootSet, args)
}

func secureBootSet(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var args metal.SecureBootArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	r.node.SecureBoot = &args.Enabled
	return done, nil
}

func startConsole(r *run, _ task) (verdict, error) {
	var args metal.ConsoleArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	if r.machine().Row(metal.ConsoleInterface).Absent {
		return stay, hardware.Unsupported(r.node, "console")
	}
	if args.Enabled {
		return r.bmc(metal.ConsoleStart, nil, 0)
	}
	return r.bmc(metal.ConsoleStop, nil, 0)
}

func consoleSet(r *run, _ task, res metal.CommandResult) (verdict, error) {
	if !res.OK {
		return stay, refusal{res}
	}
	var args metal.ConsoleArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	r.node.ConsoleEnabled = args.Enabled
	return done, nil
}

func turnConsole(r *run, t task) (verdict, error) {
	var start bool
	_ = t.Args.Decode(&start) // written above
	if start {
		return r.bmc(metal.ConsoleStart, nil, 0)
	}
	return r.bmc(metal.ConsoleStop, nil, 0)
}

// imageName is the name under which the site serves the image in a device.
func (r *run) imageName(device string) string { return "vmedia-" + device + "-" + r.node.UUID }

// attachMediaTasks: an image that the BMC is not to fetch from its own place
// is served by the site. File shares are the BMC's own business.
func (r *run) attachMediaTasks() []task {
	var args metal.AttachMediaArgs
	_ = r.op.Args.Decode(&args) // read again, and judged, by the tasks
	if args.DownloadSource != "http" && strings.HasPrefix(args.ImageURL, "http") {
		return []task{{Do: hardware.TaskPublishImage}, {Do: hardware.TaskAttachMedia}}
	}
	r.plan.URL = args.ImageURL
	return []task{{Do: hardware.TaskAttachMedia}}
}

func (r *run) detachMediaTasks() []task {
	var args metal.EjectMediaArgs
	_ = r.op.Args.Decode(&args)
	tasks := []task{{Do: hardware.TaskDetachMedia}}
	for _, device := range metal.MediaDevices() {
		if len(args.Devices) == 0 || slices.Contains(args.Devices, device) {
			tasks = append(tasks, task{Do: hardware.TaskRetractImage, Args: metal.ToJSON(device)}.Tried())
		}
	}
	return tasks
}

func startPublishImage(r *run, _ task) (verdict, error) {
	var args metal.AttachMediaArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	return r.command(metal.Request{Operation: metal.MediaPublish},
		metal.PublishMediaArgs{Name: r.imageName(args.Device), ISOURL: args.ImageURL}, 0)
}

func startRetractImage(r *run, t task) (verdict, error) {
	var device string
	_ = t.Args.Decode(&device)
	return r.command(metal.Request{Operation: metal.MediaRetract}, metal.RetractMediaArgs{Name: r.imageName(device)}, 0)
}

func startAttachMedia(r *run, _ task) (verdict, error) {
	var args metal.AttachMediaArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	if err := r.machine().Manages(metal.VirtualMediaInsert); err != nil {
		return stay, err
	}
	return r.bmc(metal.VirtualMediaInsert, metal.InsertMediaArgs{Device: args.Device, ImageURL: r.plan.URL}, 2*time.Minute)
}

func startDetachMedia(r *run, _ task) (verdict, error) {
	var args metal.EjectMediaArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	return r.manage(metal.VirtualMediaEject, args)
}

// startVendor calls a vendor method; some are operations that exist under
// another name.
func startVendor(r *run, _ task) (verdict, error) {
	var args metal.VendorCallArgs
	if err := r.readArgs(&args); err != nil {
		return stay, err
	}
	method, err := r.machine().VendorMethod(args)
	if err != nil {
		return stay, err
	}
	if method.Operation != nil {
		op, opArgs := method.Operation(args.Arguments)
		return r.manage(op, opArgs)
	}
	return r.bmc(metal.VendorCall, args, 0)
}

// vendorDone judges for itself: nobody knows whether a vendor method may be
// called twice.
func vendorDone(_ *run, _ task, res metal.CommandResult) (verdict, error) {
	if res.ErrorCode == metal.CodeOutcomeUnknown {
		return stay, errors.New("the agent was cut off while it called the method, which is not called again; see what the hardware shows")
	}
	if !res.OK {
		return stay, refusal{res}
	}
	return done, nil
}

func actionDone(r *run, _ task) (verdict, error) {
	if metal.Action(r.op.Verb) != metal.ActionBootInstance {
		r.node.LastError = nil // else it says that the service was aborted
	}
	r.close()
	return done, nil
}

// actionFailed ends an action that failed, with Ironic's words for each.
func (r *run) actionFailed(err error) {
	var text, eventType string
	switch metal.Action(r.op.Verb) {
	case metal.ActionBootMode:
		text = fmt.Sprintf("Failed to change boot mode to '%s': %s", r.op.Args.Text("mode"), err)
	case metal.ActionSecureBoot:
		text = fmt.Sprintf("Failed to change secure_boot state to '%v': %s", r.op.Args.Lookup("enabled"), err)
	case metal.ActionConsole:
		word := "disabling"
		if on, _ := r.op.Args.Lookup("enabled").(bool); on {
			word = "enabling"
		}
		text, eventType = fmt.Sprintf("Error %s the console on node %s. Reason: %s", word, r.node.UUID, err), "console"
	case metal.ActionAttachMedia:
		text = fmt.Sprintf("Could not attach device %s to node %s: %s", r.op.Args.Text("device"), r.node.UUID, err)
	case metal.ActionBootInstance:
		text = fmt.Sprintf("Failed to boot the instance of node %s after its service was aborted: %s", r.node.UUID, err)
	case metal.ActionDetachMedia:
		text = fmt.Sprintf("Could not detach virtual media from node %s: %s", r.node.UUID, err)
	default:
		text = fmt.Sprintf("The vendor method %s failed: %s", r.op.Args.Text("method"), err)
	}
	if eventType == "" {
		eventType = "UNKNOWN"
	}
	r.setLastError(text)
	r.history("ERROR", eventType, text)
	r.close()
}
