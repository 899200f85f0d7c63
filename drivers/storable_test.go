package drivers

import (
	"context"
	"encoding/json"
	"testing"

	"ferrule/drivers/driver"
	"ferrule/metal"
)

// A BMC's text that no database column can hold is made storable in every result.
func TestResultsAreStorable(t *testing.T) {
	answers := driver.Descriptor{Name: "odd", Operations: driver.Operations{
		metal.FirmwareComponents: func(context.Context, driver.Target, json.RawMessage) (any, error) {
			return metal.FirmwareComponentsResult{Components: []metal.FirmwareComponentInfo{{Component: "bmc", CurrentVersion: "1\x000\xff"}}}, nil
		},
		metal.PowerGet: func(context.Context, driver.Target, json.RawMessage) (any, error) {
			return nil, driver.Errorf(metal.CodeBMCError, "it says \x00\xff")
		},
	}}
	r := &Registry{table: []driver.Descriptor{answers}}
	got := r.Execute(t.Context(), metal.Request{Driver: "odd", Operation: metal.FirmwareComponents}, Credentials{})
	var result metal.FirmwareComponentsResult
	if err := json.Unmarshal(got.ResultJSON, &result); err != nil || len(result.Components) != 1 {
		t.Fatalf("%s: %v", got.ResultJSON, err)
	}
	if v := result.Components[0].CurrentVersion; v != "1\uFFFD0\uFFFD" {
		t.Errorf("version %q", v)
	}
	failed := r.Execute(t.Context(), metal.Request{Driver: "odd", Operation: metal.PowerGet}, Credentials{})
	if failed.ErrorCode != metal.CodeBMCError || metal.StorableText(failed.Message) != failed.Message {
		t.Errorf("%+v", failed)
	}
}
