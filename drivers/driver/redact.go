package driver

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// minSecretBytes keeps a password that is part of common words ("", "a") from
// tearing every text apart.
const minSecretBytes = 4

// Redact takes passwords out of a text that came from a BMC: some echo what
// they refuse.
func Redact(text string, secrets ...Credentials) string {
	for _, c := range secrets {
		for _, form := range secretForms(c) {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	return text
}

// secretForms are the spellings in which a reply can carry a password back.
func secretForms(c Credentials) []string {
	if len(c.Password) < minSecretBytes {
		return nil
	}
	forms := []string{
		c.Password,
		base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password)),
		base64.StdEncoding.EncodeToString([]byte(c.Password)),
		url.QueryEscape(c.Password),
		url.PathEscape(c.Password),
	}
	for _, escapeHTML := range []bool{true, false} {
		var quoted strings.Builder
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(escapeHTML)
		if enc.Encode(c.Password) == nil {
			forms = append(forms, strings.TrimSuffix(strings.TrimSpace(quoted.String())[1:], `"`))
		}
	}
	return forms
}
