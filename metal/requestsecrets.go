package metal

import (
	"maps"
	"slices"
	"strings"
)

// The secret parameters, as pointers into an operation's arguments.
const (
	TokenParam          = "/token"
	NewCredentialsParam = "/newCredentials"
	RamdiskParams       = "/params" // those of a ramdisk call are below
	ConfigDriveParam    = RamdiskParams + "/step/args/configdrive"
)

// secretParams says which operations take secrets in their arguments: in which
// member, and from which parts of the node. Nothing of driver_info goes to a
// ramdisk.
var secretParams = map[Operation]map[string][]string{
	MediaPublish:     {TokenParam: {atRamdiskToken}},
	RamdiskCall:      {TokenParam: {atRamdiskToken}, RamdiskParams: {inInstanceInfo, inOperations}},
	CredentialRotate: {NewCredentialsParam: {inDriverInfo}},
}

// SecretRefs are the refs that the request names: those of its typed fields,
// each once. A text elsewhere in it is a text, whatever it looks like.
func (r *Request) SecretRefs() []string {
	refs := slices.Collect(maps.Values(r.Secrets))
	if r.CredentialsRef != "" {
		refs = append(refs, r.CredentialsRef)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// CheckSecrets refuses a request that names a secret of anything but its node,
// or of a part of the node from which the operation takes none.
func (r *Request) CheckSecrets(nodeUUID string) error {
	if r.CredentialsRef != "" && !DriverInfoSecrets(nodeUUID).Holds(r.CredentialsRef) {
		return foreignSecret(nodeUUID, "the password of its BMC")
	}
	for pointer, ref := range r.Secrets {
		member, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		own := slices.ContainsFunc(secretParams[r.Operation]["/"+member], func(part string) bool {
			return SecretPlace{NodeSecrets, nodeUUID, part}.Holds(ref)
		})
		if !own {
			return foreignSecret(nodeUUID, "the parameter "+pointer)
		}
	}
	return nil
}

// foreignSecret does not quote what stands there: it may be a password in the
// place of a ref.
func foreignSecret(nodeUUID, what string) error {
	return Errorf(Invalid, "Node %s has a reference as %s that is not to a secret of its own which may be used there. "+
		"The database was changed from outside; write the value again.", nodeUUID, what)
}
