package runner_test

import (
	"testing"

	"ferrule/metal"
)

func TestOnlyAMediumThatIsBuiltHereIsGivenAToken(t *testing.T) {
	for name, made := range map[string]struct {
		driverInfo map[string]string
		tokens     int
	}{
		"built here":     {map[string]string{"deploy_kernel": "http://127.0.0.1/k", "deploy_ramdisk": "http://127.0.0.1/r"}, 1},
		"made elsewhere": {map[string]string{"deploy_iso": "http://127.0.0.1/ready.iso"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			made.driverInfo["redfish_address"] = "https://127.0.0.1"
			node := redfishNode()
			node.DriverInfo, node.ProvisionState = metal.ToJSON(made.driverInfo), metal.Manageable
			s := newSim(t, node)
			s.verb(metal.VerbProvide, "")
			s.must(metal.CleanWait)
			if len(s.tokens) != made.tokens {
				t.Errorf("%d tokens were made, wanted %d", len(s.tokens), made.tokens)
			}
			if told := s.world.Node.DriverInternalInfo.Text("agent_secret_token") != ""; told != (made.tokens > 0) {
				t.Errorf("driver_internal_info is %s", s.world.Node.DriverInternalInfo)
			}
		})
	}
}
