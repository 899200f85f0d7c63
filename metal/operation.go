package metal

import "strings"

// Concern is one side of a driver (design, "Words").
type Concern string

// The ten concerns.
const (
	Power        Concern = "power"
	Management   Concern = "management"
	VirtualMedia Concern = "virtual-media"
	Inspect      Concern = "inspect"
	Firmware     Concern = "firmware"
	BIOS         Concern = "bios"
	RAID         Concern = "raid"
	Console      Concern = "console"
	Boot         Concern = "boot"
	Deploy       Concern = "deploy"
)

// Operation is "concern.verb", the unit of work that an agent carries out.
// Operations that are the agent's own and reach no BMC (media, ramdisk, boot
// services) use the kind's first word in place of a concern.
type Operation string

// Operations by name.
const (
	PowerGet           Operation = "power.getPower"
	PowerSet           Operation = "power.setPower"
	InspectHardware    Operation = "inspect.inspect"
	InspectMACs        Operation = "inspect.macs"
	FirmwareComponents Operation = "firmware.components"
	FirmwareUpdate     Operation = "firmware.update"
	BIOSGet            Operation = "bios.getSettings"
	BIOSApply          Operation = "bios.applySettings"
	BIOSReset          Operation = "bios.factoryReset"
	RAIDGet            Operation = "raid.getLayout"
	RAIDApply          Operation = "raid.applyLayout"
	RAIDClear          Operation = "raid.clear"
	BootDeviceGet      Operation = "management.getBootDevice"
	BootDeviceSet      Operation = "management.setBootDevice"
	BootModeGet        Operation = "management.getBootMode"
	BootModeSet        Operation = "management.setBootMode"
	SecureBootGet      Operation = "management.getSecureBoot"
	SecureBootSet      Operation = "management.setSecureBoot"
	IndicatorsGet      Operation = "management.getIndicators"
	IndicatorSet       Operation = "management.setIndicator"
	SensorsGet         Operation = "management.getSensors"
	NMIInject          Operation = "management.injectNMI"
	CredentialRotate   Operation = "management.rotateCredential"
	VirtualMediaStatus Operation = "virtual-media.status"
	VirtualMediaInsert Operation = "virtual-media.insert"
	VirtualMediaEject  Operation = "virtual-media.eject"
	VendorCall         Operation = "vendor.call"
	VendorRead         Operation = "vendor.read"
	ConsoleStart       Operation = "console.start"
	ConsoleStop        Operation = "console.stop"
	MediaPublish       Operation = "media.publish"
	MediaRetract       Operation = "media.retract"
	BootEntriesSet     Operation = "boot.entries"
	BootCleanUp        Operation = "boot.cleanUp"
	RamdiskCall        Operation = "ramdisk.call"
	SiteHTTPProxy      Operation = "site.httpProxy"
)

// Concern is the part of the operation's name before the dot.
func (o Operation) Concern() Concern {
	c, _, _ := strings.Cut(string(o), ".")
	return Concern(c)
}

// OfAgent reports whether the operation is the agent's own and reaches no BMC.
func (o Operation) OfAgent() bool {
	switch o {
	case MediaPublish, MediaRetract, BootEntriesSet, BootCleanUp, RamdiskCall, SiteHTTPProxy:
		return true
	}
	return false
}

// Kind groups operations under one right: a signature or an approval covers a
// kind, and an operation outside its command's kind never runs.
type Kind string

// The kinds of command.
const (
	KindQuery        Kind = "bmc.query"
	KindWatch        Kind = "bmc.watch"
	KindBoot         Kind = "bmc.boot"
	KindPower        Kind = "bmc.power"
	KindNMI          Kind = "bmc.nmi"
	KindVendor       Kind = "bmc.vendor"
	KindIndicator    Kind = "bmc.indicator"
	KindRotate       Kind = "bmc.rotate"
	KindFirmware     Kind = "bmc.firmware"
	KindStorage      Kind = "bmc.storage"
	KindConsole      Kind = "bmc.console"
	KindMediaPublish Kind = "media.publish"
	KindMediaRetract Kind = "media.retract"
	KindBootEntries  Kind = "boot.entries"
	KindBootCleanUp  Kind = "boot.cleanUp"
	KindRamdisk      Kind = "ramdisk.call"
	KindHTTPProxy    Kind = "site.httpProxy"
)

// Resend says whether a command whose outcome is unknown may be sent again.
type Resend string

// The rules for sending again.
const (
	ResendFreely    Resend = "yes"          // idempotent
	ResendAfterLook Resend = "after a look" // read the BMC first
	ResendNever     Resend = "never"
)

// KindInfo is one row of the table of kinds (design, section 10).
type KindInfo struct {
	Kind        Kind
	Operations  []Operation
	Destructive bool // an approver quorum, where there are approvers, must cover it
	Resend      Resend
}

// Kinds is the whole table: nothing else runs.
func Kinds() []KindInfo { return kinds }

var kinds = []KindInfo{
	{KindQuery, []Operation{
		PowerGet, InspectHardware, InspectMACs, FirmwareComponents, BIOSGet, RAIDGet, BootDeviceGet,
		BootModeGet, SecureBootGet, IndicatorsGet, SensorsGet, VirtualMediaStatus, VendorRead,
	}, false, ResendFreely},
	{KindWatch, []Operation{PowerGet}, false, ResendFreely},
	{KindBoot, []Operation{
		BootDeviceSet, BootModeSet, SecureBootSet, VirtualMediaInsert, VirtualMediaEject, BIOSApply, BIOSReset,
	}, true, ResendAfterLook},
	{KindPower, []Operation{PowerSet}, true, ResendAfterLook},
	{KindNMI, []Operation{NMIInject}, true, ResendNever},
	{KindVendor, []Operation{VendorCall}, true, ResendNever},
	{KindIndicator, []Operation{IndicatorSet}, false, ResendFreely},
	{KindRotate, []Operation{CredentialRotate}, true, ResendNever},
	{KindFirmware, []Operation{FirmwareUpdate}, true, ResendNever},
	{KindStorage, []Operation{RAIDApply, RAIDClear}, true, ResendNever},
	{KindConsole, []Operation{ConsoleStart, ConsoleStop}, false, ResendFreely},
	{KindMediaPublish, []Operation{MediaPublish}, false, ResendFreely},
	{KindMediaRetract, []Operation{MediaRetract}, false, ResendFreely},
	{KindBootEntries, []Operation{BootEntriesSet}, true, ResendFreely},
	{KindBootCleanUp, []Operation{BootCleanUp}, true, ResendFreely},
	{KindRamdisk, []Operation{RamdiskCall}, false, ResendAfterLook},
	{KindHTTPProxy, []Operation{SiteHTTPProxy}, true, ResendNever},
}

// KindOf is the row of kind k.
func KindOf(k Kind) (KindInfo, bool) {
	for _, info := range kinds {
		if info.Kind == k {
			return info, true
		}
	}
	return KindInfo{}, false
}

// Covers reports whether op belongs to the kind.
func (k KindInfo) Covers(op Operation) bool {
	for _, o := range k.Operations {
		if o == op {
			return true
		}
	}
	return false
}

// CommandKind is the kind under which op runs on behalf of a verb. The power
// watch is the one caller that uses another kind (bmc.watch) for its reads.
func CommandKind(op Operation) (Kind, bool) {
	for _, info := range kinds {
		if info.Kind != KindWatch && info.Covers(op) {
			return info.Kind, true
		}
	}
	return "", false
}
