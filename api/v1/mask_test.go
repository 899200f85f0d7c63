package v1

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrule/metal"
)

func TestMasking(t *testing.T) {
	cases := []struct{ name, in, want string }{
		{"nothing secret", `{"redfish_address":"https://bmc"}`, `{"redfish_address":"https://bmc"}`},
		{"a password", `{"redfish_password":"x","redfish_username":"u"}`, `{"redfish_password":"******","redfish_username":"u"}`},
		{"any case", `{"My_PassWord_2":1}`, `{"My_PassWord_2":"******"}`},
		{"null and empty too", `{"password":null,"token":""}`, `{"password":"******","token":"******"}`},
		{"nested", `{"a":{"b":{"secret":"x","c":1}}}`, `{"a":{"b":{"secret":"******","c":1}}}`},
		{"object under a secret key", `{"secret":{"password":"x","y":2}}`, `{"secret":{"password":"******","y":2}}`},
		{"list under a secret key", `{"tokens":["x"]}`, `{"tokens":"******"}`},
		{"objects in a list", `{"a":[{"password":"x"}]}`, `{"a":[{"password":"******"}]}`},
		{"inside text", `{"cmd":"run --user u password=hunter2 now"}`, `{"cmd":"run --user u password=****** now"}`},
		{"extra keys where set", `{"snmp_auth_key":"k","snmp_priv_key":""}`, `{"snmp_auth_key":"******","snmp_priv_key":""}`},
		{"set extra keys of any kind", `{"snmp_auth_key":{"a":1},"snmp_priv_key":[]}`, `{"snmp_auth_key":"******","snmp_priv_key":[]}`},
		{"escaped letters", `{"p\u0061ssword":"x","a":"t\u006fken=y z"}`, `{"password":"******","a":"token=****** z"}`},
		{"lists in lists", `{"a":[[{"secret":1}],"password=x",2,null]}`, `{"a":[[{"secret":"******"}],"password=******",2,null]}`},
		{"numbers keep their digits", `{"token":1,"n":12345678901234567890,"f":1.50}`, `{"token":"******","n":12345678901234567890,"f":1.50}`},
		{"null object", ``, `{}`},
		{"no object", `["password"]`, `{}`},
	}
	for _, c := range cases {
		got := appendMasked(nil, metal.JSON(c.in), "snmp_auth_key", "snmp_priv_key")
		if diff := cmp.Diff(metal.JSON(c.want).Object(), metal.JSON(got).Object()); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
