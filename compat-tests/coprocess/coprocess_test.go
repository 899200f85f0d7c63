package coprocess_test

import (
	"testing"

	"ferrule/compat-tests/coprocess"
)

func TestItAnswersEachLineWithOne(t *testing.T) {
	p := coprocess.Start(t, "/bin/sh", "-c", `while read -r line; do echo "{\"asked\": $line, \"home\": \"$HOME\"}"; done`)
	for _, question := range []string{"one", "two"} {
		var answer struct{ Asked, Home string }
		p.Ask(question, &answer)
		if answer.Asked != question || answer.Home == "" {
			t.Errorf("%q: %+v", question, answer)
		}
	}
}
