package metal

import (
	"strings"
	"testing"
)

func TestAPlaceHoldsWhatIsBelowIt(t *testing.T) {
	node := SecretPlace{Owner: NodeSecrets, UUID: "n"}
	driver := DriverInfoSecrets("n")
	for ref, holds := range map[string]bool{
		driver.Ref():                                 true,
		driver.Below("a").Ref():                      true,
		driver.Below("a/b~").Ref():                   true,
		driver.Ref() + "x/a":                         false,
		InstanceInfoSecrets("n").Below("a").Ref():    false,
		RamdiskToken("n").Ref():                      false,
		DriverInfoSecrets("m").Below("a").Ref():      false,
		DriverInfoSecrets("N").Below("a").Ref():      false,
		strings.ToUpper(driver.Below("a").Ref()):     false,
		" " + driver.Below("a").Ref():                false,
		"secret://fleet/nodes/n/driver_info/a":       false,
		"secret://tenant/runbooks/n/driver_info/a":   false,
		"secret://tenant/nodes//driver_info/a":       false,
		"secret://tenant/nodes/n/":                   false,
		"secret://tenant/nodes/n":                    false,
		"vault://tenant/nodes/n/driver_info/a":       false,
		"":                                           false,
		"secret://tenant/nodes/n/../n/driver_info/a": false,
	} {
		if driver.Holds(ref) != holds {
			t.Errorf("%q: %v, want %v", ref, !holds, holds)
		}
		if holds && !node.Holds(ref) {
			t.Errorf("%q is not of the node", ref)
		}
	}
}

func FuzzParseSecretRef(f *testing.F) {
	f.Add("secret://tenant/nodes/n/driver_info/redfish_password")
	f.Add("secret://tenant/nodes/n//")
	f.Fuzz(func(t *testing.T, ref string) {
		place, ok := ParseSecretRef(ref)
		switch {
		case ok && (place.Ref() != ref || !place.Holds(ref) || !IsSecretRef(ref)):
			t.Errorf("%q is read as %+v, which is %q", ref, place, place.Ref())
		case IsSecretRef(ref) != (RefuseRef(ref) != nil):
			t.Errorf("%q is refused: %v", ref, RefuseRef(ref))
		}
	})
}
