package config

import (
	"net/netip"
	"time"
)

// Store is Ferrule's [store]: where the database is.
type Store struct {
	// DataDir holds the embedded database, keys and the embedded agent's folder.
	DataDir        string `option:"data_dir"`
	Connection     string `option:"connection"`
	MaxConnections int    `option:"max_connections"`
}

// Link is Ferrule's [link]: the listener that site agents dial.
type Link struct {
	HostIP string `option:"host_ip"`
	Port   int    `option:"port"`
	// PublicAddress is what join codes name; "" means HostIP:Port.
	PublicAddress string `option:"public_address"`
}

// SiteAgent is Ferrule's [siteagent]: what a site's daemon may reach and serve.
type SiteAgent struct {
	// DataDir is "" for a folder inside [store] data_dir.
	DataDir string `option:"data_dir"`
	// PlainHTTPBMCs are networks whose BMCs may be spoken to without TLS.
	PlainHTTPBMCs []netip.Prefix `option:"plain_http_bmcs"`
	// OpenNetworks are those of a lab, whose addresses images and ramdisks may
	// have although they are loopback, link-local, metadata or BMC addresses.
	OpenNetworks []netip.Prefix `option:"open_networks"`
	// CallbackNetworks are where ramdisks may be called back; none means the
	// address from which the ramdisk called.
	CallbackNetworks []netip.Prefix `option:"callback_networks"`
	WatchInterval    time.Duration  `option:"watch_interval"`
	// HostIP and Port are where the ramdisk relay and media listen.
	HostIP string `option:"host_ip"`
	Port   int    `option:"port"`
	// PublicURL is how machines and BMCs reach that listener; "" means
	// http://HostIP:Port.
	PublicURL string `option:"public_url"`
}

// Trust is Ferrule's [trust]: keys, certificates and join codes.
type Trust struct {
	// DeploymentKeyFile is "" for a key inside [store] data_dir.
	DeploymentKeyFile   string        `option:"deployment_key_file"`
	JoinCodeLifetime    time.Duration `option:"join_code_lifetime"`
	CertificateLifetime time.Duration `option:"certificate_lifetime" unit:"24h"`
	ServerNames         []string      `option:"server_names"`
}
