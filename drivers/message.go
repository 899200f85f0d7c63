package drivers

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ferrule/drivers/driver"
)

// maxMessageBytes bounds a result's message.
const maxMessageBytes = 2048

// publicText makes an error's text fit for rows and logs: bounded, on one
// line, and without a password that a BMC may have echoed.
func publicText(text string, secrets []Credentials) string {
	text = driver.Redact(text, secrets...)
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
