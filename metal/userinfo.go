package metal

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// userinfo is the user and password in front of the host of a URL.
var userinfo = regexp.MustCompile(`//[^/?#\s"'<>]*@`)

// HideUserinfo is text with the users and passwords of its URLs masked. Image
// servers are given theirs in that way, so a text that may quote a URL goes
// through it before it is logged, kept as an error or shown as one.
func HideUserinfo(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
	return userinfo.ReplaceAllLiteralString(text, "//"+Masked+"@")
}

// holdsUserinfo reports whether the address of a BMC has a user or password in
// it. No such address has an @ otherwise, with a scheme or without one.
func holdsUserinfo(address string) bool {
	return strings.Contains(address, "@") || strings.Contains(strings.ToLower(address), "%40")
}

// namesBMC reports whether a key of driver_info holds a BMC's address, or may be
// given one.
func namesBMC(key string) bool {
	key = strings.ToLower(key)
	return strings.HasSuffix(key, "_address") || key == "redfish_system_id" || key == "redfish_root_prefix"
}

// RefusePasswordInAddress refuses a change of driver_info that puts a user or
// password into a BMC's address, and does not quote it.
func RefusePasswordInAddress(before, after JSON) error {
	old, changed := before.Object(), after.Object()
	for _, key := range slices.Sorted(maps.Keys(changed)) {
		if namesBMC(key) && anyText(changed[key], holdsUserinfo) && !sameText(old[key], changed[key]) {
			return Errorf(Invalid, "driver_info/%s holds a user name or password in front of the host, where it would be shown and logged: "+
				"give the address alone, and the account under keys of its own, such as redfish_username and redfish_password.", key)
		}
	}
	return nil
}

func sameText(a, b any) bool {
	s, isText := a.(string)
	t, bothText := b.(string)
	return isText && bothText && s == t
}

// anyText reports whether a text below v is so.
func anyText(v any, so func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return so(v)
	case map[string]any:
		for _, item := range v {
			if anyText(item, so) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return anyText(item, so) })
	}
	return false
}
