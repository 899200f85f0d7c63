package metal

import (
	"slices"
	"strings"
)

// Masked is what the API shows in place of a secret.
const Masked = "******"

// secretWords are the words that make a key secret wherever they occur in it,
// in any case (oslo.utils: strutils._SANITIZE_KEYS). A word with another in it
// adds nothing.
var secretWords = withoutLonger(
	"adminpass", "admin_pass", "password", "admin_password", "auth_token", "new_pass", "auth_password",
	"secret_uuid", "secret", "sys_pswd", "token", "configdrive", "chappassword", "encrypted_key",
	"private_key", "fernetkey", "sslkey", "passphrase", "cephclusterfsid", "octaviaheartbeatkey",
	"rabbitcookie", "cephmanilaclientkey", "pacemakerremoteauthkey", "designaterndckey",
	"cephadminkey", "heatauthencryptionkey", "cephclientkey", "keystonecredential",
	"barbicansimplecryptokek", "cephrgwkey", "swifthashsuffix", "migrationsshkey", "cephmdskey",
	"cephmonkey", "chapsecret",
)

func withoutLonger(words ...string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return slices.ContainsFunc(words, func(part string) bool { return part != w && strings.Contains(w, part) })
	})
}

// IsSecretKey reports whether the value under key is a credential.
func IsSecretKey(key string) bool {
	key = strings.ToLower(key)
	for _, w := range secretWords {
		if strings.Contains(key, w) {
			return true
		}
	}
	return false
}

// driverInfoSecrets are further keys that are secret in driver_info only
// (Ironic: api/controllers/v1/node.node_sanitize).
var driverInfoSecrets = map[string]bool{"snmp_auth_key": true, "snmp_priv_key": true}

// IsDriverInfoSecret reports whether driver_info keeps a credential under key.
func IsDriverInfoSecret(key string) bool {
	return driverInfoSecrets[key] || IsSecretKey(key)
}

// IsSecretRef reports whether s names a sealed secret: the only form in which
// a credential is stored on a node.
func IsSecretRef(s string) bool {
	return strings.HasPrefix(s, "secret://") || strings.HasPrefix(s, "vault://") || strings.HasPrefix(s, "env://")
}

// tenantSecrets is what the refs of all secrets begin with that something of the
// API keeps, by its kind and UUID.
const tenantSecrets = "secret://tenant/"

// The kinds of what keeps secrets.
const (
	NodeSecrets           = "nodes"
	DeployTemplateSecrets = "deploy_templates"
	RunbookSecrets        = "runbooks"
	InspectionRuleSecrets = "inspection_rules"
)

// secretOwners are the kinds as texts name them.
var secretOwners = map[string]string{
	NodeSecrets: "node", DeployTemplateSecrets: "deploy template", RunbookSecrets: "runbook", InspectionRuleSecrets: "inspection rule",
}

// OwnSecretRef is the ref of the secret that something of this kind keeps under
// name.
func OwnSecretRef(kind, uuid, name string) string {
	return tenantSecrets + kind + "/" + uuid + "/" + name
}

// NodeSecretRef is the ref of the secret that node keeps under name, for
// example the driver_info key with its path, "driver_info/redfish_password".
func NodeSecretRef(nodeUUID, name string) string { return OwnSecretRef(NodeSecrets, nodeUUID, name) }

// SecretKind is the kind of what keeps the secret under ref, "" where that is
// nothing of the API.
func SecretKind(ref string) string {
	rest, ok := strings.CutPrefix(ref, tenantSecrets)
	if !ok {
		return ""
	}
	kind, _, _ := strings.Cut(rest, "/")
	if secretOwners[kind] == "" {
		return ""
	}
	return kind
}

// OperationSecrets is the part of a node's secrets that an operation keeps until
// it ends.
func OperationSecrets(id string) string { return "operations/" + id }

// SecretsOf are the refs anywhere in the operation's arguments that go with it.
func (o *OperationRecord) SecretsOf() []string {
	own := NodeSecretRef(o.NodeUUID, OperationSecrets(o.ID))
	return slices.DeleteFunc(SecretRefs(o.Args.Object()), func(ref string) bool { return !strings.HasPrefix(ref, own+"/") })
}
