package openapi

import _ "embed"

// FerruleYAML describes Ferrule's own calls, as it is served at
// /ferrule/openapi.yaml.
//
//go:embed ferrule.yaml
var FerruleYAML []byte
