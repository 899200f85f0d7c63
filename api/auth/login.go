package auth

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"ferrule/config"
)

// askLimit bounds one call to Keystone.
const askLimit = 20 * time.Second

// login is how the service itself logs in to Keystone.
type login struct {
	options   gophercloud.AuthOptions
	client    http.Client
	endpoint  gophercloud.EndpointOpts
	serverURL string // as configured, without the version
}

func newLogin(c config.KeystoneAuthtoken) (*login, error) {
	if c.AuthURL == "" {
		return nil, errors.New("auth_strategy keystone needs [keystone_authtoken] auth_url, and a user to log in as: " +
			"set them, or set auth_strategy to noauth or http_basic")
	}
	transport, err := transportOf(c)
	if err != nil {
		return nil, err
	}
	l := &login{
		options: gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL, AllowReauth: true},
		client:  http.Client{Transport: transport, Timeout: askLimit},
		endpoint: gophercloud.EndpointOpts{
			Type: "identity", Region: c.RegionName, Availability: gophercloud.Availability(c.Interface),
		},
		serverURL: strings.TrimSuffix(strings.TrimSuffix(c.AuthURL, "/"), "/v3"),
	}
	switch strings.TrimPrefix(c.AuthType, "v3") {
	case "password":
		return l, l.usePassword(c)
	case "applicationcredential":
		return l, l.useApplicationCredential(c)
	case "":
		return nil, errors.New("[keystone_authtoken] auth_type is missing: set it to password or v3applicationcredential")
	}
	return nil, fmt.Errorf("[keystone_authtoken] auth_type %s is not supported: set it to password or v3applicationcredential", c.AuthType)
}

func (l *login) usePassword(c config.KeystoneAuthtoken) error {
	if c.Username == "" && c.UserID == "" || c.Password == "" {
		return errors.New("[keystone_authtoken] auth_type password needs username or user_id, and password")
	}
	o := &l.options
	o.Password, o.UserID = c.Password, c.UserID
	if o.UserID == "" {
		o.Username, o.DomainID, o.DomainName = c.Username, c.UserDomainID, c.UserDomainName
		if o.DomainID == "" && o.DomainName == "" {
			return errors.New("[keystone_authtoken] username needs user_domain_id or user_domain_name")
		}
		if o.DomainID != "" {
			o.DomainName = ""
		}
	}
	switch {
	case c.SystemScope == "all":
		o.Scope = &gophercloud.AuthScope{System: true}
	case c.ProjectID != "":
		o.Scope = &gophercloud.AuthScope{ProjectID: c.ProjectID}
	case c.ProjectName != "" && c.ProjectDomainID != "":
		o.Scope = &gophercloud.AuthScope{ProjectName: c.ProjectName, DomainID: c.ProjectDomainID}
	case c.ProjectName != "":
		o.Scope = &gophercloud.AuthScope{ProjectName: c.ProjectName, DomainName: c.ProjectDomainName}
	case c.DomainID != "":
		o.Scope = &gophercloud.AuthScope{DomainID: c.DomainID}
	case c.DomainName != "":
		o.Scope = &gophercloud.AuthScope{DomainName: c.DomainName}
	}
	return nil
}

func (l *login) useApplicationCredential(c config.KeystoneAuthtoken) error {
	o := &l.options
	o.ApplicationCredentialID, o.ApplicationCredentialSecret = c.ApplicationCredentialID, c.ApplicationCredentialSecret
	if o.ApplicationCredentialID == "" {
		o.ApplicationCredentialName, o.UserID, o.Username = c.ApplicationCredentialName, c.UserID, c.Username
		if o.UserID == "" {
			o.DomainID, o.DomainName = c.UserDomainID, c.UserDomainName
		}
	}
	if o.ApplicationCredentialSecret == "" || o.ApplicationCredentialID == "" && o.ApplicationCredentialName == "" {
		return errors.New("[keystone_authtoken] auth_type v3applicationcredential needs application_credential_id " +
			"(or its name and the user), and application_credential_secret")
	}
	return nil
}

func transportOf(c config.KeystoneAuthtoken) (*http.Transport, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.Insecure}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read [keystone_authtoken] cafile: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("[keystone_authtoken] cafile %s holds no certificate", c.CAFile)
		}
	}
	if c.CertFile != "" {
		key := c.KeyFile
		if key == "" {
			key = c.CertFile
		}
		pair, err := tls.LoadX509KeyPair(c.CertFile, key)
		if err != nil {
			return nil, fmt.Errorf("read [keystone_authtoken] certfile and keyfile: %w", err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: settings, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: maxAsking, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true,
	}, nil
}

// open logs in. The client logs in again by itself when its token is no longer
// taken.
func (l *login) open(ctx context.Context) (*gophercloud.ServiceClient, error) {
	provider, err := openstack.NewClient(l.options.IdentityEndpoint)
	if err != nil {
		return nil, fmt.Errorf("read [keystone_authtoken] auth_url: %w", err)
	}
	provider.HTTPClient = l.client
	if err := openstack.AuthenticateV3(ctx, provider, &l.options, gophercloud.EndpointOpts{}); err != nil {
		return nil, fmt.Errorf("log in to Keystone: %w", withoutBody(err))
	}
	client, err := openstack.NewIdentityV3(provider, gophercloud.EndpointOpts{})
	if err != nil {
		return nil, fmt.Errorf("find Keystone: %w", err)
	}
	// Keystone's own entry in its catalogue, where there is one as configured.
	if made, ok := provider.GetAuthResult().(tokens.CreateResult); ok {
		if catalogue, err := made.ExtractServiceCatalog(); err == nil {
			if url, err := openstack.V3Endpoint(ctx, provider, catalogue, l.endpoint); err == nil {
				client.Endpoint = strings.TrimSuffix(strings.TrimSuffix(url, "/"), "/v3") + "/v3/"
			}
		}
	}
	return client, nil
}

// withoutBody keeps what Keystone wrote out of the log: it may repeat a token.
func withoutBody(err error) error {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		return fmt.Errorf("%s %s answered %d", answer.Method, answer.URL, answer.Actual)
	}
	return err
}
