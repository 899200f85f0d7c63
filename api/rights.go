package api

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ferrule/api/policy"
	"ferrule/config"
)

// newPolicy reads the policy files where Ironic would find them: beside the
// configuration, then in the user's and the system's folders (oslo.config:
// find_file).
func newPolicy(c *config.Config, log *slog.Logger, now func() time.Time) (*policy.Enforcer, error) {
	search := []string{}
	for _, file := range slices.Backward(c.Files) {
		search = append(search, filepath.Dir(file))
	}
	if home, err := os.UserHomeDir(); err == nil {
		search = append(search, filepath.Join(home, ".ironic"), home)
	}
	rules, err := policy.New(policy.Options{
		File: c.OsloPolicy.PolicyFile, Dirs: c.OsloPolicy.PolicyDirs, Search: append(search, "/etc/ironic", "/etc"),
		Fallback: c.OsloPolicy.PolicyDefaultRule, NewDefaults: c.OsloPolicy.EnforceNewDefault, Logger: log, Now: now,
	})
	if err != nil {
		return nil, err
	}
	if c.IsSet("oslo_policy", "policy_file") && !rules.Found() {
		log.Warn("the configured policy_file is not there; the built-in policies are in force", "policy_file", c.OsloPolicy.PolicyFile)
	}
	return rules, nil
}
