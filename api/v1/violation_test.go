package v1

import (
	"errors"
	"strings"
	"testing"

	"ferrule/metal"
)

// TestErrorsShowNoSecret looks at every text that repeats what a client sent.
func TestErrorsShowNoSecret(t *testing.T) {
	const secret = "sesame-42"
	holder := map[string]any{"redfish_password": secret, "deeper": map[string]any{"ipmi_password": secret}, "list": []any{map[string]any{"auth_token": secret}}}
	said := map[string]error{
		"type":        wrongType(holder, "string"),
		"length":      tooLong(holder),
		"empty":       empty(holder),
		"pattern":     noMatch(holder, "^$"),
		"enum":        notOneOf(holder, []string{"x"}),
		"alternative": noAlternative(holder, missing("x")),
	}
	for name, patch := range map[string]string{
		"value of a secret key": `[{"op":"add","path":"/driver_info/no/redfish_password","value":"` + secret + `"}]`,
		"below a secret key":    `[{"op":"replace","path":"/driver_info/redfish_password/x/y","value":"` + secret + `"}]`,
		"secret in the value":   `[{"op":"add","path":"/driver_info/no/x","value":{"redfish_password":"` + secret + `"}}]`,
		"secret beside":         `[{"op":"add","path":"/driver_info/deeper/no/x","value":1}]`,
	} {
		ops, err := parsePatch([]byte(patch), 115)
		if err != nil {
			t.Fatal(err)
		}
		said[name] = applyPatch(map[string]any{"driver_info": cloneValue(holder)}, ops)
	}
	for name, err := range said {
		switch {
		case err == nil:
			t.Errorf("%s: no error", name)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%s: %v", name, err)
		case !strings.Contains(err.Error(), metal.Masked) && name != "below a secret key":
			t.Errorf("%s shows no value: %v", name, err)
		}
	}
	if holder["redfish_password"] != secret {
		t.Error("the value itself was masked")
	}
}

func TestAViolationIsOfTheFirstSchemaThatIsNamed(t *testing.T) {
	err := schemaOf("patch", schemaOf("local_link_connection", missing("port_id")))
	if got := err.Error(); got != "Schema error for local_link_connection: 'port_id' is a required property" {
		t.Error(got)
	}
	other := errors.New("other")
	if err := schemaOf("patch", other); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
	if f := asFault(missing("x")); f.Status != 400 || f.Text != "Schema error: 'x' is a required property" {
		t.Errorf("%d %s", f.Status, f.Text)
	}
	if got := unexpected("b", "a").Error(); got != "Schema error: Additional properties are not allowed ('a', 'b' were unexpected)" {
		t.Error(got)
	}
}
