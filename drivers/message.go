package drivers

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessageBytes bounds a result's message.
const maxMessageBytes = 2048

// minSecretBytes keeps a password that is a common word's part ("", "a") from
// tearing every message apart.
const minSecretBytes = 4

// publicText makes an error's text fit for rows and logs: bounded, on one
// line, and without a password that a BMC may have echoed.
func publicText(text string, secrets []Credentials) string {
	for _, c := range secrets {
		for _, form := range secretForms(c) {
			text = strings.ReplaceAll(text, form, "******")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxMessageBytes {
		return text
	}
	cut := maxMessageBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " …"
}

// secretForms are the spellings in which a reply can carry the password back.
func secretForms(c Credentials) []string {
	if len(c.Password) < minSecretBytes {
		return nil
	}
	quoted, err := json.Marshal(c.Password)
	if err != nil {
		return nil
	}
	return []string{
		c.Password,
		string(quoted[1 : len(quoted)-1]),
		base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + c.Password)),
		base64.StdEncoding.EncodeToString([]byte(c.Password)),
		url.QueryEscape(c.Password),
		url.PathEscape(c.Password),
	}
}
