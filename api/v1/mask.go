package v1

import (
	"regexp"
	"strings"
	"sync"

	"ferrule/metal"
)

// mayHoldSecret is the quick test that spares most values the slow way.
func mayHoldSecret(text string) bool {
	return metal.IsSecretKey(text) || strings.Contains(text, "snmp_") || strings.Contains(text, "image_url")
}

// appendMasked appends a stored JSON object with the values of secret keys
// replaced. Objects are descended into; a list under an innocent key stays as it
// is, as in Ironic (oslo.utils: mask_dict_password). extra names further keys
// of the top level that are secret where they are set.
func appendMasked(b []byte, j metal.JSON, extra ...string) []byte {
	if j == "" || j == "null" {
		return append(b, "{}"...)
	}
	if !mayHoldSecret(string(j)) {
		return append(b, j...)
	}
	m := j.Object()
	maskObject(m)
	for _, key := range extra {
		if v, ok := m[key]; ok && truthy(v) {
			m[key] = metal.Masked
		}
	}
	return append(b, metal.ToJSON(m)...)
}

func maskObject(m map[string]any) {
	for k, v := range m {
		m[k] = maskValue(k, v)
	}
}

func maskValue(key string, v any) any {
	if o, ok := v.(map[string]any); ok {
		maskObject(o)
		return o
	}
	if metal.IsSecretKey(key) {
		return metal.Masked
	}
	switch t := v.(type) {
	case string:
		return maskText(t)
	case []any:
		// Ironic leaves lists alone; a secret inside one is a secret all the same.
		for i, item := range t {
			t[i] = maskValue("", item)
		}
	}
	return v
}

func truthy(v any) bool {
	switch t := v.(type) {
	case nil:
		return false
	case string:
		return t != ""
	case bool:
		return t
	case map[string]any:
		return len(t) > 0
	case []any:
		return len(t) > 0
	}
	return true
}

// secretText finds "password=value" and its kin inside ordinary text.
var secretText = sync.OnceValue(func() []*regexp.Regexp {
	const word = `[A-Za-z_]*(?:password|admin_?pass|auth_token|new_pass|secret|sys_pswd|token|configdrive|chappassword|` +
		`encrypted_key|private_key|fernetkey|sslkey|passphrase|chapsecret)[0-9]*`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?is)(` + word + `\s*=\s*["'])[^"']*`),
		regexp.MustCompile(`(?is)(` + word + `\s*=\s*)[^\s"']+`),
		regexp.MustCompile(`(?is)(["']` + word + `["']\s*:\s*u?["'])[^"']*`),
		regexp.MustCompile(`(?is)(--` + word + `\s+)[^'"=\s]+`),
		regexp.MustCompile(`(?is)(<` + word + `>)[^<]*`),
	}
})

func maskText(s string) string {
	if !metal.IsSecretKey(s) {
		return s
	}
	for _, re := range secretText() {
		s = re.ReplaceAllString(s, "${1}"+metal.Masked)
	}
	return s
}
