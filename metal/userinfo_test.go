package metal

import (
	"strings"
	"testing"
)

func TestUserinfoOfURLsIsHidden(t *testing.T) {
	for text, want := range map[string]string{
		"no URL, but a@b.example":                        "no URL, but a@b.example",
		"get https://user:pw@host/image failed":          "get https://******@host/image failed",
		"HTTP://token@host:8080/a?x=1, ftp://a:b@c/d":    "HTTP://******@host:8080/a?x=1, ftp://******@c/d",
		"https://us%40er:p@w@host/":                      "https://******@host/",
		"//u:p@host":                                     "//******@host",
		"https://host/path@home and https://host/?q=a@b": "https://host/path@home and https://host/?q=a@b",
		`"https://u:p@[fe80::1]:443/" is quoted`:         `"https://******@[fe80::1]:443/" is quoted`,
	} {
		if got := HideUserinfo(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestAPasswordInAnAddressIsRefusedAndNotQuoted(t *testing.T) {
	const password = "obviously-fake"
	for key, address := range map[string]string{
		"redfish_address": "https://root:" + password + "@bmc", "ipmi_address": "root:" + password + "@10.0.0.1",
		"iLO_Address": "HTTPS://" + password + "@bmc:443/redfish/v1", "drac_address": "redfish://root:" + password + "%40bmc",
		"redfish_system_id": "https://root:" + password + "@bmc/redfish/v1/Systems/1", "irmc_address": "//root:" + password + "@[fe80::1]",
	} {
		err := RefusePasswordInAddress(EmptyObject, ToJSON(map[string]any{key: address}))
		if ReasonOf(err) != Invalid || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
		if err := RefusePasswordInAddress(EmptyObject, ToJSON(map[string]any{key: []any{map[string]any{"x": address}}})); err == nil {
			t.Errorf("%s, deeper: accepted", key)
		}
		stored := ToJSON(map[string]any{key: address})
		if err := RefusePasswordInAddress(stored, stored.With("other", 1)); err != nil {
			t.Errorf("%s: a change of something else: %v", key, err)
		}
	}
	fine := ToJSON(map[string]any{"redfish_address": "https://[fe80::1]:443/redfish/v1/Systems/1", "deploy_iso": "https://u:p@host/x.iso", "n_address": 5})
	if err := RefusePasswordInAddress(EmptyObject, fine); err != nil {
		t.Error(err)
	}
}
