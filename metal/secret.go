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
