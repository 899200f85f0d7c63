package conductor

import (
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v4"

	"ferrule/conductor/rules"
	"ferrule/metal"
)

// builtInRules reads [inspection_rules]built_in_rules, a YAML list of inspection
// rules that belong to the deployment. What is wrong with it stops the start,
// not each inspection (Ironic: inspection_rules/engine.get_built_in_rules).
func builtInRules(file string) ([]metal.InspectionRule, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("[inspection_rules]built_in_rules: %w", err)
	}
	list, err := parseRules(raw)
	if err != nil {
		return nil, fmt.Errorf("[inspection_rules]built_in_rules: %s: %w", file, err)
	}
	return list, nil
}

func parseRules(raw []byte) ([]metal.InspectionRule, error) {
	var document any
	if err := yaml.Unmarshal(raw, &document); err != nil {
		return nil, err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("the file holds what JSON could not: %w", err)
	}
	var given []struct {
		UUID        string     `json:"uuid"`
		Description *string    `json:"description"`
		Priority    int64      `json:"priority"`
		Phase       string     `json:"phase"`
		Sensitive   bool       `json:"sensitive"`
		Actions     metal.JSON `json:"actions"`
		Conditions  metal.JSON `json:"conditions"`
	}
	if err := metal.JSON(text).Decode(&given); err != nil {
		return nil, fmt.Errorf("the file is to be a list of rules: %w", err)
	}
	list, unnamed := make([]metal.InspectionRule, len(given)), 0
	for i, g := range given {
		r := metal.InspectionRule{
			UUID: g.UUID, Description: g.Description, Priority: g.Priority, Phase: g.Phase, Sensitive: g.Sensitive,
			Actions: g.Actions, Conditions: g.Conditions,
		}
		if r.UUID == "" {
			r.UUID = fmt.Sprintf("00000000-0000-0000-0000-%012x", unnamed)
			unnamed++
		}
		if r.Phase != "" && r.Phase != metal.MainPhase {
			return nil, fmt.Errorf("rule %d: the phase %q is not known; there is %s", i+1, r.Phase, metal.MainPhase)
		}
		if err := rules.Check(&r); err != nil {
			return nil, fmt.Errorf("rule %d: %w", i+1, err)
		}
		list[i] = r
	}
	return list, nil
}
