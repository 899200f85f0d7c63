package v1

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"ferrule/metal"
)

// mayHoldSecret is the quick test that spares most values the slow way. Escapes
// may hide a word.
func mayHoldSecret(text string) bool {
	return metal.IsSecretKey(text) || strings.Contains(text, "snmp_") || strings.Contains(text, "image_url") || strings.Contains(text, `\u`)
}

// appendMasked appends a stored JSON object with the values of secret keys
// replaced. Objects are descended into; of a list under an innocent key, Ironic
// leaves all as it is (oslo.utils: mask_dict_password), but a secret in it is a
// secret all the same. extra names further keys of the top level that are secret
// where they are set. What is not replaced is copied as it stands, so that a
// list of a thousand nodes decodes nothing.
func appendMasked(b []byte, j metal.JSON, extra ...string) []byte {
	if j.Empty() {
		return append(b, "{}"...)
	}
	if !mayHoldSecret(string(j)) {
		return append(b, j...)
	}
	object := gjson.Parse(string(j))
	if !object.IsObject() {
		return append(b, "{}"...)
	}
	return appendMaskedObject(b, object, extra)
}

// appendWithoutRefs appends a stored JSON object with its refs masked: whoever
// may see credentials sees no ref either, so that no client ever has one.
func appendWithoutRefs(b []byte, j metal.JSON) []byte {
	shown, _ := metal.ReplaceRefs(j.Object(), func(string) (any, error) { return metal.Masked, nil })
	return append(b, metal.ToJSON(shown)...)
}

func appendMaskedObject(b []byte, object gjson.Result, extra []string) []byte {
	b = append(b, '{')
	begin := len(b)
	object.ForEach(func(key, value gjson.Result) bool {
		if len(b) > begin {
			b = append(b, ',')
		}
		b = append(append(b, key.Raw...), ':')
		if slices.Contains(extra, key.Str) && isSet(value) {
			b = appendString(b, metal.Masked)
		} else {
			b = appendMaskedValue(b, key.Str, value)
		}
		return true
	})
	return append(b, '}')
}

func appendMaskedValue(b []byte, key string, value gjson.Result) []byte {
	switch {
	case value.IsObject():
		return appendMaskedObject(b, value, nil)
	case metal.IsSecretKey(key):
		return appendString(b, metal.Masked)
	case value.IsArray():
		b = append(b, '[')
		begin := len(b)
		value.ForEach(func(_, item gjson.Result) bool {
			if len(b) > begin {
				b = append(b, ',')
			}
			b = appendMaskedValue(b, "", item)
			return true
		})
		return append(b, ']')
	case value.Type == gjson.String && metal.IsSecretKey(value.Str):
		return appendString(b, maskText(value.Str))
	}
	return append(b, value.Raw...)
}

func isSet(v gjson.Result) bool {
	return v.Raw != "false" && v.Raw != `""` && !metal.JSON(v.Raw).Empty()
}

// masked is a value of a request, or of what is stored, with its secrets
// replaced.
func masked(v any) metal.JSON {
	return metal.JSON(appendMaskedValue(nil, "", gjson.Parse(string(metal.ToJSON(v)))))
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
