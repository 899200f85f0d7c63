// Package siteagent is the daemon at a site: it takes signed commands from the
// link, does each at most once, and serves boot media and the ramdisks' relay
// to the provisioning network. It must not import store, api, conductor, or
// anything that serves or queues for them.
package siteagent
