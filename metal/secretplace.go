package metal

import (
	"slices"
	"strings"
)

// SecretOwner is the kind of object that keeps secrets.
type SecretOwner string

// The kinds of owner, as refs write them.
const (
	NodeSecrets           SecretOwner = "nodes"
	DeployTemplateSecrets SecretOwner = "deploy_templates"
	RunbookSecrets        SecretOwner = "runbooks"
	InspectionRuleSecrets SecretOwner = "inspection_rules"
)

var secretOwners = []SecretOwner{NodeSecrets, DeployTemplateSecrets, RunbookSecrets, InspectionRuleSecrets}

// SecretPlace is where a secret is kept: its owner and the path within the
// owner. It is the whole meaning of a ref: whoever opens, sends or deletes a
// secret asks whether its place lies within the place that he works on.
type SecretPlace struct {
	Owner SecretOwner
	UUID  string
	Path  string // segments with slashes between; "" is all that the owner keeps
}

// The parts of a node that keep secrets.
const (
	inDriverInfo   = "driver_info"
	inInstanceInfo = "instance_info"
	inOperations   = "operations"
	inVolumes      = "volume_targets"
	atRamdiskToken = "driver_internal_info/agent_secret_token"
)

// DriverInfoSecrets is the place of the secrets in a node's driver_info.
func DriverInfoSecrets(nodeUUID string) SecretPlace {
	return SecretPlace{NodeSecrets, nodeUUID, inDriverInfo}
}

// InstanceInfoSecrets is the place of the secrets in a node's instance_info.
func InstanceInfoSecrets(nodeUUID string) SecretPlace {
	return SecretPlace{NodeSecrets, nodeUUID, inInstanceInfo}
}

// RamdiskToken is the place of the token of a node's ramdisk.
func RamdiskToken(nodeUUID string) SecretPlace {
	return SecretPlace{NodeSecrets, nodeUUID, atRamdiskToken}
}

// VolumeTargetSecrets is the place of the secrets of a volume target, which
// belong to its node.
func VolumeTargetSecrets(nodeUUID, targetUUID string) SecretPlace {
	return SecretPlace{NodeSecrets, nodeUUID, inVolumes + "/" + targetUUID}
}

// Secrets is the place of the secrets in the operation's arguments. They are
// deleted when the operation ends.
func (o *OperationRecord) Secrets() SecretPlace {
	return SecretPlace{NodeSecrets, o.NodeUUID, inOperations + "/" + o.ID}
}

// Below is the place of a member of p.
func (p SecretPlace) Below(path string) SecretPlace {
	if p.Path != "" {
		path = p.Path + "/" + path
	}
	return SecretPlace{p.Owner, p.UUID, path}
}

// Holds reports whether ref names a secret at p or below it.
func (p SecretPlace) Holds(ref string) bool {
	at, ok := ParseSecretRef(ref)
	return ok && at.within(p)
}

func (p SecretPlace) within(outer SecretPlace) bool {
	if p.Owner != outer.Owner || p.UUID != outer.UUID {
		return false
	}
	return outer.Path == "" || p.Path == outer.Path || strings.HasPrefix(p.Path, outer.Path+"/")
}

// refPrefix begins the refs of all sealed secrets.
const refPrefix = "secret://tenant/"

// Ref is the text by which a row or a command names the secret at p.
func (p SecretPlace) Ref() string { return refPrefix + string(p.Owner) + "/" + p.UUID + "/" + p.Path }

// ParseSecretRef is the place that a ref names.
func ParseSecretRef(ref string) (SecretPlace, bool) {
	rest, ok := strings.CutPrefix(ref, refPrefix)
	if !ok {
		return SecretPlace{}, false
	}
	parts := strings.SplitN(rest, "/", 3)
	if len(parts) < 3 || parts[1] == "" || parts[2] == "" || !slices.Contains(secretOwners, SecretOwner(parts[0])) {
		return SecretPlace{}, false
	}
	return SecretPlace{SecretOwner(parts[0]), parts[1], parts[2]}, true
}

// refSchemes are what texts in the form of a ref begin with. Only secret:// is
// built in.
var refSchemes = []string{"secret://", "vault://", "env://"}

// IsSecretRef reports whether s has the form of a ref. That says nothing about
// whose secret it is: see SecretPlace.Holds.
func IsSecretRef(s string) bool {
	return slices.ContainsFunc(refSchemes, func(scheme string) bool { return strings.HasPrefix(s, scheme) })
}

// RefuseRef is the error for a text in the form of a ref that comes from
// outside, nil for any other text. Nobody outside knows a ref: answers show
// Masked in its place.
func RefuseRef(s string) error {
	switch {
	case !IsSecretRef(s):
		return nil
	case strings.HasPrefix(s, "secret://"):
		return Errorf(Forbidden, "A text that begins with secret:// is a reference to a sealed secret, and is not accepted from outside. "+
			"Give the secret itself, or %s to keep the one that is stored.", Masked)
	}
	scheme, _, _ := strings.Cut(s, "://")
	return Errorf(Forbidden, "References that begin with %s:// are not built in yet. Give the secret itself.", scheme)
}

// RefuseRefs looks for such texts anywhere in v, among the keys of objects too.
func RefuseRefs(v any) error {
	switch t := v.(type) {
	case string:
		return RefuseRef(t)
	case []any:
		for _, item := range t {
			if err := RefuseRefs(item); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range t {
			if err := RefuseRef(key); err != nil {
				return err
			}
			if err := RefuseRefs(item); err != nil {
				return err
			}
		}
	}
	return nil
}

// SecretName is what a version of a secret is sealed as: the authenticated data
// of its encryption. A sealed value that was moved to another row, or kept from
// another version, does not open. A BMC's password is sealed for that BMC too
// (hardware.Binding); of others sealedFor is "".
func SecretName(ref string, version int64, sealedFor string) string {
	return string(ToJSON([]any{"secret", ref, version, sealedFor}))
}
