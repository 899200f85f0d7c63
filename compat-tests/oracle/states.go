package oracle

import (
	"fmt"
	"slices"
	"strings"
)

// states pairs each provision state with the target that a node in it has by default.
var states = [][2]string{
	{"active", ""}, {"adopt failed", "active"}, {"adopting", "active"}, {"available", ""},
	{"clean failed", "available"}, {"clean hold", "available"}, {"clean wait", "available"}, {"cleaning", "available"},
	{"deleting", "available"}, {"deploy failed", "active"}, {"deploy hold", "active"}, {"deploying", "active"},
	{"enroll", ""}, {"error", ""}, {"inspect failed", "manageable"}, {"inspect wait", "manageable"},
	{"inspecting", "manageable"}, {"manageable", ""}, {"rescue", ""}, {"rescue failed", "rescue"},
	{"rescue wait", "rescue"}, {"rescuing", "rescue"}, {"service failed", "active"}, {"service hold", "active"},
	{"service wait", "active"}, {"servicing", "active"}, {"unrescue failed", "active"}, {"unrescuing", "active"},
	{"verifying", "manageable"}, {"wait call-back", "active"},
}

// settable are the columns of nodes that a scenario may change in the store,
// for states that fake hardware does not reach by itself.
var settable = []string{
	"provision_state", "target_provision_state", "power_state", "target_power_state", "reservation",
	"fault", "last_error", "maintenance", "maintenance_reason", "protected", "retired", "instance_uuid",
	"boot_mode", "secure_boot", "console_enabled",
}

func hyphened(state string) string { return strings.ReplaceAll(state, " ", "-") }

func stateNames() []string {
	var names []string
	for _, s := range states {
		names = append(names, hyphened(s[0]))
	}
	return names
}

// findState gives the state that a case file names with hyphens.
func findState(name string) (state, target string, ok bool) {
	i := slices.IndexFunc(states, func(s [2]string) bool { return hyphened(s[0]) == hyphened(name) })
	if i < 0 {
		return "", "", false
	}
	return states[i][0], states[i][1], true
}

func checkState(name string) error {
	if _, _, ok := findState(name); name != "" && !ok {
		return fmt.Errorf("no such provision state: %s", name)
	}
	return nil
}
