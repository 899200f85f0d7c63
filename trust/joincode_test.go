package trust

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestJoinCodeSurvivesBeingCarried(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.StringMatching(`[a-z0-9][a-z0-9.-]{0,60}|\[[0-9a-f:]{2,39}\]`).Draw(t, "host")
		code, err := d.ca.NewJoinCode(host+":6386", time.Duration(rapid.Int64Range(0, 1e18).Draw(t, "life")))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseJoinCode(" " + code.Encode() + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if got.Address != code.Address || got.Fingerprint != d.ca.Fingerprint() || !got.Expires.Equal(code.Expires) ||
			got.SecretHash() != code.SecretHash() || JoinSecretHash(string(got.Secret().Reveal())) != code.SecretHash() {
			t.Fatalf("came back as %v", got)
		}
	})
}

func TestJoinCodesThatAreRefused(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
	code, err := d.ca.NewJoinCode("host:6386", time.Hour)
	check(t, err)
	good := code.Encode()
	encode := func(inner string) string { return base64.RawURLEncoding.EncodeToString([]byte(inner)) }
	for name, text := range map[string]string{
		"empty": "", "cut off": good[:len(good)/2], "not base64": good + "!", "too long": strings.Repeat("A", 2000),
		"no JSON": encode("{"), "another version": encode(`{"v":2}`), "null": encode("null"), "no secret": encode(`{"v":1,"a":"host:1"}`),
	} {
		_, err := ParseJoinCode(text)
		wantRefusal(t, err, RefusedMalformed, name)
	}
	for _, address := range []string{"", "host", "host:", ":6386", "https://host:6386", "user@host:6386", "host:6386/x", "a b:1"} {
		if _, err := d.ca.NewJoinCode(address, time.Hour); err == nil {
			t.Errorf("a code for address %q was made", address)
		}
	}
}

func FuzzParseJoinCode(f *testing.F) {
	d := newDeployment(f)
	code, err := d.ca.NewJoinCode("host:6386", time.Hour)
	check(f, err)
	f.Add(code.Encode())
	f.Add("")
	f.Add("e30")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseJoinCode(text)
		if err != nil {
			if RefusalOf(err) != RefusedMalformed {
				t.Errorf("error is %v, want a refusal", err)
			}
			return
		}
		again, err := ParseJoinCode(parsed.Encode())
		if err != nil || again.SecretHash() != parsed.SecretHash() || again.Address != parsed.Address {
			t.Errorf("%v does not come back: %v", parsed, err)
		}
	})
}
