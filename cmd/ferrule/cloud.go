package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	osconfig "github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"go.yaml.in/yaml/v4"
)

// cloud is where the API is and how to log in, as the OS_* variables and
// clouds.yaml say it to the openstack client.
type cloud struct {
	endpoint           string
	username, password string // of http_basic
	token              string
	tls                *tls.Config
	keystone           *gophercloud.AuthOptions
	region             gophercloud.EndpointOpts
}

// cloudFrom reads the environment; get is os.Getenv.
func cloudFrom(get func(string) string) (cloud, error) {
	c := cloud{endpoint: cmp.Or(get("OS_ENDPOINT"), get("OS_ENDPOINT_OVERRIDE"), get("OS_BAREMETAL_ENDPOINT_OVERRIDE"))}
	c.region = gophercloud.EndpointOpts{Type: "baremetal", Region: get("OS_REGION_NAME")}
	if name := get("OS_CLOUD"); name != "" {
		return c, c.readCloud(name, get)
	}
	if ca := get("OS_CACERT"); ca != "" {
		var err error
		if c.tls, err = trusting(ca); err != nil {
			return c, fmt.Errorf("OS_CACERT: %w", err)
		}
	}
	switch authType := get("OS_AUTH_TYPE"); {
	case authType == "none":
	case authType == "http_basic":
		c.username, c.password = get("OS_USERNAME"), get("OS_PASSWORD")
	case get("OS_TOKEN") != "" && c.endpoint != "":
		c.token = get("OS_TOKEN")
	case get("OS_AUTH_URL") != "":
		options, err := openstack.AuthOptionsFromEnv()
		if err != nil {
			return c, fmt.Errorf("the OS_* variables: %w", err)
		}
		c.keystone = &options
	}
	return c, nil
}

// readCloud takes one cloud of clouds.yaml.
func (c *cloud) readCloud(name string, get func(string) string) error {
	plain, err := plainCloud(name, get)
	if err != nil {
		return err
	}
	c.endpoint = cmp.Or(c.endpoint, plain.EndpointOverride, plain.Auth.Endpoint)
	switch plain.AuthType {
	case "none":
		return nil
	case "http_basic":
		c.username, c.password = plain.Auth.Username, plain.Auth.Password
		return nil
	}
	options, region, tlsConfig, err := clouds.Parse(clouds.WithCloudName(name))
	if err != nil {
		return fmt.Errorf("OS_CLOUD %s: %w", name, err)
	}
	c.keystone, c.tls = &options, tlsConfig
	c.region.Region, c.region.Availability = cmp.Or(c.region.Region, region.Region), region.Availability
	return nil
}

// aCloud is what gophercloud does not read of a cloud: those without Keystone.
type aCloud struct {
	AuthType         string `yaml:"auth_type"`
	EndpointOverride string `yaml:"baremetal_endpoint_override"`
	Auth             struct {
		Endpoint string `yaml:"endpoint"`
		Username string `yaml:"username"`
		Password string `yaml:"password"`
	} `yaml:"auth"`
}

func plainCloud(name string, get func(string) string) (aCloud, error) {
	var home []string
	if dir, err := os.UserConfigDir(); err == nil {
		home = []string{filepath.Join(dir, "openstack", "clouds.yaml")}
	}
	places := append(append([]string{"clouds.yaml"}, home...), "/etc/openstack/clouds.yaml")
	if file := get("OS_CLIENT_CONFIG_FILE"); file != "" {
		places = []string{file}
	}
	for _, place := range places {
		text, err := os.ReadFile(place)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return aCloud{}, fmt.Errorf("OS_CLOUD: %w", err)
		}
		var all struct{ Clouds map[string]aCloud }
		if err := yaml.Unmarshal(text, &all); err != nil {
			return aCloud{}, fmt.Errorf("OS_CLOUD: %s is not YAML as clouds.yaml has it", place)
		}
		if found, ok := all.Clouds[name]; ok {
			return found, nil
		}
		return aCloud{}, fmt.Errorf("OS_CLOUD: %s has no cloud %q", place, name)
	}
	return aCloud{}, fmt.Errorf("OS_CLOUD is %s, and there is no clouds.yaml (looked for %s)", name, strings.Join(places, ", "))
}

func trusting(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM form", file)
	}
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, nil
}

// logIn gets a token and, where none is named, the endpoint from Keystone.
func (c *cloud) logIn(ctx context.Context) error {
	if c.keystone == nil {
		return nil
	}
	provider, err := osconfig.NewProviderClient(ctx, *c.keystone, osconfig.WithTLSConfig(c.tls))
	if err != nil {
		return fmt.Errorf("log in to Keystone: %w", err)
	}
	c.token = provider.TokenID
	if c.endpoint != "" {
		return nil
	}
	region := c.region
	region.ApplyDefaults("baremetal")
	if c.endpoint, err = provider.EndpointLocator(region); err != nil {
		return fmt.Errorf("find the bare metal service in Keystone's catalogue: %w", err)
	}
	return nil
}
