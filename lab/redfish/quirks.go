package redfish

import (
	"time"
)

// Quirks are the habits of one BMC. The zero value is a well-behaved one with
// virtual media on both system and manager.
type Quirks struct {
	// ActionInfo leaves the list of reset types out of the system and puts it
	// in the document that the action links to.
	ActionInfo bool `json:"actionInfo,omitempty"`
	// ResetTypes are the ones offered; empty means all.
	ResetTypes []string `json:"resetTypes,omitempty"`
	// SameState is the status that answers a reset to the state that the
	// machine is in already (409 or 400); 0 accepts it.
	SameState int `json:"sameState,omitempty"`
	// PowerState is how the property is shown: "" as it is, "missing", "null".
	PowerState string `json:"powerState,omitempty"`
	// BootSettings makes the boot properties writable only on the settings
	// resource; the system shows them after the next reset.
	BootSettings bool `json:"bootSettings,omitempty"`
	// NoBootMode leaves BootSourceOverrideMode out and refuses it.
	NoBootMode bool `json:"noBootMode,omitempty"`
	// ForgetsBoot accepts a boot override and does not keep it.
	ForgetsBoot bool `json:"forgetsBoot,omitempty"`
	// PostRefusals is how many boot changes after each power-on are refused
	// because the machine is in POST.
	PostRefusals int `json:"postRefusals,omitempty"`
	// NeedsETag is the status that answers a PATCH without the right If-Match
	// (412, 428 or 429); 0 asks for none.
	NeedsETag int `json:"needsETag,omitempty"`
	// GzipETag compresses where the client offers it, and then shows an ETag
	// that no PATCH may use. Together with NeedsETag.
	GzipETag bool `json:"gzipETag,omitempty"`
	// SessionLimit is how many sessions may be open; 0 is no limit.
	SessionLimit int `json:"sessionLimit,omitempty"`
	// NoSessions has no SessionService at all.
	NoSessions bool `json:"noSessions,omitempty"`
	// MediaOn is where the virtual media are: "" on both, "system", "manager".
	MediaOn string `json:"mediaOn,omitempty"`
	// InsertImageOnly refuses any other property than Image in InsertMedia.
	InsertImageOnly bool `json:"insertImageOnly,omitempty"`
	// MediaByPatch has no insert and eject actions: Image and Inserted are
	// patched.
	MediaByPatch bool `json:"mediaByPatch,omitempty"`
	// StrictEject refuses to eject nothing, and any eject without a body.
	StrictEject bool `json:"strictEject,omitempty"`
	// BadLeaves shows values of another type than the schema's.
	BadLeaves bool `json:"badLeaves,omitempty"`
	// Minimal leaves out all of the system but power, boot and reset.
	Minimal bool `json:"minimal,omitempty"`
	// OddMACs adds interfaces whose MAC is none, in upper case, or empty.
	OddMACs bool `json:"oddMACs,omitempty"`
	// NotReady are answers to the first requests, one each.
	NotReady []Answer `json:"notReady,omitempty"`
	// AsyncTasks answers every action and account change with a task whose
	// monitor says "running" that many times; 0 acts at once.
	AsyncTasks int `json:"asyncTasks,omitempty"`
	// TaskInBody puts the task's address into the body, not the header.
	TaskInBody bool `json:"taskInBody,omitempty"`
	// AccountSlots has fixed slots 1 to 16 and refuses new accounts.
	AccountSlots bool `json:"accountSlots,omitempty"`
	// FactoryPassword refuses everything but changing the own account's
	// password until that was done.
	FactoryPassword bool `json:"factoryPassword,omitempty"`
	// DropsSessions ends every session when a password changes.
	DropsSessions bool `json:"dropsSessions,omitempty"`
	// ApplyTime is how BIOS settings treat the apply-time annotation: ""
	// ignored, "required", "refused".
	ApplyTime string `json:"applyTime,omitempty"`
}

// Answer is a failure that a BMC gives while it is not ready.
type Answer struct {
	Status     int           `json:"status"`
	MessageID  string        `json:"messageId,omitempty"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// Faults are what is wrong with a BMC at the moment.
type Faults struct {
	RefusePassword    bool `json:"refusePassword,omitempty"`
	Hang              bool `json:"hang,omitempty"` // takes requests, answers none
	RefuseConnections bool `json:"refuseConnections,omitempty"`
	OtherCertificate  bool `json:"otherCertificate,omitempty"`
	Status            int  `json:"status,omitempty"` // answers every request with it
	RefuseMedia       bool `json:"refuseMedia,omitempty"`
	RefuseReset       bool `json:"refuseReset,omitempty"`
}
