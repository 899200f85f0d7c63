package api

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// A password in the address of a BMC is refused, and is then in no answer, no
// log and no file.
func TestAPasswordInABMCsAddressIsNowhere(t *testing.T) {
	s := serve(t)
	const password = "obviously-fake-in-address"
	address := "https://root:" + password + "@127.0.0.9/redfish/v1/Systems/1"
	uuid := s.node(`{"driver": "redfish", "driver_info": {"redfish_address": "https://127.0.0.9"}}`)
	var said strings.Builder
	for _, key := range []string{"redfish_address", "ipmi_address", "redfish_system_id"} {
		create := fmt.Sprintf(`{"driver": "redfish", "driver_info": {%q: %q}}`, key, address)
		patch := fmt.Sprintf(`[{"op": "add", "path": "/driver_info/%s", "value": %q}]`, key, address)
		said.WriteString(s.ask("latest", http.MethodPost, "/v1/nodes", create).want(http.StatusBadRequest).Body.String())
		said.WriteString(s.ask("latest", http.MethodPatch, "/v1/nodes/"+uuid, patch).want(http.StatusBadRequest).Body.String())
	}
	said.WriteString(s.ask("latest", http.MethodGet, "/v1/nodes/"+uuid+"/history", "").want(http.StatusOK).Body.String())
	for _, f := range []string{s.file, s.file + "-wal"} {
		if raw, err := os.ReadFile(f); err == nil {
			said.Write(raw)
		}
	}
	if strings.Contains(said.String(), password) {
		t.Error("the password is in an answer or in the database")
	}
	if !strings.Contains(said.String(), "redfish_username and redfish_password") {
		t.Errorf("what to do is not said: %.300s", said.String())
	}
}
