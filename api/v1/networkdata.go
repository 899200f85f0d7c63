package v1

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ferrule/metal"
)

//go:embed network_data.json
var networkDataSchema []byte

// networkData is the schema of a node's network_data, the format of a config
// drive's network_data.json.
var networkData = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(networkDataSchema))
	if err != nil {
		return nil, fmt.Errorf("read the schema of network_data: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("network_data.json", doc); err != nil {
		return nil, fmt.Errorf("add the schema of network_data: %w", err)
	}
	return c.Compile("network_data.json")
})

// checkNetworkData refuses a value that is no network_data.
func checkNetworkData(v any) error {
	schema, err := networkData()
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(metal.ToJSON(v))))
	if err != nil {
		return badRequest("Invalid network_data: %v", err)
	}
	if err := schema.Validate(doc); err != nil {
		return badRequest("Invalid network_data: it does not follow the format of network_data.json.")
	}
	return nil
}
