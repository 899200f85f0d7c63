package metal

import "time"

// InspectionRule is what is done with a node after its inspection, where what
// was found meets the rule's conditions.
type InspectionRule struct {
	ID          int64
	UUID        string
	Description *string
	Priority    int64 // of all rules, the highest goes first
	Phase       string
	Sensitive   bool // actions and conditions are shown to nobody
	Actions     JSON // a list of {op, args, loop?}
	Conditions  JSON // a list of {op, args, loop?, multiple?}
	CreatedAt   time.Time
	UpdatedAt   *time.Time
	Version     int64
}

// MainPhase is the phase in which a user's rules run.
const MainPhase = "main"

// RuleOp is an operation of an inspection rule: its arguments, in the order in
// which a list gives them, those that may be left out last.
type RuleOp struct {
	Required []string
	Optional []string
}

// RuleActions are what a rule can do (Ironic: inspection_rules/actions).
var RuleActions = map[string]RuleOp{
	"fail":                  {Required: []string{"msg"}},
	"log":                   {Required: []string{"msg"}, Optional: []string{"level"}},
	"set-attribute":         {Required: []string{"path", "value"}},
	"extend-attribute":      {Required: []string{"path", "value"}, Optional: []string{"unique"}},
	"del-attribute":         {Required: []string{"path"}},
	"set-capability":        {Required: []string{"name", "value"}},
	"unset-capability":      {Required: []string{"name"}},
	"add-trait":             {Required: []string{"name"}},
	"remove-trait":          {Required: []string{"name"}},
	"set-plugin-data":       {Required: []string{"path", "value"}},
	"extend-plugin-data":    {Required: []string{"path", "value"}, Optional: []string{"unique"}},
	"unset-plugin-data":     {Required: []string{"path"}},
	"set-port-attribute":    {Required: []string{"port_id", "path", "value"}},
	"extend-port-attribute": {Required: []string{"port_id", "path", "value"}, Optional: []string{"unique"}},
	"del-port-attribute":    {Required: []string{"port_id", "path"}},
	"api-call": {
		Required: []string{"url"}, Optional: []string{"headers", "proxies", "timeout", "retries", "backoff_factor"},
	},
}

// RuleConditions are what a rule can ask; "!" before the name inverts it (Ironic:
// inspection_rules/operators).
var RuleConditions = map[string]RuleOp{
	"eq":       {Required: []string{"values"}, Optional: []string{"force_strings"}},
	"lt":       {Required: []string{"values"}, Optional: []string{"force_strings"}},
	"gt":       {Required: []string{"values"}, Optional: []string{"force_strings"}},
	"is-empty": {Required: []string{"value"}},
	"is-none":  {Required: []string{"value"}},
	"is-true":  {Required: []string{"value"}},
	"is-false": {Required: []string{"value"}},
	"in-net":   {Required: []string{"address", "subnet"}},
	"matches":  {Required: []string{"value", "regex"}},
	"contains": {Required: []string{"value", "regex"}},
	"one-of":   {Required: []string{"value"}, Optional: []string{"values"}},
}
