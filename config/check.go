package config

import (
	"errors"
	"fmt"
	"time"
)

// check is for what an option's type does not say: values that Ironic takes and
// nothing can work with, and what more than one option says together.
func (c *Config) check() []error {
	var mistakes []error
	switch {
	case c.Default.AuthStrategy == "none":
		c.Default.AuthStrategy = "noauth"
	case !c.IsSet("DEFAULT", "auth_strategy") && c.IsSet("keystone_authtoken", "auth_url"):
		c.Default.AuthStrategy = "keystone"
	}
	if _, err := c.StoreConnection(); err != nil {
		mistakes = append(mistakes, err)
	}
	demand := func(holds bool, section, option, text string) {
		if !holds {
			mistakes = append(mistakes, &valueError{c.placeOf(section, option), section, option, errors.New(text)})
		}
	}
	demand(c.API.MaxLimit >= 1, "api", "max_limit", "must be at least 1: a page with nothing on it leads nowhere")
	demand(c.API.RamdiskHeartbeatTimeout >= time.Second, "api", "ramdisk_heartbeat_timeout",
		"must be at least 1: ramdisks call more often than that")
	demand(c.Conductor.HeartbeatInterval >= time.Second, "conductor", "heartbeat_interval", "must be at least 1")
	demand(c.Conductor.HeartbeatTimeout > c.Conductor.HeartbeatInterval, "conductor", "heartbeat_timeout",
		fmt.Sprintf("must be more than heartbeat_interval, which is %v: else every conductor counts as off line", c.Conductor.HeartbeatInterval))
	return mistakes
}

// placeOf is where an option was given.
func (c *Config) placeOf(section, option string) string {
	if where := c.set[section+"."+option]; where != "" {
		return where
	}
	return "default"
}
